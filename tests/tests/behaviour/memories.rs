//! Memories of agents.

use e2e::cast::Cast;
use e2e::{Api, Server, soon};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{column, refusal};

/// A memory with all that the published form wants.
fn memory(content: &str, scope: &str, subject: Option<&str>) -> Value {
    let mut memory = json!({
        "content": content, "system": "long_term", "type": "semantic", "segment": "user", "thought": "why not",
        "scope": scope, "metadata": {"tags": ["a"], "any": {"thing": 1}},
    });
    if let Some(subject) = subject {
        memory["subject_id"] = json!(subject);
    }
    json!({ "memory": memory })
}

async fn store(agent: &Api, body: Value) -> String {
    agent.post("/memories", body).await.data()["id"].as_str().unwrap().to_owned()
}

async fn listed(who: &Api, query: &str) -> Vec<String> {
    let answer = who.get(&format!("/memories{query}")).await;
    assert_eq!(answer.body["meta"], answer.body["metadata"], "the metadata goes by two names");
    column(answer, "content")
}

#[tokio::test]
async fn case_36_memories_are_the_organizations_and_their_makers() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let shared = store(&cast.a1, memory("of all", "organization", None)).await;
    let private = store(&cast.a1, json!({"content": "mine"})).await;
    assert_eq!(listed(&cast.a1, "").await, ["mine", "of all"]);
    assert_eq!(listed(&cast.a2, "").await, ["of all"]);
    assert_eq!(listed(&cast.a2, "?memory_scope=me").await, Vec::<String>::new());
    assert_eq!(listed(&cast.a1, "?memory_scope=org&content_query=ALL").await, ["of all"]);
    let path = format!("/memories/{shared}");
    let read = cast.a2.get(&path).await.data();
    for (name, value) in [
        ("content", json!("of all")),
        ("system", json!("long_term")),
        ("type", json!("semantic")),
        ("segment", json!("user")),
        ("scope", json!("organization")),
        ("status", json!("active")),
        ("thought", json!("why not")),
        ("metadata", json!({"tags": ["a"], "any": {"thing": 1}})),
        ("source_agent_id", json!(cast.a1.id)),
    ] {
        assert_eq!(read[name], value, "{name}");
    }
    for step in ["supersede", "archive"] {
        assert_eq!(refusal(&cast.a2.post_nothing(&format!("{path}/{step}")).await), (403, "forbidden"));
        assert_eq!(refusal(&cast.a3.post_nothing(&format!("{path}/{step}")).await), (404, "not_found"));
    }
    assert_eq!(refusal(&cast.a2.delete(&path).await), (403, "forbidden"));
    assert_eq!(refusal(&cast.a3.get(&path).await), (404, "not_found"));
    assert_eq!(refusal(&cast.a2.get(&format!("/memories/{private}")).await), (404, "not_found"));
    assert_eq!(refusal(&cast.u2.get(&path).await), (404, "not_found"));

    // What is wrong with what one wants to remember.
    for (body, pointer) in [
        (json!({"memory": {"content": "x"}}), "/memory/system"),
        (json!({"content": ""}), "/content"),
        (json!({"content": "x", "system": "sensory", "type": "semantic"}), "/type"),
        (json!({"content": "x", "scope": "subject"}), "/subject_id"),
        (json!({"content": "x", "subject": cast.u2.id}), "/subject_id"),
        (json!({"content": "x", "subject": cast.u1.id, "subject_id": cast.a1.id}), "/subject"),
        (json!({"content": "x", "scope": "everybody"}), "/scope"),
    ] {
        let answer = cast.a1.post("/memories", body.clone()).await;
        assert_eq!(refusal(&answer), (422, "validation_error"), "{body}");
        assert!(answer.body["error"]["details"][pointer].is_array(), "{body} {answer:?}");
    }
}

#[tokio::test]
async fn case_37_deletion_supersedes() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let id = store(&cast.a1, memory("old", "organization", None)).await;
    for _ in 0..2 {
        let deleted = cast.a1.delete(&format!("/memories/{id}")).await;
        assert_eq!((deleted.status, deleted.data()["status"].clone()), (200, json!("superseded")));
    }
    assert_eq!(listed(&cast.a1, "").await, Vec::<String>::new());
    assert_eq!(listed(&cast.a1, "?status=all").await, ["old"]);
    assert_eq!(listed(&cast.a1, "?status=superseded").await, ["old"]);
    let archived = cast.a1.post_nothing(&format!("/memories/{id}/archive")).await;
    assert_eq!(refusal(&archived), (422, "validation_error"), "for good");
}

