//! The non-executable description of a MiniApp that the build generates (INV-2, INV-4).

use serde::{Deserialize, Serialize};

use crate::{AppScope, Descriptor, Digest, Method, schema::Schema};

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
