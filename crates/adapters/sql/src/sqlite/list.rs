//! Rows on their way into one statement.

use std::sync::Arc;

/// A column's value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// NULL.
    Null,
    /// INTEGER.
    Integer(i64),
    /// TEXT of a row.
    Text(String),
    /// TEXT that many rows share.
    Word(&'static str),
    /// TEXT that is shared with the record that it comes from.
    Shared(Arc<str>),
    /// BLOB.
    Bytes([u8; 16]),
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&'static str> for Value {
    fn from(value: &'static str) -> Self {
        Self::Word(value)
    }
}

impl From<Arc<str>> for Value {
    fn from(value: Arc<str>) -> Self {
        Self::Shared(value)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Rows of equal width, one after the other.
#[derive(Debug, Default)]
pub(super) struct List {
    values: Vec<Value>,
    rows: usize,
}

impl List {
    /// Adds a row.
    pub(super) fn row<const COLUMNS: usize>(&mut self, columns: [Value; COLUMNS]) {
        self.values.extend(columns);
        self.rows += 1;
    }

    /// How many rows.
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    /// All values, row by row.
    pub(super) fn into_values(self) -> Vec<Value> {
        self.values
    }
}
