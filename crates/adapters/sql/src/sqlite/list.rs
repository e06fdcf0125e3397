//! Rows on their way into one statement: a JSON array of arrays, and bodies beside it.

use serde::Serialize;

/// A list of rows for `json_each(?)`. Bodies travel in `bodies`, so that SQLite neither parses nor
/// copies them as JSON: the last two columns of such a row are the place and the length of its body.
#[derive(Debug, Default)]
pub(super) struct List {
    json: Vec<u8>,
    bodies: Vec<u8>,
    rows: usize,
}

impl List {
    /// Adds a row: a tuple of columns, or one column.
    pub(super) fn row(&mut self, columns: &impl Serialize) {
        self.json.push(if self.rows == 0 { b'[' } else { b',' });
        serde_json::to_writer(&mut self.json, columns).expect("columns are plain values, written to memory");
        self.rows += 1;
    }

    /// Adds a row whose body is written by `body`.
    pub(super) fn row_with_body<E>(
        &mut self,
        columns: &impl Serialize,
        body: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.bodies.len();
        body(&mut self.bodies)?;
        self.row(columns);
        let closing = self.json.pop();
        debug_assert_eq!(closing, Some(b']'), "columns with a body are a tuple");
        // SQL counts from 1.
        self.json.extend_from_slice(format!(",{},{}]", start + 1, self.bodies.len() - start).as_bytes());
        Ok(())
    }

    /// Adds a row with a body that is text already.
    pub(super) fn row_with_text(&mut self, columns: &impl Serialize, body: &str) {
        let Ok(()) = self.row_with_body(columns, |out| {
            out.extend_from_slice(body.as_bytes());
            Ok::<_, std::convert::Infallible>(())
        });
    }

    /// Whether there is nothing to write.
    pub(super) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The JSON text and the bodies.
    pub(super) fn into_parts(mut self) -> (String, Vec<u8>) {
        self.json.push(b']');
        (String::from_utf8(self.json).expect("serde_json writes UTF-8"), self.bodies)
    }
}
