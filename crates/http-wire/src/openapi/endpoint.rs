//! A handler, where it is mounted, and what is said of it.

use actix_web::http::Method;
use actix_web::{FromRequest, Handler, Resource, Responder, Route};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::query::FromQuery;
use crate::strict_json::FromBody;

/// A parameter of a query string.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub schema: Value,
    /// What it does.
    pub description: &'static str,
}

/// An answer other than a refusal.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// `None` when there is no body.
    pub(super) schema: Option<Value>,
}

/// An operation: how it is mounted, and how it is documented.
pub struct Endpoint {
    pub(super) method: Method,
    /// Below the base of its interface, with ids in braces.
    pub(super) path: &'static str,
    route: Route,
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Value>,
    /// Whether the body must say anything at all.
    pub(super) body_required: bool,
    pub(super) answers: Vec<Answer>,
    pub(super) refusals: Vec<u16>,
    pub(super) idempotent: bool,
    pub(super) schemas: Vec<(String, Value)>,
}

macro_rules! methods {
    ($($name:ident = $method:ident),+) => {$(
        /// An operation of this method.
        pub fn $name<F, Args>(path: &'static str, handler: F) -> Endpoint
        where
            F: Handler<Args>,
            Args: FromRequest + 'static,
            F::Output: Responder + 'static,
        {
            Endpoint::new(Method::$method, path, Route::new().method(Method::$method).to(handler))
        }
    )+};
}

methods! { get = GET, post = POST, put = PUT, patch = PATCH, delete = DELETE }

impl Endpoint {
    /// Below the base of its interface, with ids in braces.
    pub const fn path(&self) -> &'static str {
        self.path
    }

    fn new(method: Method, path: &'static str, route: Route) -> Self {
        Self {
            method,
            path,
            route,
            id: "",
            summary: "",
            parameters: Vec::new(),
            body: None,
            body_required: false,
            answers: Vec::new(),
            refusals: Vec::new(),
            idempotent: false,
            schemas: Vec::new(),
        }
    }

    /// Its name, unique over all interfaces, and what it does in one sentence.
    #[must_use]
    pub fn named(mut self, id: &'static str, summary: &'static str) -> Self {
        (self.id, self.summary) = (id, summary);
        self
    }

    /// It reads these parameters.
    #[must_use]
    pub fn query<Q: FromQuery>(mut self) -> Self {
        self.parameters.extend(Q::parameters());
        self
    }

    /// It reads this body, in its wrapper or flat.
    #[must_use]
    pub fn body<B: FromBody>(mut self) -> Self {
        let flat = B::schema();
        self.body_required = flat["required"].as_array().is_none_or(|names| !names.is_empty());
        self.body = Some(match B::WRAPPER {
            None => flat,
            Some(name) => {
                let wrapped = json!({
                    "type": "object", "properties": {name: flat.clone()}, "required": [name],
                    "additionalProperties": false,
                });
                json!({"anyOf": [wrapped, flat]})
            }
        });
        self
    }

    /// A repeated request with the same `Idempotency-Key` counts once.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// It answers with this under `data`.
    #[must_use]
    pub fn answers<T: ToSchema>(mut self, status: u16) -> Self {
        let data = self.register::<T>();
        self.answer(status, Some(envelope(&data, &[])))
    }

    /// It answers with this at the top level, without an envelope.
    #[must_use]
    pub fn answers_bare<T: ToSchema>(mut self, status: u16) -> Self {
        let schema = self.register::<T>();
        self.answer(status, Some(schema))
    }

    /// It answers with a record at the top level and once more under `data`.
    #[must_use]
    pub fn answers_twice<T: ToSchema>(mut self, status: u16) -> Self {
        let data = self.register::<T>();
        let schema = json!({"allOf": [data.clone(), envelope(&data, &[])]});
        self.answer(status, Some(schema))
    }

    /// It answers with rows of this under `data`, and with metadata.
    #[must_use]
    pub fn lists<T: ToSchema, M: ToSchema>(mut self) -> Self {
        let (row, metadata) = (self.register::<T>(), self.register::<M>());
        let rows = json!({"type": "array", "items": row});
        self.answer(200, Some(envelope(&rows, &[("metadata", metadata)])))
    }

    /// It answers with this under `data`, and with metadata.
    #[must_use]
    pub fn describes<T: ToSchema, M: ToSchema>(mut self) -> Self {
        let (data, metadata) = (self.register::<T>(), self.register::<M>());
        self.answer(200, Some(envelope(&data, &[("metadata", metadata)])))
    }

    /// The same, with the metadata under both its names.
    #[must_use]
    pub fn lists_with_meta<T: ToSchema, M: ToSchema>(mut self) -> Self {
        let (row, metadata) = (self.register::<T>(), self.register::<M>());
        let rows = json!({"type": "array", "items": row});
        self.answer(200, Some(envelope(&rows, &[("meta", metadata.clone()), ("metadata", metadata)])))
    }

    /// It answers with rows of this under `data`, and with nothing else.
    #[must_use]
    pub fn lists_all<T: ToSchema>(mut self) -> Self {
        let rows = json!({"type": "array", "items": self.register::<T>()});
        self.answer(200, Some(envelope(&rows, &[])))
    }

    /// It may answer with 204 and no body.
    #[must_use]
    pub fn answers_nothing(self) -> Self {
        self.answer(204, None)
    }

    /// It refuses in these ways, beside those that follow from its path, parameters and body.
    #[must_use]
    pub fn refuses(mut self, statuses: &[u16]) -> Self {
        self.refusals.extend(statuses);
        self
    }

    fn answer(mut self, status: u16, schema: Option<Value>) -> Self {
        self.answers.push(Answer { status, schema });
        self
    }

    /// Keeps the schemas of `T` and of all that it is made of; gives the reference to it.
    fn register<T: ToSchema>(&mut self) -> Value {
        let mut found = vec![(T::name().into_owned(), T::schema())];
        T::schemas(&mut found);
        for (name, schema) in found {
            let mut schema = serde_json::to_value(schema).unwrap_or_default();
            relax_flattened(&mut schema);
            self.schemas.push((name, schema));
        }
        json!({"$ref": format!("#/components/schemas/{}", T::name())})
    }
}

