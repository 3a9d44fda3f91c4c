//! Bad input, operation by operation.
//!
//! [`operations`] holds every operation with a well-formed request. Each is then called, as far as
//! it takes them, with no key, a wrong one, the other kind of key, another tenant's ids, malformed
//! ids, an unknown property, a wrong type, an over-long value, and an unknown query parameter. Each
//! answer has the expected status and code; [`e2e::Api`] checks that it is as the API's document
//! says. A last test shows that the refused requests changed nothing.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod login;
mod operations;
mod scene;
mod work;

use std::collections::{BTreeMap, BTreeSet};

use e2e::Answer;
use reqwest::Method;
use serde_json::{Value, json};

use operations::{Callers, Operation, operations};
use scene::Scene;

/// Longer than any text may be.
const TOO_LONG: usize = 600_000;

/// Calls `operation` on the paths of `ids` with `key` and `body`.
async fn call(
    scene: &Scene,
    operation: &Operation,
    key: &str,
    ids: &[(&str, String)],
    body: &Value,
) -> Answer {
    let path = ids.iter().fold(operation.path.clone(), |path, (name, id)| path.replace(name, id));
    assert!(!path.contains('{'), "{}: no id for {path}", operation.name());
    let body = if body.is_null() { None } else { Some(body.clone()) };
    scene.root.with_key(key).call(operation.method.clone(), &path, body).await
}

fn own_key<'s>(scene: &'s Scene, operation: &Operation) -> &'s str {
    match operation.callers {
        Callers::Agents => &scene.agent.key,
        Callers::Operators => &scene.operator.key,
        Callers::Users | Callers::Anybody | Callers::UsersOnGenericPath => &scene.user.key,
        Callers::Public => "",
    }
}

/// The status, code, and pointers of an error response.
fn reported(answer: &Answer) -> (u16, String, Vec<String>) {
    let code = answer.code().to_owned();
    let details = answer.body["error"]["details"].as_object();
    (answer.status, code, details.map(|map| map.keys().cloned().collect()).unwrap_or_default())
}

fn refused(status: u16, code: &str, pointers: &[&str]) -> (u16, String, Vec<String>) {
    (status, code.to_owned(), pointers.iter().map(|pointer| (*pointer).to_owned()).collect())
}

#[tokio::test]
async fn who_may_not_call_is_told_so_and_nothing_else() {
    let scene = Scene::new().await;
    for operation in operations().into_iter().filter(|operation| operation.callers != Callers::Public) {
        let (ids, name) = (scene.own_ids(operation.callers), operation.name());
        for key in ["", "thnv_u_unknown", "thnv_a_1700000000_unknown", &"k".repeat(600)] {
            let answer = call(&scene, &operation, key, &ids, &operation.body).await;
            assert_eq!(reported(&answer), refused(401, "unauthorized", &[]), "{name}");
        }
        let other = match operation.callers {
            Callers::Agents | Callers::Operators => &scene.user.key,
            Callers::Users | Callers::UsersOnGenericPath => &scene.agent.key,
            Callers::Anybody | Callers::Public => continue,
        };
        let answer = call(&scene, &operation, other, &ids, &operation.body).await;
        assert_eq!(reported(&answer), refused(403, "forbidden", &[]), "{name}");
    }
}

#[tokio::test]
async fn ids_of_another_tenant_and_malformed_ones_name_nothing() {
    let scene = Scene::new().await;
    for operation in operations().into_iter().filter(Operation::has_ids) {
        let (key, name) = (own_key(&scene, &operation), operation.name());
        if operation.callers != Callers::Operators {
            let ids = scene.foreign_ids(operation.callers);
            let answer = call(&scene, &operation, key, &ids, &operation.body).await;
            let (status, code) = operation.foreign;
            assert_eq!(reported(&answer), refused(status, code, &[]), "{name}");
        }
        for odd in ["odd", "0", "0190c5a40000700080000000000000a1", "%00", "%FF", "..%2F..", &"9".repeat(300)]
        {
            let ids = scene
                .own_ids(operation.callers)
                .into_iter()
                .map(|(name, _)| (name, odd.to_owned()))
                .collect::<Vec<_>>();
            let answer = call(&scene, &operation, key, &ids, &operation.body).await;
            assert_eq!(reported(&answer), refused(404, "not_found", &[]), "{name} {odd}");
        }
        let unknown = "0190c5a4-0000-7000-8000-0000000000a1".to_owned();
        let ids = scene
            .own_ids(operation.callers)
            .into_iter()
            .map(|(name, _)| (name, unknown.clone()))
            .collect::<Vec<_>>();
        let answer = call(&scene, &operation, key, &ids, &operation.body).await;
        assert_eq!(reported(&answer), refused(404, "not_found", &[]), "{name}");
    }
}

