//! The two tasks between the hub and the disk.

use lineup_failpoint::{Point, hit};
use tokio::time::{sleep, sleep_until};

use crate::{
    disk::{Reader, Writer},
    hub::{Batch, SharedHub},
};

/// Writes what is due until the hub is closed and everything is safe.
pub(crate) async fn write(hub: SharedHub, mut writer: Writer) {
    loop {
        let closed = hub.is_closed();
        match hub.next_batch(closed) {
            Ok(batch) => match stored(&mut writer, &batch).await {
                Ok(()) => hub.written(&batch),
                Err(error) => {
                    tracing::error!(%error, envelopes = batch.added.len(), "the relay's disk took nothing");
                    hub.not_written(&batch);
                    if closed {
                        break;
                    }
                    sleep(hub.config.retry).await;
                }
            },
            Err(_) if closed => break,
            Err(None) => hub.to_write.notified().await,
            Err(Some(due)) => tokio::select! {
                () = hub.to_write.notified() => {}
                () = sleep_until(due) => {}
            },
        }
    }
    if let Err(error) = writer.close().await {
        tracing::warn!(%error, "the relay's disk did not close cleanly");
    }
}

async fn stored(writer: &mut Writer, batch: &Batch) -> sqlx::Result<()> {
    hit(Point::RelayBeforeStore);
    writer.commit(&batch.added, &batch.removed).await?;
    hit(Point::RelayStored);
    Ok(())
}

/// Reads the pages that mailboxes ask for.
pub(crate) async fn read(hub: SharedHub, mut reader: Reader) {
    loop {
        for request in hub.take_pages() {
            let page = reader.page(&request.party, request.after, request.before, request.count, request.bytes).await;
            match page {
                Ok((page, complete)) => hub.page_read(&request, page, complete),
                Err(error) => {
                    tracing::error!(%error, party = %request.party, "a mailbox cannot be read");
                    sleep(hub.config.retry).await;
                    hub.page_failed(&request);
                }
            }
        }
        hub.to_read.notified().await;
    }
}
