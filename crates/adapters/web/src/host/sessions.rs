//! The connected Host sessions, and what each is to show.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use axum::extract::ws::close_code;
use lineup_core::desired::{HostView, SurfaceView};
use lineup_model::HostSessionId;
use lineup_ports::outbound::{HostError, Hosts, Surfaces};
use tokio::sync::watch;

use crate::frame;

/// The most Host sessions at a time.
const MOST: usize = 64;

/// All connected Host sessions.
#[derive(Default)]
pub(crate) struct Sessions {
    connected: Mutex<BTreeMap<HostSessionId, Arc<Session>>>,
}

/// One connection of a Host session.
pub(crate) struct Session {
    pub id: HostSessionId,
    wanted: watch::Sender<Wanted>,
    state: watch::Sender<State>,
}

/// What should be seen, as far as the Runtime has said it. `seq` counts the changes.
#[derive(Default)]
struct Wanted {
    seq: u64,
    host: Option<HostView>,
    surfaces: Option<Vec<SurfaceView>>,
}

#[derive(Clone, Copy, Default)]
struct State {
    /// The newest change that was written to the client.
    written: u64,
    /// The close code and reason, once the connection is to end.
    ended: Option<(u16, &'static str)>,
}

/// There are too many sessions.
#[derive(Debug)]
pub(crate) struct Full;

impl Sessions {
    /// Registers a connection; the flag says that it replaced an earlier one of the same session.
    pub fn join(&self, id: HostSessionId) -> Result<(Arc<Session>, bool), Full> {
        let mut connected = lock(&self.connected);
        if connected.len() >= MOST && !connected.contains_key(&id) {
            return Err(Full);
        }
        let session =
            Arc::new(Session { id: id.clone(), wanted: watch::Sender::default(), state: watch::Sender::default() });
        let replaced = connected.insert(id, Arc::clone(&session));
        if let Some(earlier) = &replaced {
            earlier.end(close_code::POLICY, "replaced by a new connection of the same session");
        }
        Ok((session, replaced.is_some()))
    }

    /// Takes a connection out; false when a later one has taken its place.
    pub fn leave(&self, session: &Arc<Session>) -> bool {
        session.end(close_code::NORMAL, "bye");
        let mut connected = lock(&self.connected);
        let current = connected.get(&session.id).is_some_and(|current| Arc::ptr_eq(current, session));
        current && connected.remove(&session.id).is_some()
    }

    pub fn knows(&self, id: &HostSessionId) -> bool {
        lock(&self.connected).contains_key(id)
    }

    pub fn close_all(&self) {
        for session in lock(&self.connected).values() {
            session.end(close_code::AWAY, "the Runtime stops");
        }
    }

    async fn tell(&self, id: &HostSessionId, change: impl FnOnce(&mut Wanted) + Send) -> Result<(), HostError> {
        let gone = || HostError { session: id.clone(), detail: "it is not connected".to_owned() };
        let session = lock(&self.connected).get(id).cloned().ok_or_else(gone)?;
        let mut seq = 0;
        session.wanted.send_modify(|wanted| {
            change(wanted);
            wanted.seq += 1;
            seq = wanted.seq;
        });
        let mut state = session.state.subscribe();
        let state = *state.wait_for(|state| state.written >= seq || state.ended.is_some()).await.map_err(|_| gone())?;
        if state.written >= seq { Ok(()) } else { Err(gone()) }
    }
}

impl Session {
    /// Waits for a change that was not written yet and gives the newest view as a frame.
    pub async fn newer_view(&self) -> (u64, String) {
        let written = self.state.borrow().written;
        let mut wanted = self.wanted.subscribe();
        let wanted =
            wanted.wait_for(|wanted| wanted.seq > written).await.expect("the sender is a field of this session");
        (wanted.seq, frame::view(wanted.seq, wanted.host.as_ref(), wanted.surfaces.as_deref()))
    }

    pub fn written(&self, seq: u64) {
        self.state.send_modify(|state| state.written = seq);
    }

    /// Ends the connection. The first reason stands.
    pub fn end(&self, code: u16, reason: &'static str) {
        self.state.send_modify(|state| {
            state.ended.get_or_insert((code, reason));
        });
    }

    pub async fn ended(&self) {
        let mut state = self.state.subscribe();
        let _ended = state.wait_for(|state| state.ended.is_some()).await;
    }

    pub fn has_ended(&self) -> bool {
        self.state.borrow().ended.is_some()
    }

    pub fn farewell(&self) -> (u16, &'static str) {
        self.state.borrow().ended.unwrap_or((close_code::NORMAL, "bye"))
    }
}

#[async_trait]
impl Hosts for Sessions {
    async fn show(&self, session: &HostSessionId, view: HostView) -> Result<(), HostError> {
        self.tell(session, |wanted| wanted.host = Some(view)).await
    }
}

#[async_trait]
impl Surfaces for Sessions {
    async fn show(&self, session: &HostSessionId, views: Vec<SurfaceView>) -> Result<(), HostError> {
        self.tell(session, |wanted| wanted.surfaces = Some(views)).await
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code of others runs under the lock, so a poisoned map is still a whole one.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
