//! Shorthands for the schemas of requests.

use serde_json::{Map, Value, json};

pub use super::endpoint::Parameter;

/// One line with something on it: no control characters, not blank.
const LINE: &str = "^[^\\u0000-\\u001f\\u007f-\\u009f]*[^\\s\\u0000-\\u001f\\u007f-\\u009f][^\\u0000-\\u001f\\u007f-\\u009f]*$";

/// Any text.
pub fn text() -> Value {
    json!({"type": "string"})
}

/// A text that is not blank, of at most `max` characters.
pub fn some_text(max: usize) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": max, "pattern": "\\S"})
}

/// One line that is not blank, of at most `max` characters.
pub fn line(max: usize) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": max, "pattern": LINE})
}

/// An id.
pub fn uuid() -> Value {
    json!({"type": "string", "format": "uuid", "minLength": 36, "maxLength": 36})
}

/// True or false.
pub fn flag() -> Value {
    json!({"type": "boolean"})
}

/// One of a few words.
pub fn word(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

/// Any object.
pub fn free_object() -> Value {
    json!({"type": "object", "additionalProperties": true})
}

/// A list of at most `max` items.
pub fn list(item: Value, max: usize) -> Value {
    json!({"type": "array", "items": item, "maxItems": max})
}

/// Some of these, separated by commas.
pub fn several(item: Value) -> Value {
    json!({"type": "array", "items": item})
}

/// A handle, with or without `@`.
pub fn handle() -> Value {
    let pattern = "^@?[A-Za-z0-9][A-Za-z0-9._-]{0,98}(/[A-Za-z0-9][A-Za-z0-9._-]{0,98})?$";
    json!({"type": "string", "minLength": 1, "maxLength": 200, "pattern": pattern})
}

/// One of these objects.
pub fn either(objects: &[Value]) -> Value {
    json!({"anyOf": objects})
}

/// The same, or null.
pub fn nullable(schema: Value) -> Value {
    json!({"anyOf": [schema, {"type": "null"}]})
}

/// The same, with what it means.
pub fn about(mut schema: Value, description: &str) -> Value {
    schema["description"] = json!(description);
    schema
}

/// An object that knows these properties and no others; those in `required` must be there.
pub fn object(required: &[&str], properties: &[(&str, Value)]) -> Value {
    let properties = properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone()));
    let properties = properties.collect::<Map<_, _>>();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// A parameter of a query string.
pub fn parameter(name: &'static str, schema: Value, description: &'static str) -> Parameter {
    Parameter { name, schema, description }
}