#[tokio::test]
async fn case_38_what_humans_see_and_restore() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let about = store(&cast.a1, memory("about ann", "subject", Some(&cast.u1.id))).await;
    store(&cast.a1, memory("of all", "organization", None)).await;
    store(&cast.a2, json!({"content": "of the sibling", "subject": cast.a2.id})).await;
    store(&cast.a2, json!({"content": "kept to itself"})).await;
    for (query, expected) in [
        ("", vec!["kept to itself", "of the sibling", "of all", "about ann"]),
        ("?scope=all", vec!["kept to itself", "of the sibling", "of all", "about ann"]),
        ("?scope=about_me", vec!["about ann"]),
        ("?scope=organization", vec!["of all"]),
        ("?scope=room", vec!["of the sibling", "of all", "about ann"]),
        ("?content_query=SIBLING", vec!["of the sibling"]),
    ] {
        assert_eq!(listed(&cast.u1, query).await, expected, "{query}");
    }
    assert_eq!(listed(&cast.u1, &format!("?chat_room_id={}", cast.r1)).await.len(), 4);
    assert_eq!(
        refusal(&cast.u1.get(&format!("/memories?chat_room_id={}", cast.r2)).await),
        (404, "not_found")
    );
    assert_eq!(listed(&cast.u2, "").await, Vec::<String>::new());
    let path = format!("/memories/{about}");
    let read = cast.u1.get(&path).await.data();
    assert_eq!((&read["subject_name"], &read["subject_type"]), (&json!("ann"), &json!("user")));
    assert_eq!(read["source_agent_name"], json!("One"));
    assert_eq!(refusal(&cast.u1.post_nothing(&format!("{path}/restore")).await), (422, "validation_error"));
    assert_eq!(cast.u1.post_nothing(&format!("{path}/archive")).await.data()["status"], "archived");
    assert_eq!(listed(&cast.u1, "?scope=about_me").await, Vec::<String>::new());
    assert_eq!(cast.u1.post_nothing(&format!("{path}/restore")).await.data()["status"], "active");
    assert_eq!(refusal(&cast.u2.delete(&path).await), (404, "not_found"));
    let deleted = cast.u1.delete(&path).await;
    assert_eq!((deleted.status, deleted.body), (204, Value::Null));
    for who in [&cast.u1, &cast.a1] {
        assert_eq!(refusal(&who.get(&path).await), (404, "not_found"));
    }
}

#[tokio::test]
async fn case_39_a_plan_may_forbid_memories() {
    let place = TempDir::new().unwrap();
    let file = place.path().join("plans.toml");
    std::fs::write(&file, "[plans.forgetful]\nmemories = false\n").unwrap();
    let server = Server::start_with(&[("PARLANCE_CONFIG", file.to_str().unwrap())]).await;
    let cast = Cast::on(&server).await;
    let id = store(&cast.a1, json!({"content": "before"})).await;
    let set = server.command().args(["plan", "set", "forgetful", "--user", "ann"]).output().unwrap();
    assert!(set.status.success());
    for who in [&cast.a1, &cast.u1] {
        assert!(soon(async || who.get("/memories").await.status == 403).await);
    }
    for path in ["/memories", "/memories?status=all", &format!("/memories/{id}"), "/memories/odd"] {
        assert_eq!(refusal(&cast.a1.get(path).await), (403, "forbidden"), "{path}");
        assert_eq!(refusal(&cast.u1.get(path).await), (403, "forbidden"), "{path}");
    }
    assert_eq!(refusal(&cast.a1.post("/memories", json!({"content": "x"})).await), (403, "forbidden"));
    assert_eq!(refusal(&cast.u1.delete(&format!("/memories/{id}")).await), (403, "forbidden"));
    assert_eq!(
        refusal(&cast.a1.post_nothing(&format!("/memories/{id}/supersede")).await),
        (403, "forbidden")
    );
    assert_eq!(cast.a1.get("/me").await.status, 200);
    assert_eq!(cast.a3.get("/memories").await.status, 200, "another organization has its own plan");
}
