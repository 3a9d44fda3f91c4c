//! A handler, with its route and its documentation.

use actix_web::http::Method;
use actix_web::{FromRequest, Handler, Resource, Responder, Route};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::query::{self, FromQuery};
use crate::strict_json::{self, FromBody};

/// A parameter of a query string.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) schema: Value,
    pub(crate) description: &'static str,
}

/// A response other than a refusal.
#[derive(Clone, Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    /// `None` without a body.
    pub(super) schema: Option<Value>,
    /// The media types of the body.
    pub(super) media_types: &'static [&'static str],
}

/// A header of a request.
#[derive(Clone, Debug)]
pub(super) struct RequestHeader {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) is_required: bool,
}

/// An operation: its route and its documentation.
pub struct Endpoint {
    pub(super) method: Method,
    /// The path below the base of its interface, with ids in braces.
    pub(super) path: &'static str,
    route: Route,
    /// The same without a body, for `HEAD`.
    head: Option<Route>,
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Value>,
    /// Set if the body must not be empty.
    pub(super) body_required: bool,
    /// Set if the body is the bytes of a file, of any media type.
    pub(super) has_raw_body: bool,
    pub(super) headers: Vec<RequestHeader>,
    pub(super) answers: Vec<Response>,
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
    /// The path below the base of its interface, with ids in braces.
    pub const fn path(&self) -> &'static str {
        self.path
    }

    fn new(method: Method, path: &'static str, route: Route) -> Self {
        Self {
            method,
            path,
            route,
            head: None,
            id: "",
            summary: "",
            parameters: Vec::new(),
            body: None,
            body_required: false,
            has_raw_body: false,
            headers: Vec::new(),
            answers: Vec::new(),
            refusals: Vec::new(),
            idempotent: false,
            schemas: Vec::new(),
        }
    }

    /// Sets its id, unique over all interfaces, and its summary.
    #[must_use]
    pub fn named(mut self, id: &'static str, summary: &'static str) -> Self {
        (self.id, self.summary) = (id, summary);
        self
    }

    /// Adds the query parameters.
    #[must_use]
    pub fn query<Q: FromQuery>(mut self) -> Self {
        self.parameters.extend(query::parameters::<Q>());
        self
    }

    /// Adds the body, in its wrapper or flat.
    #[must_use]
    pub fn body<B: FromBody>(mut self) -> Self {
        let flat = strict_json::schema::<B>();
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

    /// Makes the body the bytes of a file, of any media type.
    #[must_use]
    pub fn raw_body(self) -> Self {
        Self { has_raw_body: true, body_required: true, ..self }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &'static str, description: &'static str, is_required: bool) -> Self {
        self.headers.push(RequestHeader { name, description, is_required });
        self
    }

    /// Serves `HEAD` too, by the same handler, which must send no body then.
    #[must_use]
    pub fn with_head<F, Args>(self, handler: F) -> Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        Self { head: Some(Route::new().method(Method::HEAD).to(handler)), ..self }
    }

    /// Marks it as accepting an `Idempotency-Key`.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// Adds a response with this under `data`.
    #[must_use]
    pub fn answers<T: ToSchema>(mut self, status: u16) -> Self {
        let data = self.register::<T>();
        self.answer(status, Some(envelope(&data, &[])))
    }

    /// Adds a response with this at the top level, without an envelope.
    #[must_use]
    pub fn answers_bare<T: ToSchema>(mut self, status: u16) -> Self {
        let schema = self.register::<T>();
        self.answer(status, Some(schema))
    }

    /// Adds a response with a record at the top level and once more under `data`.
    #[must_use]
    pub fn answers_bare_and_wrapped<T: ToSchema>(mut self, status: u16) -> Self {
        let data = self.register::<T>();
        let schema = json!({"allOf": [data.clone(), envelope(&data, &[])]});
        self.answer(status, Some(schema))
    }

    /// Adds a response with rows of this under `data`, and with metadata.
    #[must_use]
    pub fn lists<T: ToSchema, M: ToSchema>(mut self) -> Self {
        let (row, metadata) = (self.register::<T>(), self.register::<M>());
        let rows = json!({"type": "array", "items": row});
        self.answer(200, Some(envelope(&rows, &[("metadata", metadata)])))
    }

    /// Adds a response with this under `data`, and with metadata.
    #[must_use]
    pub fn describes<T: ToSchema, M: ToSchema>(mut self) -> Self {
        let (data, metadata) = (self.register::<T>(), self.register::<M>());
        self.answer(200, Some(envelope(&data, &[("metadata", metadata)])))
    }

    /// Adds a response with rows of this, and with the metadata under both its names.
    #[must_use]
    pub fn lists_with_meta<T: ToSchema, M: ToSchema>(mut self) -> Self {
        let (row, metadata) = (self.register::<T>(), self.register::<M>());
        let rows = json!({"type": "array", "items": row});
        self.answer(200, Some(envelope(&rows, &[("meta", metadata.clone()), ("metadata", metadata)])))
    }

    /// Adds a response with rows of this under `data`, and nothing else.
    #[must_use]
    pub fn lists_all<T: ToSchema>(mut self) -> Self {
        let rows = json!({"type": "array", "items": self.register::<T>()});
        self.answer(200, Some(envelope(&rows, &[])))
    }

    /// Adds a response with the bytes of a file.
    #[must_use]
    pub fn answers_bytes(self, status: u16) -> Self {
        self.answers_bytes_of(status, &["application/octet-stream"])
    }

    /// Adds a response with the bytes of a file of one of these types.
    #[must_use]
    pub fn answers_bytes_of(mut self, status: u16, media_types: &'static [&'static str]) -> Self {
        let schema = Some(json!({"type": "string", "format": "binary"}));
        self.answers.push(Response { status, schema, media_types });
        self
    }

    /// Adds a response with a JSON string.
    #[must_use]
    pub fn answers_text(self, status: u16) -> Self {
        self.answer(status, Some(json!({"type": "string"})))
    }

    /// Adds a response with 204 and no body.
    #[must_use]
    pub fn answers_nothing(self) -> Self {
        self.answer(204, None)
    }

    /// Adds refusals, besides those that follow from its path, parameters, and body.
    #[must_use]
    pub fn refuses(mut self, statuses: &[u16]) -> Self {
        self.refusals.extend(statuses);
        self
    }

    fn answer(mut self, status: u16, schema: Option<Value>) -> Self {
        self.answers.push(Response { status, schema, media_types: &["application/json"] });
        self
    }

    /// Registers the schemas of `T` and of its parts; returns the reference.
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

/// The schema of an optional flattened part says that the whole can be null; the intended meaning
/// is that its members can be missing.
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

/// Mounts `endpoints` in order; operations of one path must be adjacent. `add` adds a resource to
/// the mount point.
pub fn mount<M>(mut on: M, base: &str, endpoints: Vec<Endpoint>, add: impl Fn(M, Resource) -> M) -> M {
    let mut open: Option<(&'static str, Resource)> = None;
    for Endpoint { path, route, head, .. } in endpoints {
        let resource = match open.take() {
            Some((before, resource)) if before == path => resource.route(route),
            other => {
                if let Some((_, resource)) = other {
                    on = add(on, resource);
                }
                actix_web::web::resource(format!("{base}{path}")).route(route)
            }
        };
        open = Some((path, head.into_iter().fold(resource, Resource::route)));
    }
    match open {
        Some((_, resource)) => add(on, resource),
        None => on,
    }
}
