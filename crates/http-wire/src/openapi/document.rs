//! The whole document.

use serde_json::{Map, Value, json};

use super::endpoint::Endpoint;

/// The callers of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AllowedCallers {
    /// Humans: a key or a token.
    Users,
    /// Agents: a key.
    Agents,
    /// Both, including a bare key in `Authorization`.
    Any,
    /// No credential is needed.
    Public,
}

/// Operations under one base path.
pub struct Interface {
    /// The base path from the root.
    pub base: &'static str,
    /// The heading of its operations.
    pub tag: &'static str,
    /// The prefix of every operation's id, if the same ones are mounted twice.
    pub prefix: &'static str,
    /// The callers.
    pub callers: AllowedCallers,
    /// The operations.
    pub endpoints: Vec<Endpoint>,
}

/// The document of a server that mounts `interfaces`.
pub fn document(title: &str, version: &str, description: &str, interfaces: Vec<Interface>) -> Value {
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    schemas.insert("Error".to_owned(), error_schema());
    let mut tags = Vec::new();
    for interface in &interfaces {
        if !tags.contains(&json!({"name": interface.tag})) {
            tags.push(json!({"name": interface.tag}));
        }
        for endpoint in &interface.endpoints {
            let path = format!("{}{}", interface.base, endpoint.path);
            let item = paths.entry(path).or_insert_with(|| json!({}));
            item[endpoint.method.as_str().to_ascii_lowercase()] = operation(interface, endpoint);
            for (name, schema) in &endpoint.schemas {
                schemas.insert(name.clone(), schema.clone());
            }
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": title, "version": version, "description": description,
            "license": {"name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT"},
        },
        "tags": tags,
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": security_schemes()},
    })
}

fn operation(interface: &Interface, endpoint: &Endpoint) -> Value {
    let mut operation = json!({
        "operationId": format!("{}{}", interface.prefix, endpoint.id),
        "summary": endpoint.summary,
        "tags": [interface.tag],
        "responses": responses(interface, endpoint),
        "security": security(interface.callers),
    });
    let parameters = parameters(endpoint);
    if !parameters.is_empty() {
        operation["parameters"] = Value::Array(parameters);
    }
    if endpoint.has_raw_body {
        let schema = json!({"type": "string", "format": "binary"});
        operation["requestBody"] =
            json!({"required": true, "content": {"application/octet-stream": {"schema": schema}}});
    }
    if let Some(body) = &endpoint.body {
        operation["requestBody"] =
            json!({"required": endpoint.body_required, "content": {"application/json": {"schema": body}}});
    }
    operation
}

fn parameters(endpoint: &Endpoint) -> Vec<Value> {
    let ids = endpoint.path.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    let mut parameters = ids
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": named(name)}))
        .collect::<Vec<_>>();
    for parameter in &endpoint.parameters {
        let mut described = json!({
            "name": parameter.name, "in": "query", "required": false, "schema": parameter.schema,
            "description": parameter.description,
        });
        if parameter.schema["type"] == "array" {
            (described["style"], described["explode"]) = (json!("form"), json!(false));
        }
        parameters.push(described);
    }
    for header in &endpoint.headers {
        parameters.push(json!({
            "name": header.name, "in": "header", "required": header.is_required, "schema": {"type": "string"},
            "description": header.description,
        }));
    }
    if endpoint.idempotent {
        let schema = json!({"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"});
        let description = "Requests with the same key, caller, and path take effect once within a day.";
        parameters.push(json!({
            "name": "Idempotency-Key", "in": "header", "required": false, "schema": schema,
            "description": description,
        }));
    }
    parameters
}

/// The values of a part of a path.
fn named(name: &str) -> Value {
    let id = super::schema::uuid().value();
    if name == "task_id" {
        let number = json!({"type": "string", "pattern": "^[1-9][0-9]{0,9}$"});
        return json!({"anyOf": [id, number], "description": "The id of the task, or its number in the room."});
    }
    if name == "attention_id" {
        return json!({"type": "string", "description": "The id of the item, from the list."});
    }
    id
}

fn responses(interface: &Interface, endpoint: &Endpoint) -> Value {
    let mut responses = Map::new();
    for answer in &endpoint.answers {
        let described = match &answer.schema {
            None => json!({"description": "No content."}),
            Some(schema) => {
                let content = answer
                    .media_types
                    .iter()
                    .map(|media_type| ((*media_type).to_owned(), json!({"schema": schema})));
                json!({
                    "description": if answer.status == 201 { "Created." } else { "Successful response." },
                    "content": content.collect::<Map<_, _>>(),
                })
            }
        };
        responses.insert(answer.status.to_string(), described);
    }
    let mut refusals = vec![429, 500, 503];
    if interface.callers != AllowedCallers::Public {
        refusals.extend([401, 403]);
    }
    if endpoint.path.contains('{') {
        refusals.push(404);
    }
    // Every request can be malformed, for example with an unknown parameter.
    refusals.push(422);
    if endpoint.body.is_some() || endpoint.method == actix_web::http::Method::POST {
        refusals.extend([400, 408, 413, 415]);
    }
    refusals.extend(&endpoint.refusals);
    for status in refusals {
        let described = json!({
            "description": refusal(status),
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
        });
        responses.entry(status.to_string()).or_insert(described);
    }
    Value::Object(responses)
}

/// The description of a refusal with this status.
fn refusal(status: u16) -> &'static str {
    match status {
        400 => "The body is not valid JSON, or has an unknown property.",
        401 => "Missing or invalid credential.",
        403 => "The caller is not allowed to do this.",
        404 => "Not found, or not visible to the caller.",
        408 => "The body did not arrive in time.",
        409 => "Conflict with existing data.",
        413 => "The body is too large.",
        415 => "The body is not JSON.",
        422 => "Invalid value. `details` names each one.",
        429 => "Too many requests. Try again after the number of seconds in `Retry-After`.",
        500 => "Internal error. The server log has the cause under the request ID.",
        _ => "Temporarily unavailable. Try again later.",
    }
}

fn error_schema() -> Value {
    json!({
        "type": "object",
        "description": "Error response, the same for all failures.",
        "required": ["error"],
        "additionalProperties": false,
        "properties": {"error": {
            "type": "object",
            "required": ["code", "message", "request_id"],
            "additionalProperties": false,
            "properties": {
                "code": {"type": "string", "description": "Error code. Compare this in clients."},
                "message": {"type": "string", "description": "What happened and what to do next, for people to read."},
                "request_id": {"type": "string", "description": "ID of the request in the log."},
                "details": {
                    "type": "object",
                    "description": "Problems by JSON pointer, or other data about the error.",
                },
            },
        }},
    })
}

fn security(callers: AllowedCallers) -> Value {
    match callers {
        AllowedCallers::Users => json!([{"apiKey": []}, {"token": []}]),
        AllowedCallers::Agents => json!([{"apiKey": []}]),
        AllowedCallers::Any => json!([{"bareKey": []}, {"apiKey": []}, {"token": []}]),
        AllowedCallers::Public => json!([]),
    }
}

fn security_schemes() -> Value {
    json!({
        "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        "token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
        "bareKey": {"type": "apiKey", "in": "header", "name": "Authorization"},
    })
}
