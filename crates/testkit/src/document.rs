//! Holds answers against the API's document, as it is kept under `docs/openapi`.
//!
//! Every test that asks over HTTP, the built program or an interface mounted alone, does so through a
//! harness that calls [`check`]; `docs/openapi` itself is held against the code by a test of the server.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::{Value, json};

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../docs/openapi/openapi.json")).expect("the document is JSON")
});
static VALIDATORS: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);

/// Panics unless the document has this status for the operation, and the body is as it says.
///
/// A request that matches no operation must have been refused: as unknown, or before that for its key, or
/// as no upgrade at the path of the socket.
pub fn check(method: &str, path: &str, status: u16, body: &Value) {
    let method = method.to_lowercase();
    let template = template(path).filter(|template| DOCUMENT["paths"][*template].get(&method).is_some());
    let Some(template) = template else {
        let refused = [400, 401, 403, 404, 405, 429].contains(&status);
        assert!(refused, "{method} {path} is not documented, and answers {status}");
        return;
    };
    let answer = &DOCUMENT["paths"][template][&method]["responses"][status.to_string()];
    assert!(answer.is_object(), "{method} {template}: {status} is not documented: {body}");
    if answer.get("content").is_none() {
        assert!(body.is_null(), "{method} {template}: {status} has a body: {body}");
        return;
    }
    let pointer = format!(
        "#/paths/{}/{method}/responses/{status}/content/application~1json/schema",
        template.replace('~', "~0").replace('/', "~1").replace('{', "%7B").replace('}', "%7D"),
    );
    let validator = validator(pointer);
    let faults: Vec<String> =
        validator.iter_errors(body).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
    assert!(faults.is_empty(), "{method} {template}: {status} is not as documented: {faults:#?}\n{body:#}");
}

/// The documented path that `path` is a case of; literal segments go before parameters.
fn template(path: &str) -> Option<&'static str> {
    let path = path.split('?').next().unwrap_or_default();
    let is_case = |template: &str| {
        let (mut wanted, mut given) = (template.split('/'), path.split('/'));
        loop {
            match (wanted.next(), given.next()) {
                (None, None) => return true,
                (Some(wanted), Some(given)) if wanted == given => {}
                (Some(wanted), Some(given)) if wanted.starts_with('{') && !given.is_empty() => {}
                _ => return false,
            }
        }
    };
    let templates = DOCUMENT["paths"].as_object().expect("the document has paths").keys();
    templates
        .map(String::as_str)
        .filter(|template| is_case(template))
        .min_by_key(|it| it.matches('{').count())
}

fn validator(pointer: String) -> Arc<Validator> {
    let mut validators = VALIDATORS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let made = validators.entry(pointer).or_insert_with_key(|pointer| {
        let mut schema = json!({"$ref": pointer, "paths": DOCUMENT["paths"]});
        schema["components"] = DOCUMENT["components"].clone();
        Arc::new(jsonschema::draft202012::new(&schema).expect("the document's schemas are valid"))
    });
    made.clone()
}
