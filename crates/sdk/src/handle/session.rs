use lineup_model::ErrorCode;
use lineup_ports::inbound::{MiniAppAnswer, MiniAppRequest};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{Request, Sdk, SdkError, bundle::output_value};

/// How often [`Session::update`] tries again after another write came first.
const UPDATE_ATTEMPTS: u32 = 16;

/// The session data: a JSON object of at most 256 KiB that only this MiniApp reads and writes
/// (SES-1).
#[derive(Clone, Copy, Debug)]
pub struct Session<'sdk> {
    pub(super) sdk: &'sdk Sdk,
}

/// The session data at one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot<T> {
    /// Counts the writes; 0 before the first.
    pub revision: u64,
    /// The data.
    pub data: T,
}

impl Session<'_> {
    /// Reads the data; before the first write it is read from an empty object.
    ///
    /// # Errors
    /// `tool_failed / session_data_unreadable` when the data does not fit `T`.
    pub async fn read<T: DeserializeOwned>(self) -> Result<Snapshot<T>, SdkError> {
        let (revision, value) = self.read_value().await?;
        Ok(Snapshot { revision, data: read_as(value)? })
    }

    /// Replaces the data and answers with its new revision. Names the revision that was read:
    /// refused with `session_revision_conflict` when another write came first.
    pub fn write(self, base_revision: u64, data: &impl Serialize) -> Request<u64> {
        let data = output_value(data);
        Request::new(
            self.sdk,
            "session.write",
            |answer| {
                if let MiniAppAnswer::Written { revision } = answer { Some(revision) } else { None }
            },
            move |step| Ok(MiniAppRequest::WriteSession { step, base_revision, data: data? }),
        )
    }

    /// Reads, changes and writes the data, again when another write came first. A change that leaves
    /// the data as it was writes nothing; so a handler that runs again finds its work done. The
    /// change may run more than once.
    ///
    /// # Errors
    /// As [`Session::read`] and [`Session::write`]; `session_revision_conflict` after 16 tries.
    pub async fn update<T>(self, step: &str, mut change: impl FnMut(&mut T)) -> Result<Snapshot<T>, SdkError>
    where
        T: Serialize + DeserializeOwned,
    {
        let mut attempt = 1;
        loop {
            let (revision, before) = self.read_value().await?;
            let mut data: T = read_as(before.clone())?;
            change(&mut data);
            if output_value(&data)? == before {
                return Ok(Snapshot { revision, data });
            }
            match self.write(revision, &data).step(step).await {
                Ok(revision) => return Ok(Snapshot { revision, data }),
                // Another write came first.
                Err(error) if error.code == ErrorCode::SessionRevisionConflict && attempt < UPDATE_ATTEMPTS => {
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn read_value(self) -> Result<(u64, Value), SdkError> {
        let read = |answer| {
            if let MiniAppAnswer::Session { revision, data } = answer { Some((revision, data)) } else { None }
        };
        self.sdk.ask(MiniAppRequest::ReadSession, read).await
    }
}

fn read_as<T: DeserializeOwned>(value: Value) -> Result<T, SdkError> {
    serde_json::from_value(value).map_err(|error| {
        SdkError::failed("session_data_unreadable", format!("the session data does not fit its type: {error}"))
    })
}
