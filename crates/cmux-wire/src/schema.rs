//! The shapes as JSON Schema 2020-12, which is what OpenAPI 3.1 speaks.

use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value};

use crate::shapes::shapes;

/// Where the schemas are in the document, and how they name one another.
const PLACE: &str = "/components/schemas";

// What patterns are made of. Characters are named by their numbers, on which all readers of patterns
// agree; what `\s` stands for, no two of them do.

/// A ULID. Small letters are read as capitals.
pub(crate) const ULID: &str = "[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{26}";

/// Between brackets: what is taken off both ends of a name.
pub(crate) const BLANK: &str =
    r"\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000";

/// Between brackets: control characters.
pub(crate) const UNPRINTED: &str = r"\u0000-\u001f\u007f-\u009f";

/// Returns the schema of every shape by its name, as `components.schemas` of an OpenAPI document.
pub fn components() -> Map<String, Value> {
    // What is said has all its fields; what is sent may leave out those that have a default.
    let mut said = generator(SchemaSettings::draft2020_12().for_serialize());
    let mut sent = generator(SchemaSettings::draft2020_12().for_deserialize());
    macro_rules! say { ($($shape:ty),+) => { $( said.subschema_for::<$shape>(); )+ } }
    macro_rules! send { ($($shape:ty),+) => { $( sent.subschema_for::<$shape>(); )+ } }
    shapes!(say, send);
    let mut components = sent.take_definitions(true);
    components.extend(said.take_definitions(true));
    components
}

/// Returns how `components` is referred to for the shape `T`: `{"$ref": "#/components/schemas/…"}`.
pub fn reference<T: schemars::JsonSchema>() -> Value {
    generator(SchemaSettings::draft2020_12()).subschema_for::<T>().to_value()
}

fn generator(settings: SchemaSettings) -> SchemaGenerator {
    settings.with(|it| it.definitions_path = PLACE.into()).into_generator()
}
