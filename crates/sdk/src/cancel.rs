//! The cancellation token of a call or action: one side asks, the other waits or looks.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll, Waker},
};

/// The hosting adapter's end: asks a handler to stop.
#[derive(Clone, Debug, Default)]
pub struct Canceller(Arc<Mutex<State>>);

/// The handler's end, inside [`crate::Call`] and [`crate::Action`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Token(Arc<Mutex<State>>);

/// Resolves once cancellation was asked for; never before. Safe to drop and to make again.
#[derive(Debug)]
pub struct Cancelled {
    state: Arc<Mutex<State>>,
    waiter: Option<u64>,
}

#[derive(Debug, Default)]
struct State {
    asked: bool,
    next: u64,
    waiting: BTreeMap<u64, Waker>,
}

impl Canceller {
    /// A canceller that has not been used.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the handler to stop. Asking twice is asking once.
    pub fn cancel(&self) {
        let wakers = {
            let mut state = lock(&self.0);
            state.asked = true;
            std::mem::take(&mut state.waiting)
        };
        wakers.into_values().for_each(Waker::wake);
    }

    /// Whether the handler was asked to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        lock(&self.0).asked
    }

    pub(crate) fn token(&self) -> Token {
        Token(Arc::clone(&self.0))
    }
}

impl Token {
    pub(crate) fn is_cancelled(&self) -> bool {
        lock(&self.0).asked
    }

    pub(crate) fn cancelled(&self) -> Cancelled {
        Cancelled { state: Arc::clone(&self.0), waiter: None }
    }
}

impl Future for Cancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let shared = Arc::clone(&self.state);
        let mut state = lock(&shared);
        if state.asked {
            return Poll::Ready(());
        }
        let waiter = *self.waiter.get_or_insert_with(|| {
            state.next += 1;
            state.next
        });
        state.waiting.insert(waiter, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        if let Some(waiter) = self.waiter {
            lock(&self.state).waiting.remove(&waiter);
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // No code of others runs under the lock, so a poisoned state is still a whole one.
    state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn a_token_resolves_once_cancellation_was_asked_for_and_not_before() {
        let canceller = Canceller::new();
        let token = canceller.token();
        assert!(token.cancelled().now_or_never().is_none());
        assert!(!token.is_cancelled());
        canceller.cancel();
        canceller.cancel();
        assert!(token.is_cancelled());
        assert_eq!(token.cancelled().now_or_never(), Some(()));
    }

    #[test]
    fn every_waiter_is_woken_and_a_dropped_one_is_forgotten() {
        let canceller = Canceller::new();
        let (first, second, dropped) =
            (canceller.token().cancelled(), canceller.token().cancelled(), canceller.token().cancelled());
        let mut pool = [Box::pin(first), Box::pin(second)];
        let (waker, woken) = counting_waker();
        for waiter in &mut pool {
            assert!(waiter.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        let mut dropped = Box::pin(dropped);
        assert!(dropped.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        drop(dropped);
        assert_eq!(lock(&canceller.0).waiting.len(), 2);
        canceller.cancel();
        assert_eq!(woken.load(std::sync::atomic::Ordering::SeqCst), 2);
    }

    fn counting_waker() -> (Waker, Arc<std::sync::atomic::AtomicUsize>) {
        struct Count(Arc<std::sync::atomic::AtomicUsize>);
        impl std::task::Wake for Count {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            }
        }
        let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        (Waker::from(Arc::new(Count(Arc::clone(&count)))), count)
    }
}