/// A flattened part that may be missing is described as if the whole could be null; what is meant is
/// that its members may be missing.
fn relax_flattened(schema: &mut Value) {
    let Some(parts) = schema.get_mut("allOf").and_then(Value::as_array_mut) else { return };
    for part in parts {
        let Some(choices) = part.get_mut("oneOf").and_then(Value::as_array_mut) else { continue };
        let null = json!({"type": "null"});
        if choices.contains(&null) {
            choices.retain(|choice| *choice != null);
            choices.push(json!({"type": "object"}));
            *part = json!({"anyOf": choices});
        }
    }
}

fn envelope(data: &Value, more: &[(&str, Value)]) -> Value {
    let mut schema = json!({"type": "object", "properties": {"data": data}, "required": ["data"]});
    for (name, member) in more {
        schema["properties"][name] = member.clone();
        if let Some(required) = schema["required"].as_array_mut() {
            required.push(json!(name));
        }
    }
    schema
}

/// Mounts `endpoints` in their order; operations of one path must stand side by side. `add`
/// puts a resource on what they are mounted on.
pub fn mount<M>(mut on: M, base: &str, endpoints: Vec<Endpoint>, add: impl Fn(M, Resource) -> M) -> M {
    let mut open: Option<(&'static str, Resource)> = None;
    for Endpoint { path, route, .. } in endpoints {
        open = Some(match open.take() {
            Some((before, resource)) if before == path => (path, resource.route(route)),
            other => {
                if let Some((_, resource)) = other {
                    on = add(on, resource);
                }
                (path, actix_web::web::resource(format!("{base}{path}")).route(route))
            }
        });
    }
    match open {
        Some((_, resource)) => add(on, resource),
        None => on,
    }
}
