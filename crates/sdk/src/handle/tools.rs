use lineup_model::{CallKey, Generation, message::Progress};
use lineup_ports::inbound::{CallView, MiniAppAnswer, MiniAppRequest, Work};
use serde::Serialize;
use serde_json::Value;

use crate::{Request, Sdk, SdkError, bundle::output_value, request};

/// The calls of this instance (SDK-3). A handler ends its own call by returning; this handle is for
/// calls that are ended elsewhere, such as in a UI Action or a message hook.
#[derive(Clone, Copy, Debug)]
pub struct Tools<'sdk> {
    pub(super) sdk: &'sdk Sdk,
}

impl Tools<'_> {
    /// Reads one call of this instance.
    ///
    /// # Errors
    /// `call_not_found` when it is not this instance's.
    pub async fn get(self, call: CallKey) -> Result<CallView, SdkError> {
        let read = |answer| {
            if let MiniAppAnswer::Call(view) = answer { Some(view) } else { None }
        };
        self.sdk.ask(MiniAppRequest::GetCall { call }, read).await
    }

    /// As [`crate::Call::progress`], for any open call of this instance.
    pub fn report_progress(
        self,
        call: CallKey,
        label: impl Into<String>,
        detail: impl Into<Option<Value>>,
    ) -> Request<()> {
        let progress = Progress { label: label.into(), detail: detail.into() };
        Request::new(self.sdk, "call.progress", request::done, |step| {
            Ok(MiniAppRequest::ReportProgress { call, step, progress })
        })
    }

    /// Completes a call. The output must fit the tool's output type: else the call ends as
    /// `tool_output_invalid` (CALL-6).
    ///
    /// # Errors
    /// `call_already_final`, `call_not_found`, `app_disabled`.
    pub async fn complete(self, call: CallKey, output: &impl Serialize) -> Result<(), SdkError> {
        let generation = self.generation_of(&call);
        let output = output_value(output)?;
        self.sdk.ask(MiniAppRequest::Complete { call, generation, output }, request::done).await
    }

    /// Ends a call as failed.
    ///
    /// # Errors
    /// As [`Tools::complete`].
    pub async fn fail(self, call: CallKey, error: SdkError) -> Result<(), SdkError> {
        let generation = self.generation_of(&call);
        let fault = error.into_fault();
        self.sdk.ask(MiniAppRequest::Fail { call, generation, fault }, request::done).await
    }

    /// Ends a call as cancelled.
    ///
    /// # Errors
    /// As [`Tools::complete`].
    pub async fn cancel(self, call: CallKey, reason: impl Into<Option<String>>) -> Result<(), SdkError> {
        let generation = self.generation_of(&call);
        let reason = reason.into();
        self.sdk.ask(MiniAppRequest::Cancel { call, generation, reason }, request::done).await
    }

    /// The delivery that is being handled, when it is a delivery of this very call.
    fn generation_of(self, key: &CallKey) -> Option<Generation> {
        match self.sdk.work() {
            Some(Work::Call { call, generation }) if call == key => Some(*generation),
            Some(Work::Call { .. } | Work::Action { .. }) | None => None,
        }
    }
}
