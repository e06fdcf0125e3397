//! What Surfaces show: the documents that their MiniApps patch (SUR-3).

use std::sync::Arc;

use lineup_model::{ErrorCode, InstanceId, Method, message::Fault};
use serde_json::{Value, json};

use super::{Workspace, change_set::Kept, draft::Draft};
use crate::{
    instance::Instance,
    journal::Happened,
    miniapp::MiniAppAnswer,
    surface::{SurfaceDocument, invalid},
};

impl Workspace {
    /// What Surfaces show, of those that were ever patched.
    pub fn surfaces(&self) -> impl Iterator<Item = &Arc<SurfaceDocument>> {
        self.surfaces.values()
    }

    /// The document of a Surface as it stands; one that was never patched is empty.
    #[must_use]
    pub fn surface(&self, instance: &InstanceId, surface: &Method) -> Arc<SurfaceDocument> {
        let found = self.surfaces.get(&(instance.clone(), surface.clone())).cloned();
        found.unwrap_or_else(|| Arc::new(SurfaceDocument::empty(instance.clone(), surface.clone())))
    }
}

impl Draft {
    /// Patches what a Surface shows. Made at once, also inside a call's handler: people see it, as
    /// agents see progress (ADR 9, ADR 11).
    pub(super) fn update_surface(
        &mut self,
        instance: &Instance,
        surface: &Method,
        base_revision: Option<u64>,
        patch: &Value,
    ) -> Result<MiniAppAnswer, Fault> {
        let app = self.workspace.apps.get(&instance.app_scope);
        if !app.is_some_and(|app| app.manifest.surfaces.iter().any(|declared| declared.id == *surface)) {
            let message = format!("the app declares no Surface `{surface}`");
            return Err(Fault::new(ErrorCode::SurfaceNotFound, message));
        }
        let document = self.workspace.surface(&instance.id, surface);
        if base_revision.is_some_and(|base| base != document.revision) {
            let message = format!("the document is at revision {}, not at the one that was named", document.revision);
            return Err(invalid("base_revision", message));
        }
        let Some(patched) = document.patched(patch)? else {
            return Ok(MiniAppAnswer::Updated { revision: document.revision });
        };
        let revision = patched.revision;
        let detail = json!({ "surface": surface, "revision": revision });
        self.record(Happened::SurfaceUpdated, instance.id.as_str(), Some(detail));
        self.change(|set| set.surfaces.push(Kept::Put(Arc::new(patched))));
        Ok(MiniAppAnswer::Updated { revision })
    }

    /// What an instance showed goes with it.
    pub(super) fn clear_surfaces(&mut self, instance: &InstanceId) {
        let shown: Vec<_> = self.workspace.surfaces.keys().filter(|(of, _)| of == instance).cloned().collect();
        if !shown.is_empty() {
            self.change(|set| set.surfaces.extend(shown.into_iter().map(Kept::Gone)));
        }
    }
}
