//! Schemas of an author's types.

use lineup_model::schema::{Schema, SchemaFault, schema_of};

use crate::bundle::Unfit;

/// Makes the schema of one type, named for messages.
#[derive(Clone, Copy, Debug)]
pub struct SchemaOf {
    type_name: fn() -> String,
    schema: fn() -> Result<Schema, Vec<SchemaFault>>,
}

impl SchemaOf {
    /// The schema of `T`.
    #[must_use]
    pub fn type_of<T: schemars::JsonSchema>() -> Self {
        Self { type_name: || T::schema_name().into_owned(), schema: schema_of::<T> }
    }

    pub(crate) fn type_name(self) -> String {
        (self.type_name)()
    }

    pub(crate) fn read(self, owner: &str, role: &str, unfit: &mut Vec<Unfit>) -> Option<Schema> {
        let place = format!("{owner}, {role} type `{}`", self.type_name());
        let refused = |fault: SchemaFault| Unfit { place: place.clone(), message: fault.message };
        (self.schema)().map_err(|faults| unfit.extend(faults.into_iter().map(refused))).ok()
    }
}
