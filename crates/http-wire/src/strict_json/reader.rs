//! Reads an object, property by property.

use std::fmt::Display;

use serde_json::{Map, Value};

use super::faults::{Faults, Told};

/// An object of a body; properties are taken from it, and remaining ones are unknown.
#[derive(Debug)]
pub struct ObjectReader<'f> {
    members: Map<String, Value>,
    pointer: String,
    faults: &'f mut Faults,
}

impl<'f> ObjectReader<'f> {
    pub(super) fn new(members: Map<String, Value>, pointer: String, faults: &'f mut Faults) -> Self {
        Self { members, pointer, faults }
    }

    /// Returns whether the property is there, even as null.
    pub fn has(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    /// The property as it is; null is a value.
    pub fn any(&mut self, name: &str) -> Option<Value> {
        self.members.remove(name)
    }

    /// Records a fault of the property.
    pub fn fault(&mut self, name: &str, fault: impl Display) -> Told {
        let pointer = self.pointer_to(name);
        self.faults.wrong(pointer, fault)
    }

    /// A text; absent and null are `None`.
    pub fn optional_text(&mut self, name: &str) -> Result<Option<String>, Told> {
        match self.any(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.fault(name, expected("string", &other))),
        }
    }

    /// A text that must be there, checked by `parse`.
    pub fn text<T, E: Display>(
        &mut self,
        name: &str,
        parse: impl FnOnce(String) -> Result<T, E>,
    ) -> Result<T, Told> {
        match self.any(name) {
            None => Err(self.fault(name, "can't be blank")),
            Some(Value::String(text)) => parse(text).map_err(|fault| self.fault(name, fault)),
            Some(other) => Err(self.fault(name, expected("string", &other))),
        }
    }

    /// True or false; required.
    pub fn flag(&mut self, name: &str) -> Result<bool, Told> {
        match self.any(name) {
            None => Err(self.fault(name, "can't be blank")),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => Err(self.fault(name, expected("boolean", &other))),
        }
    }

    /// True or false; absent is `None`.
    pub fn optional_flag(&mut self, name: &str) -> Result<Option<bool>, Told> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(self.fault(name, expected("boolean", &other))),
        }
    }

    /// A text checked by `parse`; absent is `None`.
    pub fn text_if_given<T, E: Display>(
        &mut self,
        name: &str,
        parse: impl FnOnce(String) -> Result<T, E>,
    ) -> Result<Option<T>, Told> {
        if self.has(name) { self.text(name, parse).map(Some) } else { Ok(None) }
    }

    /// A text checked by `parse`; absent is `None`, and null or a blank text removes the value.
    pub fn text_or_null_if_given<T, E: Display>(
        &mut self,
        name: &str,
        parse: impl FnOnce(String) -> Result<T, E>,
    ) -> Result<Option<Option<T>>, Told> {
        if !self.has(name) {
            return Ok(None);
        }
        match self.optional_text(name)?.filter(|text| !text.trim().is_empty()) {
            None => Ok(Some(None)),
            Some(text) => parse(text).map(|value| Some(Some(value))).map_err(|fault| self.fault(name, fault)),
        }
    }

    /// A free-form object, whose content is not checked; absent and null are an empty one.
    pub fn free_object(&mut self, name: &str) -> Result<Map<String, Value>, Told> {
        match self.any(name) {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(members)) => Ok(members),
            Some(other) => Err(self.fault(name, expected("object", &other))),
        }
    }

    /// A nested object; absent and null are `None`.
    pub fn optional_object<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut ObjectReader<'_>) -> Result<T, Told>,
    ) -> Result<Option<T>, Told> {
        match self.any(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => self.inside(name, value, read).map(Some),
        }
    }

    /// A list of at most `max` items; absent and null are an empty one.
    pub fn list(&mut self, name: &str, max: usize) -> Result<Vec<Value>, Told> {
        match self.any(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) if items.len() <= max => Ok(items),
            Some(Value::Array(_)) => Err(self.fault(name, format_args!("should have at most {max} item(s)"))),
            Some(other) => Err(self.fault(name, expected("array", &other))),
        }
    }

    /// A list of at most `max` texts, each checked by `parse`; absent is `None`.
    pub fn texts_if_given<T, E: Display>(
        &mut self,
        name: &str,
        max: usize,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Option<Vec<T>>, Told> {
        if !self.has(name) {
            return Ok(None);
        }
        let items = self.list(name, max)?;
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            let Value::String(text) = item else { return Err(self.fault(name, "must hold strings")) };
            texts.push(parse(&text).map_err(|fault| self.fault(name, fault))?);
        }
        Ok(Some(texts))
    }

    /// A list of at most `max` objects, each read by `read`.
    pub fn objects<T>(
        &mut self,
        name: &str,
        max: usize,
        mut read: impl FnMut(&mut ObjectReader<'_>) -> Result<T, Told>,
    ) -> Result<Vec<T>, Told> {
        let items = self.list(name, max)?;
        let read_all = items.into_iter().enumerate().map(|(index, item)| {
            let place = format!("{}/{index}", escaped(name));
            self.inside_at(&place, item, &mut read)
        });
        // All items are read first, so that every fault is reported.
        read_all.collect::<Vec<_>>().into_iter().collect()
    }

    /// Reads `value`, the object under `name`.
    pub(super) fn inside<T>(
        &mut self,
        name: &str,
        value: Value,
        read: impl FnOnce(&mut ObjectReader<'_>) -> Result<T, Told>,
    ) -> Result<T, Told> {
        self.inside_at(&escaped(name), value, read)
    }

    fn inside_at<T>(
        &mut self,
        place: &str,
        value: Value,
        read: impl FnOnce(&mut ObjectReader<'_>) -> Result<T, Told>,
    ) -> Result<T, Told> {
        let pointer = format!("{}/{place}", self.pointer);
        let Value::Object(members) = value else {
            return Err(self.faults.wrong(pointer, expected("object", &value)));
        };
        let mut inner = ObjectReader::new(members, pointer, self.faults);
        let read = read(&mut inner);
        inner.finish();
        read
    }

    /// Records all remaining properties as unknown.
    pub(super) fn finish(self) {
        for name in self.members.keys() {
            self.faults.unknown(format!("{}/{}", self.pointer, escaped(&shortened(name))));
        }
    }

    fn pointer_to(&self, name: &str) -> String {
        format!("{}/{}", self.pointer, escaped(name))
    }
}

/// The message for a value of another type than `wanted`.
pub(super) fn expected(wanted: &str, got: &Value) -> String {
    let got = match got {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    format!("Invalid {wanted}. Got: {got}")
}

/// A name within a JSON pointer (RFC 6901).
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// A name from a client, shortened for a response.
fn shortened(name: &str) -> String {
    name.chars().take(100).collect()
}
