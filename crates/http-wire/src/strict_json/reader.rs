//! Reads an object, property by property.

use std::fmt::Display;
use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};

use super::description::{Description, Optionality};
use super::faults::{Faults, NOT_AN_ID, Rejected, UNKNOWN_WORD};
use crate::openapi::schema::{Schema, nullable, positive, whole};

/// A type of whole numbers.
pub trait Number: Copy + PartialOrd + Display + Into<u64> + TryFrom<u64> {}

impl Number for u32 {}

impl Number for u64 {}

/// An object of a body; properties are taken from it, and remaining ones are unknown.
///
/// Each property is read with its schema. The schemas are recorded when an empty object is read for
/// the API's document, so a body must read all its properties whatever their values are.
#[derive(Debug)]
pub struct ObjectReader<'f> {
    members: Map<String, Value>,
    pointer: String,
    faults: &'f mut Faults,
    /// Set while the object is described.
    description: Option<Description>,
}

impl<'f> ObjectReader<'f> {
    pub(super) fn new(members: Map<String, Value>, pointer: String, faults: &'f mut Faults) -> Self {
        Self { members, pointer, faults, description: None }
    }

    /// The schema of the object that `read` reads.
    pub(super) fn schema_of<T>(read: impl FnOnce(&mut ObjectReader<'_>) -> Result<T, Rejected>) -> Value {
        let mut faults = Faults::default();
        let mut reader = ObjectReader::new(Map::new(), String::new(), &mut faults);
        reader.description = Some(Description::default());
        // An empty object may be refused: only the recorded schemas count.
        let _ = read(&mut reader);
        reader.description.unwrap_or_default().into_schema()
    }

    /// Describes a property that is read with [`Self::any`] or [`Self::any_text`].
    pub fn describe(&mut self, name: &'static str, optionality: Optionality, schema: Schema) {
        self.record(name, optionality, || match optionality {
            Optionality::Nullable => schema.nullable(),
            Optionality::Required | Optionality::Optional => schema.value(),
        });
    }

    fn record(&mut self, name: &'static str, optionality: Optionality, schema: impl FnOnce() -> Value) {
        if let Some(description) = &mut self.description {
            description.add(name, optionality, schema());
        }
    }

    /// Describes the object as one with at least one property.
    pub fn describe_as_never_empty(&mut self) {
        if let Some(description) = &mut self.description {
            description.need_a_property();
        }
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
    pub fn fault(&mut self, name: &str, fault: impl Display) -> Rejected {
        let pointer = self.pointer_to(name);
        self.faults.wrong(pointer, fault)
    }

    /// A text; absent and null are `None`.
    pub fn any_text(&mut self, name: &str) -> Result<Option<String>, Rejected> {
        match self.any(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.fault(name, expected("string", &other))),
        }
    }

    /// A text that must be there, checked by `parse`.
    pub fn text<T, E: Display>(
        &mut self,
        name: &'static str,
        schema: Schema,
        parse: impl FnOnce(String) -> Result<T, E>,
    ) -> Result<T, Rejected> {
        self.describe(name, Optionality::Required, schema);
        self.required_text(name, parse)
    }

    /// A text checked by `parse`; absent is `None`.
    pub fn text_if_given<T, E: Display>(
        &mut self,
        name: &'static str,
        schema: Schema,
        parse: impl FnOnce(String) -> Result<T, E>,
    ) -> Result<Option<T>, Rejected> {
        self.describe(name, Optionality::Optional, schema);
        if self.has(name) { self.required_text(name, parse).map(Some) } else { Ok(None) }
    }

    /// A text checked by `parse`; absent and null are `None`.
    pub fn optional_text<T, E: Display>(
        &mut self,
        name: &'static str,
        schema: Schema,
        parse: impl FnOnce(String) -> Result<T, E>,
    ) -> Result<Option<T>, Rejected> {
        self.describe(name, Optionality::Nullable, schema);
        let text = self.any_text(name)?;
        text.map(|text| parse(text).map_err(|fault| self.fault(name, fault))).transpose()
    }

    /// A text checked by `parse`; absent is `None`, and null or a blank text removes the value.
    pub fn clearable_text<T, E: Display>(
        &mut self,
        name: &'static str,
        schema: Schema,
        parse: impl FnOnce(String) -> Result<T, E>,
    ) -> Result<Option<Option<T>>, Rejected> {
        let is_given = self.has(name);
        let parse = |text: String| if text.trim().is_empty() { Ok(None) } else { parse(text).map(Some) };
        let value = self.optional_text(name, schema, parse)?;
        Ok(is_given.then(|| value.flatten()))
    }

    /// A text under one of two names: the first one, or the second one if that is absent.
    pub fn one_of(&mut self, names: &[(&'static str, Schema); 2]) -> Result<[Option<String>; 2], Rejected> {
        if let Some(description) = &mut self.description {
            description.add_one_of(names);
        }
        let [(first, _), (second, _)] = names;
        let [first, second] = [first, second].map(|name| self.any_text(name));
        Ok([first?, second?])
    }

    /// True or false; required.
    pub fn flag(&mut self, name: &'static str, schema: Schema) -> Result<bool, Rejected> {
        self.describe(name, Optionality::Required, schema);
        match self.any(name) {
            None => Err(self.fault(name, "can't be blank")),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => Err(self.fault(name, expected("boolean", &other))),
        }
    }

    /// True or false; absent is `None`.
    pub fn optional_flag(&mut self, name: &'static str, schema: Schema) -> Result<Option<bool>, Rejected> {
        self.describe(name, Optionality::Optional, schema);
        match self.any(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(self.fault(name, expected("boolean", &other))),
        }
    }

    /// True or false; absent and null are false.
    pub fn flag_if_given(&mut self, name: &'static str, schema: Schema) -> Result<bool, Rejected> {
        self.describe(name, Optionality::Nullable, schema);
        match self.any(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => Err(self.fault(name, expected("boolean", &other))),
        }
    }

    /// A whole number from 1; absent is `None`.
    pub fn positive_if_given(&mut self, name: &'static str) -> Result<Option<u32>, Rejected> {
        self.number_if_given(name, positive(), 1..=u32::MAX)
    }

    /// A whole number of `range`; absent is `None`.
    pub fn number_if_given(
        &mut self,
        name: &'static str,
        schema: Schema,
        range: RangeInclusive<u32>,
    ) -> Result<Option<u32>, Rejected> {
        self.describe(name, Optionality::Optional, schema);
        self.any(name).map(|value| self.whole_number(name, &value, range)).transpose()
    }

    /// A whole number of `range`, all of which `parse` accepts; absent is `None`, and null removes the
    /// value.
    pub fn clearable_number<N: Number, T>(
        &mut self,
        name: &'static str,
        range: RangeInclusive<N>,
        parse: impl FnOnce(N) -> Option<T>,
    ) -> Result<Option<Option<T>>, Rejected> {
        let (least, most) = (*range.start(), *range.end());
        self.describe(name, Optionality::Nullable, whole(least.into(), most.into()));
        if !self.has(name) {
            return Ok(None);
        }
        match self.any(name) {
            None | Some(Value::Null) => Ok(Some(None)),
            Some(value) => self.whole_number(name, &value, range).map(|number| Some(parse(number))),
        }
    }

    fn whole_number<N: Number>(
        &mut self,
        name: &str,
        value: &Value,
        range: RangeInclusive<N>,
    ) -> Result<N, Rejected> {
        let number = value.as_u64().and_then(|number| N::try_from(number).ok());
        let number = number.filter(|number| range.contains(number));
        number.ok_or_else(|| {
            self.fault(name, format!("must be a whole number from {} to {}", range.start(), range.end()))
        })
    }

    /// A free-form object, checked by `parse`; absent and null are an empty one.
    pub fn free_object<T, E: Display>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(Map<String, Value>) -> Result<T, E>,
    ) -> Result<T, Rejected> {
        self.record(name, Optionality::Nullable, || {
            nullable(json!({"type": "object", "additionalProperties": true}))
        });
        let members = match self.any(name) {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(members)) => members,
            Some(other) => return Err(self.fault(name, expected("object", &other))),
        };
        parse(members).map_err(|fault| self.fault(name, fault))
    }

    /// A nested object; absent and null are `None`.
    pub fn optional_object<T>(
        &mut self,
        name: &'static str,
        schema: impl FnOnce() -> Value,
        read: impl FnOnce(&mut ObjectReader<'_>) -> Result<T, Rejected>,
    ) -> Result<Option<T>, Rejected> {
        self.record(name, Optionality::Nullable, schema);
        match self.any(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => self.inside(name, value, read).map(Some),
        }
    }

    /// A list of at most `max` texts, each checked by `parse`; absent is `None`, null an empty one.
    pub fn texts_if_given<T, E: Display>(
        &mut self,
        name: &'static str,
        item: Schema,
        max: usize,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Option<Vec<T>>, Rejected> {
        self.record(name, Optionality::Nullable, || list(&item.value(), max));
        if !self.has(name) {
            return Ok(None);
        }
        let items = self.items(name, max)?;
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            let Value::String(text) = item else { return Err(self.fault(name, "must hold strings")) };
            texts.push(parse(&text).map_err(|fault| self.fault(name, fault))?);
        }
        Ok(Some(texts))
    }

    /// A list of from 1 to `max` different texts that must be there. `parse` checks them together, and returns a fault with
    /// the index of the wrong text, or with none if the list is wrong.
    pub fn texts<T, E: Display>(
        &mut self,
        name: &'static str,
        item: Schema,
        max: usize,
        parse: impl FnOnce(Vec<String>) -> Result<T, (Option<usize>, E)>,
    ) -> Result<T, Rejected> {
        self.record(name, Optionality::Required, || {
            json!({"type": "array", "items": item.value(), "minItems": 1, "maxItems": max, "uniqueItems": true})
        });
        if !self.has(name) {
            return Err(self.fault(name, "can't be blank"));
        }
        let items = match self.any(name) {
            Some(Value::Array(items)) => items,
            other => return Err(self.fault(name, expected("array", &other.unwrap_or_default()))),
        };
        let mut texts = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let Value::String(text) = item else {
                return Err(self.fault_at(name, index, expected("string", &item)));
            };
            texts.push(text);
        }
        parse(texts).map_err(|(index, fault)| match index {
            Some(index) => self.fault_at(name, index, fault),
            None => self.fault(name, fault),
        })
    }

    /// Records a fault of an item of a list.
    fn fault_at(&mut self, name: &str, index: usize, fault: impl Display) -> Rejected {
        let pointer = format!("{}/{index}", self.pointer_to(name));
        self.faults.wrong(pointer, fault)
    }

    /// A list of at most `max` objects, each read by `read`; absent and null are an empty one.
    pub fn objects<T>(
        &mut self,
        name: &'static str,
        max: usize,
        read: impl Fn(&mut ObjectReader<'_>) -> Result<T, Rejected>,
    ) -> Result<Vec<T>, Rejected> {
        self.record(name, Optionality::Nullable, || list(&ObjectReader::schema_of(&read), max));
        let items = self.items(name, max)?;
        let read_all = items.into_iter().enumerate().map(|(index, item)| {
            let path = format!("{}/{index}", escaped(name));
            self.inside_at(&path, item, &read)
        });
        // All items are read first, so that every fault is reported.
        read_all.collect::<Vec<_>>().into_iter().collect()
    }

    fn required_text<T, E: Display>(
        &mut self,
        name: &str,
        parse: impl FnOnce(String) -> Result<T, E>,
    ) -> Result<T, Rejected> {
        match self.any(name) {
            None => Err(self.fault(name, "can't be blank")),
            Some(Value::String(text)) => parse(text).map_err(|fault| self.fault(name, fault)),
            Some(other) => Err(self.fault(name, expected("string", &other))),
        }
    }

    /// The items of a list of at most `max`; absent and null are an empty one.
    fn items(&mut self, name: &str, max: usize) -> Result<Vec<Value>, Rejected> {
        match self.any(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) if items.len() <= max => Ok(items),
            Some(Value::Array(_)) => Err(self.fault(name, format_args!("should have at most {max} item(s)"))),
            Some(other) => Err(self.fault(name, expected("array", &other))),
        }
    }

    /// Reads `value`, the object under `name`.
    pub(super) fn inside<T>(
        &mut self,
        name: &str,
        value: Value,
        read: impl FnOnce(&mut ObjectReader<'_>) -> Result<T, Rejected>,
    ) -> Result<T, Rejected> {
        self.inside_at(&escaped(name), value, read)
    }

    fn inside_at<T>(
        &mut self,
        path: &str,
        value: Value,
        read: impl FnOnce(&mut ObjectReader<'_>) -> Result<T, Rejected>,
    ) -> Result<T, Rejected> {
        let pointer = format!("{}/{path}", self.pointer);
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

/// Turns a parser that knows a few words into one for [`ObjectReader`].
pub fn known<T>(parse: impl FnOnce(&str) -> Option<T>) -> impl FnOnce(String) -> Result<T, &'static str> {
    move |text| parse(&text).ok_or(UNKNOWN_WORD)
}

/// Turns a parser of ids into one for [`ObjectReader`].
pub fn id<T>(parse: impl FnOnce(&str) -> Option<T>) -> impl FnOnce(String) -> Result<T, &'static str> {
    move |text| parse(&text).ok_or(NOT_AN_ID)
}

/// The schema of a list of at most `max` items, or null.
fn list(item: &Value, max: usize) -> Value {
    nullable(json!({"type": "array", "items": item, "maxItems": max}))
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
