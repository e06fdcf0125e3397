//! The page's entry: what people read of their conversations. Reads only.

#[allow(dead_code, unused_imports, reason = "the socket comes next")]
pub(crate) mod frames;
