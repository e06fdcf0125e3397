use lineup_ports::inbound::MiniAppRequest;

use crate::{Request, Sdk, request};

/// The instance's own wishes (SDK-5). The Runtime decides every change of focus (ACT-6).
#[derive(Clone, Copy, Debug)]
pub struct Lifecycle<'sdk> {
    pub(super) sdk: &'sdk Sdk,
}

impl Lifecycle<'_> {
    /// Asks to come to the foreground. Refused with `lifecycle_denied` while another app's operation
    /// needs the foreground (ACT-10).
    pub fn request_foreground(self) -> Request<()> {
        Request::new(self.sdk, "lifecycle.foreground", request::done, |step| {
            Ok(MiniAppRequest::RequestForeground { step })
        })
    }

    /// Asks to leave the foreground.
    pub fn request_background(self) -> Request<()> {
        Request::new(self.sdk, "lifecycle.background", request::done, |step| {
            Ok(MiniAppRequest::RequestBackground { step })
        })
    }

    /// Asks to be closed. Refused with `lifecycle_denied` while calls or operations are open (ACT-7).
    pub fn request_close(self) -> Request<()> {
        Request::new(self.sdk, "lifecycle.close", request::done, |step| Ok(MiniAppRequest::RequestClose { step }))
    }
}
