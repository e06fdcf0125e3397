use lineup_model::{ErrorCode, Method, message::Fault};
use lineup_ports::inbound::{MiniAppAnswer, MiniAppRequest};
use serde_json::Value;

use crate::{Request, Sdk, SdkError};

/// What the Surfaces of this instance show (SDK-6): for each that the app declares a JSON object,
/// empty at first, that comes back after a reload or a restart and goes with the instance (SUR-4).
///
/// ```
/// # use lineup_sdk::prelude::*;
/// # async fn shown(sdk: &Sdk) -> Result<(), SdkError> {
/// let cards = json!({ "a": { "text": "Read" }, "b": null });
/// sdk.surfaces().update("main", json!({ "cards": cards })).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Surfaces<'sdk> {
    pub(super) sdk: &'sdk Sdk,
}

impl Surfaces<'_> {
    /// Patches what a Surface shows and answers with the document's revision. The patch is a JSON Merge
    /// Patch (RFC 7396), an object: members are set, replaced or, with `null`, removed; an array
    /// is replaced whole, so collections are objects by element id (SUR-3).
    ///
    /// It is shown once it is stored, also while a call's handler works and whatever becomes of the
    /// call: people see it as agents see progress.
    ///
    /// Refused with `surface_patch_invalid` when it is no object, nests more than 32 levels, makes the
    /// document larger than 256 KiB or names a member `__proto__`, `prototype` or `constructor`; with
    /// `surface_not_found` when the app declares no such Surface.
    pub fn update(self, surface: &str, patch: Value) -> Request<u64> {
        self.patch(surface, None, patch)
    }

    /// As [`Surfaces::update`], on a document that is at this revision and no other; else refused with
    /// `surface_patch_invalid`, reason `base_revision`.
    pub fn update_at(self, surface: &str, base_revision: u64, patch: Value) -> Request<u64> {
        self.patch(surface, Some(base_revision), patch)
    }

    fn patch(self, surface: &str, base_revision: Option<u64>, patch: Value) -> Request<u64> {
        // A text that is no name is declared nowhere.
        let surface = Method::new(surface).map_err(|_| {
            SdkError::from(Fault::new(ErrorCode::SurfaceNotFound, "the app declares no Surface of this name"))
        });
        Request::new(
            self.sdk,
            "surfaces.update",
            |answer| {
                if let MiniAppAnswer::Updated { revision } = answer { Some(revision) } else { None }
            },
            move |step| Ok(MiniAppRequest::UpdateSurface { step, surface: surface?, base_revision, patch }),
        )
    }
}