#[tokio::test]
async fn what_nobody_knows_is_refused() {
    let scene = Scene::new().await;
    for operation in operations() {
        let (key, ids, name) =
            (own_key(&scene, &operation), scene.own_ids(operation.callers), operation.name());
        let mut asked = operation.clone();
        asked.path.push_str("?color=red");
        let answer = call(&scene, &asked, key, &ids, &operation.body).await;
        if operation.callers == Callers::Public && !operation.takes_a_body() {
            // Health checks and versions ignore what a load balancer adds.
            assert_eq!(answer.status, 200, "{name}");
            continue;
        }
        assert_eq!(reported(&answer), refused(422, "validation_error", &["/color"]), "{name}");
        if !operation.takes_a_body() {
            continue;
        }
        for place in objects(&operation.body) {
            let mut body = operation.body.clone();
            body.pointer_mut(&place).unwrap()["nobody_knows"] = json!(1);
            let answer = call(&scene, &operation, key, &ids, &body).await;
            let pointer = format!("{place}/nobody_knows");
            assert_eq!(reported(&answer), refused(400, "bad_request", &[&pointer]), "{name} {body}");
        }
    }
}

/// A DELETE has no body; what is sent as one is not looked at.
#[tokio::test]
async fn deletions_have_no_body() {
    let scene = Scene::new().await;
    let unknown = |name: &'static str| (name, "0190c5a4-0000-7000-8000-0000000000a1".to_owned());
    let is_meant = |operation: &&Operation| operation.method == Method::DELETE && operation.has_ids();
    for operation in operations().iter().filter(is_meant) {
        let ids = scene.own_ids(operation.callers).into_iter().map(|(name, _)| unknown(name));
        let body = json!({"nobody_knows": 1});
        let key = own_key(&scene, operation);
        let answer = call(&scene, operation, key, &ids.collect::<Vec<_>>(), &body).await;
        assert_eq!(reported(&answer), refused(404, "not_found", &[]), "{}", operation.name());
    }
}

/// The table has every operation of the document, and says of the same ones that they need no credential.
#[test]
fn every_operation_of_the_document_is_here() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/openapi/openapi.json");
    let document = serde_json::from_str::<Value>(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut documented = BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in ["get", "put", "post", "patch", "delete"] {
            if let Some(described) = item.get(method) {
                let is_public = described["security"] == json!([]);
                documented.insert(format!("{} {path}", method.to_uppercase()), is_public);
            }
        }
    }
    let here = operations().into_iter().map(|one| (one.name(), one.callers == Callers::Public));
    let here = here.collect::<BTreeMap<_, _>>();
    let missing = documented.iter().filter(|one| !here.contains_key(one.0)).collect::<Vec<_>>();
    let wrong = here.iter().filter(|one| documented.get(one.0) != Some(one.1)).collect::<Vec<_>>();
    assert!(
        missing.is_empty() && wrong.is_empty(),
        "missing: {missing:?}; unknown, or public in one of the two only: {wrong:?}"
    );
}

