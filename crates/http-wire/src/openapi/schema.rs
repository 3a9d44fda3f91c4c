//! Schemas of the values that requests hold.

use serde_json::{Map, Value, json};

/// What is trimmed from both ends of a line, as part of a character class: white space, some of it control
/// characters.
macro_rules! blanks {
    () => {
        "\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"
    };
}

/// Control characters, as part of a character class.
macro_rules! controls {
    () => {
        "\\u0000-\\u001f\\u007f-\\u009f"
    };
}

/// One line with something on it: trimmed, it is not blank and has no control characters.
const LINE: &str =
    concat!("^[", blanks!(), "]*[^", blanks!(), controls!(), "][^", controls!(), "]*[", blanks!(), "]*$");

/// The schema of a value, with its description. Only becomes JSON for the API's document.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    kind: &'static str,
    format: Option<&'static str>,
    min_length: Option<usize>,
    max_length: Option<usize>,
    minimum: Option<u64>,
    maximum: Option<u64>,
    pattern: Option<&'static str>,
    words: Option<&'static [&'static str]>,
    description: Option<&'static str>,
}

impl Schema {
    const fn of(kind: &'static str) -> Self {
        Self {
            kind,
            format: None,
            min_length: None,
            max_length: None,
            minimum: None,
            maximum: None,
            pattern: None,
            words: None,
            description: None,
        }
    }

    /// With a format.
    #[must_use]
    pub const fn format(self, format: &'static str) -> Self {
        Self { format: Some(format), ..self }
    }

    /// With a minimum number of characters.
    #[must_use]
    pub const fn min(self, chars: usize) -> Self {
        Self { min_length: Some(chars), ..self }
    }

    /// With a maximum number of characters.
    #[must_use]
    pub const fn max(self, chars: usize) -> Self {
        Self { max_length: Some(chars), ..self }
    }

    /// With a pattern.
    #[must_use]
    pub const fn pattern(self, pattern: &'static str) -> Self {
        Self { pattern: Some(pattern), ..self }
    }

    /// With a description.
    #[must_use]
    pub const fn about(self, description: &'static str) -> Self {
        Self { description: Some(description), ..self }
    }

    pub(crate) fn value(self) -> Value {
        let members = [
            ("type", Some(json!(self.kind))),
            ("format", self.format.map(Value::from)),
            ("minLength", self.min_length.map(Value::from)),
            ("maxLength", self.max_length.map(Value::from)),
            ("minimum", self.minimum.map(Value::from)),
            ("maximum", self.maximum.map(Value::from)),
            ("pattern", self.pattern.map(Value::from)),
            ("enum", self.words.map(Value::from)),
            ("description", self.description.map(Value::from)),
        ];
        members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    /// The schema of this or null.
    pub(crate) fn nullable(self) -> Value {
        let mut schema = nullable(Self { description: None, ..self }.value());
        if let Some(description) = self.description {
            schema["description"] = json!(description);
        }
        schema
    }
}

/// Any text.
pub const fn text() -> Schema {
    Schema::of("string")
}

/// A text that is not blank, of at most `max` characters.
pub const fn some_text(max: usize) -> Schema {
    text().min(1).max(max).pattern("\\S")
}

/// One line that is not blank, of at most `max` characters.
pub const fn line(max: usize) -> Schema {
    some_text(max).pattern(LINE)
}

/// An id.
pub const fn uuid() -> Schema {
    text().format("uuid").min(36).max(36)
}

/// A date and time.
pub const fn instant() -> Schema {
    text().format("date-time")
}

/// True or false.
pub const fn flag() -> Schema {
    Schema::of("boolean")
}

/// A whole number from 1.
pub const fn positive() -> Schema {
    Schema { minimum: Some(1), ..Schema::of("integer") }
}

/// A whole number from `min` to `max`.
pub const fn whole(min: u64, max: u64) -> Schema {
    Schema { minimum: Some(min), maximum: Some(max), ..Schema::of("integer") }
}

/// One of a few words.
pub const fn word(words: &'static [&'static str]) -> Schema {
    Schema { words: Some(words), ..text() }
}

/// A handle, with or without `@`.
pub const fn handle() -> Schema {
    let pattern = "^@?[A-Za-z0-9][A-Za-z0-9._-]{0,98}(/[A-Za-z0-9][A-Za-z0-9._-]{0,98})?$";
    text().min(1).max(200).pattern(pattern)
}

/// The schema of one of these.
pub fn either(schemas: &[Value]) -> Value {
    json!({"anyOf": schemas})
}

/// The schema of this or null.
pub fn nullable(schema: Value) -> Value {
    either(&[schema, json!({"type": "null"})])
}

/// An object that has exactly these properties.
pub fn object<const N: usize>(properties: [(&str, Schema); N]) -> Value {
    let required = properties.map(|(name, _)| name);
    closed_object(
        &required,
        properties.map(|(name, schema)| (name.to_owned(), schema.value())).into_iter().collect(),
    )
}

/// An object with these properties and no others; those in `required` must be there.
pub(crate) fn closed_object(required: &[&str], properties: Map<String, Value>) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}
