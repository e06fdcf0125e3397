//! A MiniApp as the Runtime gets it: its declaration, its handlers, and the proof that the committed
//! manifest says the same (INV-2).

pub(crate) mod declare;
mod dispatch;
mod drift;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use lineup_model::{AppScope, Manifest, message::Fault};

pub use declare::Unfit;
pub(crate) use dispatch::output_value;
pub use drift::Drift;

use crate::{Sdk, host::Delivery};

pub(crate) use declare::Declaration;
pub(crate) use dispatch::{AppHooks, Defaults, Executable, Handlers, Hooks};

/// A MiniApp as compiled: what [`crate::define_agent_tools`] makes `bundle()` return.
///
/// It can say what it declares; it can run only after [`Bundle::verified`].
#[derive(Clone)]
pub struct Bundle {
    pub(crate) declaration: Arc<Declaration>,
    pub(crate) app: Arc<dyn Executable>,
}

/// A MiniApp whose compiled descriptors are those of its committed manifest. The only thing that the
/// Runtime can start.
#[derive(Clone)]
pub struct VerifiedBundle {
    manifest: Arc<Manifest>,
    app: Arc<dyn Executable>,
}

impl Bundle {
    /// The scope as the source says it, not yet checked.
    #[must_use]
    pub fn app_scope(&self) -> &str {
        self.declaration.app.scope
    }

    /// The documents of its Surfaces, each with the Surface's id: self-contained HTML, as it was when
    /// the crate was compiled (SUR-1).
    #[must_use]
    pub fn documents(&self) -> &'static [(&'static str, &'static str)] {
        self.declaration.app.documents
    }

    /// The manifest that the compiled source declares (INV-2, INV-4): descriptors only, sealed with
    /// its digest.
    ///
    /// # Errors
    /// Every part that cannot be declared, each with the tool, the type and the field that is to be
    /// mended (INV-5).
    pub fn manifest(&self) -> Result<Manifest, Vec<Unfit>> {
        self.declaration.manifest()
    }

    /// The bundle, ready to run, if its compiled descriptors are those of the committed
    /// `manifest.json` (INV-2).
    ///
    /// # Errors
    /// See [`Drift`]; `cargo xtask manifests` mends it.
    pub fn verified(&self) -> Result<VerifiedBundle, Drift> {
        self.verify(self.declaration.app.committed)
    }

    /// As [`Bundle::verified`], with a manifest that is kept elsewhere than beside the crate's
    /// `Cargo.toml`.
    ///
    /// # Errors
    /// See [`Drift`].
    pub fn verified_against(&self, committed: &str) -> Result<VerifiedBundle, Drift> {
        self.verify(Some(committed))
    }

    fn verify(&self, committed: Option<&str>) -> Result<VerifiedBundle, Drift> {
        let manifest = self.manifest().map_err(Drift::Unfit)?;
        drift::compare(&manifest, committed)?;
        Ok(VerifiedBundle { manifest: Arc::new(manifest), app: Arc::clone(&self.app) })
    }
}

impl VerifiedBundle {
    /// The manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The scope of the MiniApp.
    #[must_use]
    pub fn app_scope(&self) -> &AppScope {
        &self.manifest.app_scope
    }

    /// Hands one piece of work to the MiniApp and tells the Runtime, through the port behind `sdk`,
    /// how it ended. A panic of the handler ends a call as `tool_failed / panicked`. The future
    /// borrows nothing and may be spawned and dropped at will; a dropped one has told nothing.
    ///
    /// # Errors
    /// The work is not settled. After `storage_unavailable` the caller hands the same delivery over
    /// again, after a pause: the steps that were written answer as they did. After any other code
    /// the Runtime has decided already (a call that is final, a delivery that was superseded), or a
    /// hook failed; the caller logs it.
    pub fn dispatch(&self, sdk: &Sdk, delivery: Delivery) -> BoxFuture<'static, Result<(), Fault>> {
        dispatch::run(Arc::clone(&self.app), sdk, delivery)
    }
}

impl std::fmt::Debug for Bundle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bundle").field("app_scope", &self.app_scope()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for VerifiedBundle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VerifiedBundle").field("app_scope", self.app_scope()).finish_non_exhaustive()
    }
}
