//! The JSON schema of an object, recorded while an empty one is read.

use serde_json::{Map, Value, json};

use crate::openapi::schema::{Schema, closed_object, either, text};

/// The ways in which a property can be missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Optionality {
    /// It must be given.
    Required,
    /// It may be absent, but not null.
    Optional,
    /// It may be absent or null.
    Nullable,
}

/// The properties of an object.
#[derive(Debug, Default)]
pub(super) struct Description {
    properties: Map<String, Value>,
    required: Vec<&'static str>,
    /// Two names for a property that must be given under one of them.
    names: Option<[(&'static str, Schema); 2]>,
    is_never_empty: bool,
}

impl Description {
    pub(super) fn add(&mut self, name: &'static str, optionality: Optionality, schema: Value) {
        self.properties.insert(name.to_owned(), schema);
        if optionality == Optionality::Required {
            self.required.push(name);
        }
    }

    pub(super) fn add_one_of(&mut self, names: &[(&'static str, Schema); 2]) {
        self.names = Some(*names);
    }

    pub(super) fn need_a_property(&mut self) {
        self.is_never_empty = true;
    }

    pub(super) fn into_schema(self) -> Value {
        let with = |name: &'static str, more: &[(&str, Value)]| {
            let mut properties = self.properties.clone();
            properties.extend(more.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())));
            closed_object(&[&self.required[..], &[name]].concat(), properties)
        };
        let mut schema = match self.names {
            None => closed_object(&self.required, self.properties.clone()),
            Some([(first, schema), (second, alone)]) => either(&[
                with(first, &[(first, schema.value()), (second, text().nullable())]),
                with(second, &[(second, alone.value())]),
            ]),
        };
        if self.is_never_empty {
            schema["minProperties"] = json!(1);
        }
        schema
    }
}
