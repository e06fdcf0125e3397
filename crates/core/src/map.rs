//! The persistent ordered collections of the workspace: a snapshot shares its structure and costs
//! nanoseconds (docs/adr/0004).

use std::sync::Arc;

/// An ordered map whose clone is a snapshot.
pub(crate) type Map<K, V> = rpds::RedBlackTreeMapSync<K, Arc<V>>;

/// An ordered set whose clone is a snapshot.
pub(crate) type Set<K> = rpds::RedBlackTreeSetSync<K>;

/// Puts a key into a set, or takes it out.
pub(crate) fn keep<K: Ord>(set: &mut Set<K>, key: K, there: bool) {
    if there {
        set.insert_mut(key);
    } else {
        set.remove_mut(&key);
    }
}