#[tokio::test]
async fn values_of_the_wrong_kind_are_named() {
    let scene = Scene::new().await;
    let mut used = BTreeSet::new();
    for operation in operations().iter().filter(|operation| operation.takes_a_body()) {
        let (key, ids, name) =
            (own_key(&scene, operation), scene.own_ids(operation.callers), operation.name());
        for pointer in leaves(&operation.body) {
            let wrong_kind = match operation.body.pointer(&pointer).unwrap() {
                Value::String(_) => json!(7),
                _ => json!("seven"),
            };
            let mut wrong = vec![wrong_kind, json!({"x": 1})];
            if operation.body.pointer(&pointer).unwrap().is_string() {
                wrong.push(json!("x".repeat(TOO_LONG)));
            }
            for value in wrong {
                let mut body = operation.body.clone();
                *body.pointer_mut(&pointer).unwrap() = value.clone();
                let answer = call(&scene, operation, key, &ids, &body).await;
                let (status, _, pointers) = reported(&answer);
                let exception = operation.exception_at(&pointer, &value);
                used.extend(exception.map(|exception| (operation.exceptions, exception)));
                let expected = exception.map_or(422, |(_, _, status)| *status);
                let what =
                    format!("{name} {pointer} {}", value.to_string().chars().take(40).collect::<String>());
                assert_eq!(status, expected, "{what}: {answer:?}");
                if status == 422 {
                    assert!(
                        pointers.iter().any(|reported| pointer.starts_with(reported)),
                        "{what}: {pointers:?}"
                    );
                }
            }
        }
    }
    for operation in operations().iter().filter(|operation| operation.takes_a_body()) {
        let (key, ids, name) =
            (own_key(&scene, operation), scene.own_ids(operation.callers), operation.name());
        for whole in [json!([]), json!("text"), json!(7)] {
            let answer = call(&scene, operation, key, &ids, &whole).await;
            assert_eq!(reported(&answer), refused(422, "validation_error", &[""]), "{name} {whole}");
        }
    }
    let all = operations().into_iter().map(|operation| operation.exceptions);
    let all = all.flat_map(|list| list.iter().map(move |exception| (list, exception)));
    let unused = all.filter(|exception| !used.contains(exception)).collect::<BTreeSet<_>>();
    assert!(unused.is_empty(), "exceptions that no answer needs: {unused:?}");
}

/// Objects whose members others decide: what a client keeps with an event, and what a browser makes of a device's answer.
const FREE: [&str; 2] = ["metadata", "credential"];

/// The objects of a body that have a fixed set of members.
fn objects(body: &Value) -> Vec<String> {
    let mut found = vec![String::new()];
    walk(body, String::new(), &mut |pointer, value| {
        let free = pointer.split('/').any(|part| FREE.contains(&part));
        if value.is_object() && !free && !pointer.is_empty() {
            found.push(pointer.to_owned());
        }
    });
    found
}

/// Everything in a body that is no object.
fn leaves(body: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(body, String::new(), &mut |pointer, value| {
        let free = FREE.iter().any(|name| pointer.contains(&format!("/{name}/")));
        if !value.is_object() && !free && !pointer.is_empty() {
            found.push(pointer.to_owned());
        }
    });
    found
}

fn walk(value: &Value, pointer: String, visit: &mut impl FnMut(&str, &Value)) {
    visit(&pointer, value);
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                walk(member, format!("{pointer}/{name}"), visit);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(item, format!("{pointer}/{index}"), visit);
            }
        }
        _ => {}
    }
}

/// Whatever was refused above left nothing behind.
#[tokio::test]
async fn refusals_change_nothing() {
    let scene = Scene::new().await;
    let before = scene.everything().await;
    for operation in operations() {
        let ids = scene.own_ids(operation.callers);
        call(&scene, &operation, "thnv_u_unknown", &ids, &operation.body).await;
        let mut body = operation.body.clone();
        if body.is_object() {
            body["nobody_knows"] = json!(1);
            call(&scene, &operation, own_key(&scene, &operation), &ids, &body).await;
        }
        let foreign = scene.foreign_ids(operation.callers);
        if operation.has_ids() && operation.callers != Callers::Operators {
            call(&scene, &operation, own_key(&scene, &operation), &foreign, &operation.body).await;
        }
    }
    assert_eq!(scene.everything().await, before);
}
