//! The non-executable description of a MiniApp that the build generates (INV-2, INV-4).
//!
//! [`Manifest::sealed`] makes one, [`Manifest::decode`] reads one, and both refuse the same faults.

mod check;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AppScope, Descriptor, Digest, Method,
    json::{self, Reason},
    limits,
    schema::{Schema, SchemaFault, SchemaFaultKind},
};

/// Where a MiniApp comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Part of the Runtime's product, with SDK extensions (SDK-9).
    System,
    /// A reference MiniApp that ships with it.
    BundledReference,
}

/// A request that the user can make in the MiniApp's own UI; never seen by an agent (UIA-1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UiAction {
    /// The name inside the scope.
    pub method: Method,
    /// What it does.
    pub description: String,
    /// What a request must carry.
    pub input_schema: Schema,
    /// Whether the Host asks the user once more.
    pub confirm: bool,
}

/// A restricted view of the MiniApp.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Surface {
    /// The name of the Surface.
    pub id: Method,
    /// Its title.
    pub title: String,
}

/// What the MiniApp asks of a Host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostNeeds {
    /// The lowest Host version that can run it.
    pub min_version: u32,
    /// Whether it is ready only once its Surface has done the handshake (ACT-2).
    pub surface_required: bool,
}

/// Everything that the Runtime is told about a MiniApp (INV-4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The MiniApp's scope.
    pub app_scope: AppScope,
    /// Its version, for people.
    pub version: String,
    /// Where it comes from.
    pub kind: Kind,
    /// Its Agent Tools, sorted by id.
    pub tools: Vec<Descriptor>,
    /// Its UI Actions, sorted by method.
    pub ui_actions: Vec<UiAction>,
    /// The message types that it receives in its inbox.
    pub subscriptions: Vec<String>,
    /// The capabilities that it may ask for.
    pub requested_capabilities: Vec<String>,
    /// Its Surfaces.
    pub surfaces: Vec<Surface>,
    /// What it asks of a Host.
    pub host: HostNeeds,
    /// The digest of everything above.
    pub digest: Digest,
}

/// What kind of fault a manifest has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ManifestFaultKind {
    /// The bytes are not strict JSON.
    Json(Reason),
    /// A schema leaves the subset (INV-5).
    UnsupportedSchema,
    /// Anything else.
    BadManifest,
}

impl ManifestFaultKind {
    /// The stable word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Json(reason) => reason.as_str(),
            Self::UnsupportedSchema => SchemaFaultKind::UnsupportedSchema.as_str(),
            Self::BadManifest => SchemaFaultKind::BadManifest.as_str(),
        }
    }
}

/// One thing that is wrong with a manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ManifestFault {
    /// What kind of fault it is.
    pub kind: ManifestFaultKind,
    /// Where in the manifest, as a JSON pointer.
    pub pointer: String,
    /// What is wrong and what would be right, for the author.
    pub message: String,
}

impl ManifestFault {
    fn bad(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: ManifestFaultKind::BadManifest, pointer: pointer.into(), message: message.into() }
    }

    /// The fault of a schema that stands at `at`.
    fn of_schema(at: &str, fault: SchemaFault) -> Self {
        let kind = match fault.kind {
            SchemaFaultKind::UnsupportedSchema => ManifestFaultKind::UnsupportedSchema,
            SchemaFaultKind::BadManifest => ManifestFaultKind::BadManifest,
        };
        Self { kind, pointer: format!("{at}{}", fault.pointer), message: fault.message }
    }
}

impl Manifest {
    /// A manifest that declares nothing yet. Fill in its fields, then call [`Manifest::sealed`].
    #[must_use]
    pub fn empty(app_scope: AppScope, version: impl Into<String>, kind: Kind) -> Self {
        let mut manifest = Self {
            app_scope,
            version: version.into(),
            kind,
            tools: Vec::new(),
            ui_actions: Vec::new(),
            subscriptions: Vec::new(),
            requested_capabilities: Vec::new(),
            surfaces: Vec::new(),
            host: HostNeeds::default(),
            digest: Digest::of_bytes(&[]),
        };
        manifest.digest = manifest.content_digest();
        manifest
    }

    /// The manifest with its lists in order, `handling` derived and its digest computed.
    ///
    /// # Errors
    /// With every fault that was found.
    pub fn sealed(mut self) -> Result<Self, Vec<ManifestFault>> {
        self.tools.sort_by(|a, b| a.id.cmp(&b.id));
        self.ui_actions.sort_by(|a, b| a.method.cmp(&b.method));
        self.surfaces.sort_by(|a, b| a.id.cmp(&b.id));
        self.subscriptions.sort();
        self.requested_capabilities.sort();
        for tool in &mut self.tools {
            tool.permissions.sort();
            tool.host_requirements.sort();
            tool.handling = Descriptor::handling_of(tool.invocation, tool.readiness);
        }
        self.digest = self.content_digest();
        self.check()?;
        Ok(self)
    }

    /// Reads a manifest, at most [`limits::MANIFEST_BYTES`] long.
    ///
    /// # Errors
    /// With every fault that was found; with the first one when the bytes are not strict JSON.
    pub fn decode(bytes: &[u8]) -> Result<Self, Vec<ManifestFault>> {
        let fields = json::decode_object(bytes, limits::MANIFEST_BYTES).map_err(|error| {
            vec![ManifestFault {
                kind: ManifestFaultKind::Json(error.reason),
                pointer: error.pointer,
                message: error.message,
            }]
        })?;
        let value = Value::Object(fields);
        check::schemas(&value)?;
        let manifest: Self = check::read(&value, "")?;
        // Serde reads more than one form: an array for an object, null for a field that is left
        // out. A manifest has one.
        if serde_json::to_value(&manifest).ok().as_ref() != Some(&value) {
            return Err(vec![ManifestFault::bad("", "the manifest is not in the form that the build generates")]);
        }
        manifest.check()?;
        Ok(manifest)
    }

    /// The digest of everything but the digest (INV-4).
    ///
    /// # Panics
    /// Never: a manifest is an object in JSON.
    #[must_use]
    pub fn content_digest(&self) -> Digest {
        let mut value = serde_json::to_value(self).expect("a manifest has only string keys");
        value.as_object_mut().expect("a manifest is an object").remove("digest");
        Digest::of(&value)
    }

    /// Looks for everything that is wrong with a manifest (INV-3, INV-4, cases H54, H58).
    ///
    /// # Errors
    /// With every fault that was found.
    pub fn check(&self) -> Result<(), Vec<ManifestFault>> {
        let faults = check::faults(self);
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    /// Whether this manifest may take the place of an older one of the same MiniApp.
    ///
    /// # Errors
    /// When it says something else under the same version (H59), or gives a tool another meaning
    /// under the same contract version (INV-11). The older one stays.
    pub fn check_successor_of(&self, older: &Self) -> Result<(), Vec<ManifestFault>> {
        let faults = check::successor_faults(self, older);
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }
}
