//! The persistent ordered map of the workspace: a snapshot shares its structure and costs
//! nanoseconds (docs/adr/0004).

use std::sync::Arc;

/// An ordered map whose clone is a snapshot.
pub(crate) type Map<K, V> = rpds::RedBlackTreeMapSync<K, Arc<V>>;
