//! What is refused.

use e2e::{Api, Server};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::client::{BINDINGS, Binding, Client, listed, message, next, refusal, text};

/// Errors of the protocol, over both bindings.
#[tokio::test]
async fn errors_are_those_of_the_protocol() {
    let server = Server::start().await;
    let cast = listed(&server).await;
    for binding in BINDINGS {
        let client = Client::new(&server, &cast.u1, &cast.a1, binding);
        let parts = |parts: Value| json!({"message": message("m1", parts)});
        let with = |name: &str, value: Value| {
            let mut params = text("m1", "x");
            params["message"][name] = value;
            params
        };
        let unknown = "0190c5a4-0000-7000-8000-000000000001.0190c5a4-0000-7000-8000-000000000002";
        let pushed = json!({"url": "https://127.0.0.1/"});
        let mut push = text("m1", "x");
        push["configuration"]["taskPushNotificationConfig"] = pushed;
        for (method, params, code, status, reason) in [
            (
                "SendMessage",
                parts(json!([{"url": "https://example.org/x"}])),
                -32005,
                400,
                "CONTENT_TYPE_NOT_SUPPORTED",
            ),
            ("SendMessage", parts(json!([{"raw": "aGk="}])), -32005, 400, "CONTENT_TYPE_NOT_SUPPORTED"),
            ("SendMessage", parts(json!([])), -32602, 400, "INVALID_PARAMS"),
            ("SendMessage", parts(json!([{"text": " "}])), -32602, 400, "INVALID_PARAMS"),
            ("SendMessage", parts(json!([{}])), -32602, 400, "INVALID_PARAMS"),
            ("SendMessage", json!({}), -32602, 400, "INVALID_PARAMS"),
            ("SendMessage", with("messageId", json!("")), -32602, 400, "INVALID_PARAMS"),
            ("SendMessage", with("messageId", json!("x".repeat(256))), -32602, 400, "INVALID_PARAMS"),
            ("SendMessage", with("role", json!("ROLE_AGENT")), -32602, 400, "INVALID_PARAMS"),
            ("SendMessage", with("contextId", json!("x")), -32001, 404, "TASK_NOT_FOUND"),
            ("SendMessage", with("contextId", json!(cast.r2)), -32001, 404, "TASK_NOT_FOUND"),
            ("SendMessage", with("taskId", json!("x")), -32001, 404, "TASK_NOT_FOUND"),
            ("SendMessage", with("taskId", json!(unknown)), -32001, 404, "TASK_NOT_FOUND"),
            ("SendMessage", push, -32602, 400, "INVALID_PARAMS"),
            ("GetTask", json!({"id": unknown}), -32001, 404, "TASK_NOT_FOUND"),
            ("GetTask", json!({"id": "x", "historyLength": -1}), -32602, 400, "INVALID_PARAMS"),
            ("CancelTask", json!({"id": unknown}), -32001, 404, "TASK_NOT_FOUND"),
            ("SubscribeToTask", json!({"id": unknown}), -32001, 404, "TASK_NOT_FOUND"),
            ("ListTasks", json!({"pageSize": 0}), -32602, 400, "INVALID_PARAMS"),
            ("ListTasks", json!({"pageToken": "x"}), -32602, 400, "INVALID_PARAMS"),
            ("ListTasks", json!({"status": "FLYING"}), -32602, 400, "INVALID_PARAMS"),
            ("ListTasks", json!({"contextId": cast.r2}), -32001, 404, "TASK_NOT_FOUND"),
        ] {
            let code = if binding == Binding::Rpc { code } else { status };
            let found = client.refused(method, params.clone()).await;
            assert_eq!(found, (code, reason.to_owned()), "{binding:?} {method} {params}");
        }
        let task = client.send(text("m2", "x")).await;
        let mut elsewhere = next("m3", "y", &task);
        elsewhere["message"]["contextId"] = json!(cast.r1);
        assert_eq!(client.refused("SendMessage", elsewhere).await.1, "INVALID_PARAMS");
        let mut absent = text("m4", "z");
        absent["message"]["taskId"] = json!("");
        absent["message"]["contextId"] = json!("");
        absent["tenant"] = json!("");
        absent["unknown"] = json!({"members": "are ignored"});
        assert_eq!(client.send(absent).await["status"]["state"], "TASK_STATE_SUBMITTED");
    }
}

/// Requests that are no requests of the protocol, other versions, and callers who may not call.
#[tokio::test]
async fn what_does_not_fit_is_refused() {
    let server = Server::start_with(&[("PARLANCE_CORS_ORIGINS", "https://app.example.org")]).await;
    let cast = listed(&server).await;
    let client = Client::new(&server, &cast.u1, &cast.a1, Binding::Rpc);
    let json_post = |body: &str| {
        client.at(Method::POST, "").header("content-type", "application/json").body(body.to_owned())
    };
    let code = async |request: RequestBuilder, binding| refusal(request.send().await.unwrap(), binding).await;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks"}"#;
    for (body, expected) in [
        ("{", -32700),
        ("", -32700),
        ("[]", -32600),
        ("{}", -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}"#, -32004),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ListTaskPushNotificationConfigs"}"#, -32602),
    ] {
        assert_eq!(code(json_post(body), Binding::Rpc).await.0, expected, "{body}");
    }
    for (method, path, status, reason) in [
        (Method::GET, "/v1/fly", 404, "METHOD_NOT_FOUND"),
        (Method::DELETE, "/v1/tasks/x", 404, "METHOD_NOT_FOUND"),
        (Method::POST, "/v1/tasks/x:fly", 404, "METHOD_NOT_FOUND"),
        (Method::GET, "/v1/message:send", 404, "METHOD_NOT_FOUND"),
        (Method::GET, "/v1/tasks/x/pushNotificationConfigs", 404, "TASK_NOT_FOUND"),
        (Method::DELETE, "/v1/tasks/x/pushNotificationConfigs", 404, "METHOD_NOT_FOUND"),
        (Method::GET, "/v1/tasks/x/pushNotificationConfigs/y/z", 404, "METHOD_NOT_FOUND"),
        (Method::DELETE, "/v1/tasks/x/pushNotificationConfigs/y", 404, "TASK_NOT_FOUND"),
        (Method::GET, "/v1/extendedAgentCard", 400, "UNSUPPORTED_OPERATION"),
        (Method::POST, "/v1/message:send", 400, "INVALID_REQUEST"),
    ] {
        let found = code(client.at(method.clone(), path), Binding::Http).await;
        assert_eq!(found, (status, reason.to_owned()), "{method} {path}");
    }
    let bare = |version: Option<&str>| {
        let request = client.http.post(&client.url).header("content-type", "application/json").body(list);
        let request =
            version.into_iter().fold(request, |request, version| request.header("a2a-version", version));
        request.header("x-api-key", &client.key)
    };
    for version in [None, Some("0.3"), Some("2.0"), Some("x")] {
        assert_eq!(code(bare(version), Binding::Rpc).await.0, -32009, "{version:?}");
    }
    for version in ["1.0", "1.1", "1"] {
        assert_eq!(bare(Some(version)).send().await.unwrap().status(), 200, "{version}");
    }

    let status = async |request: RequestBuilder| request.send().await.unwrap().status().as_u16();
    let keyless = |key: &str| {
        let request = client.http.post(&client.url).header("a2a-version", "1.0").header("x-api-key", key);
        request.header("content-type", "application/json").body(list)
    };
    assert_eq!(status(keyless("thnv_u_1_wrong")).await, 401);
    let bearer = client.http.post(&client.url).header("a2a-version", "1.0").bearer_auth(&client.key);
    assert_eq!(status(bearer.header("content-type", "application/json").body(list)).await, 200);
    assert_eq!(status(client.http.get(format!("{}/v1/tasks", client.url))).await, 401);
    let huge = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "x".repeat(4 * 1024 * 1024));
    assert_eq!(status(json_post(&huge)).await, 413);
    assert_eq!(
        status(client.at(Method::POST, "").header("content-type", "text/plain").body(list)).await,
        415
    );
    assert_eq!(status(client.at(Method::GET, "")).await, 405);
    for (origin, expected) in [("https://evil.example.org", 403), ("https://app.example.org", 200)] {
        assert_eq!(status(json_post(list).header("origin", origin)).await, expected, "{origin}");
    }
    let unlisted = Client::new(&server, &cast.u1, &cast.a2, Binding::Rpc);
    assert_eq!(status(unlisted.request("ListTasks", json!({}))).await, 404);
    let unlisted = Client { binding: Binding::Http, ..unlisted };
    assert_eq!(status(unlisted.request("SendMessage", text("m1", "x"))).await, 404);
    let off = Server::start_with(&[("PARLANCE_A2A", "false")]).await;
    let off = Client::with_key(&off, "x", &cast.a1, Binding::Rpc);
    assert_eq!(status(off.request("ListTasks", json!({}))).await, 404);
}

/// Another tenant's tasks look as if they did not exist, and strangers need a contact.
#[tokio::test]
async fn tenants_are_separate() {
    let server = Server::start().await;
    let cast = listed(&server).await;
    let own = Client::new(&server, &cast.u1, &cast.a1, Binding::Http);
    let task = own.send(text("m1", "Mine")).await;
    let stranger = Client::new(&server, &cast.u2, &cast.a1, Binding::Http);
    let not_found = (404, "TASK_NOT_FOUND".to_owned());
    for method in ["GetTask", "CancelTask", "SubscribeToTask"] {
        assert_eq!(stranger.refused(method, json!({"id": task["id"]})).await, not_found, "{method}");
    }
    assert_eq!(stranger.refused("SendMessage", next("m2", "x", &task)).await, not_found);
    let before = cast.u2.get("/chats").await.data();
    let forbidden = (403, "FORBIDDEN".to_owned());
    assert_eq!(stranger.refused("SendMessage", text("m3", "x")).await, forbidden);
    assert_eq!(cast.u2.get("/chats").await.data(), before, "no room was made for it");
    assert_eq!(own.state(&task).await, "TASK_STATE_SUBMITTED");

    for (by, handle) in [(&cast.u2, "ann/one"), (&cast.a1, "ben")] {
        let body = json!({"contact_request": {"recipient_handle": handle}});
        assert_eq!(by.post("/contacts/requests", body).await.status, 201);
    }
    let task = stranger.send(text("m3", "x")).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_SUBMITTED", "{task}");
}

/// Keys that are limited to reading, to one room, or to one agent.
#[tokio::test]
async fn the_limits_of_keys_hold() {
    let server = Server::start().await;
    let cast = listed(&server).await;
    let full = Client::new(&server, &cast.u1, &cast.a1, Binding::Http);
    let task = full.send(text("m1", "x")).await;
    let limited = async |limits: Value| key(&cast.u1, limits).await;
    let client =
        async |limits: Value| Client::with_key(&server, &limited(limits).await, &cast.a1, Binding::Http);
    let forbidden = (403, "FORBIDDEN".to_owned());
    let (get, cancel) = (json!({"id": task["id"]}), json!({"id": task["id"]}));
    let here = |id: &str, room: &str| {
        let mut params = text(id, "y");
        params["message"]["contextId"] = json!(room);
        params
    };

    let reader = client(json!({"read_only": true})).await;
    assert_eq!(reader.state(&task).await, "TASK_STATE_SUBMITTED");
    assert_eq!(reader.call("ListTasks", json!({})).await["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(reader.refused("SendMessage", text("m2", "y")).await, forbidden);
    assert_eq!(reader.refused("SendMessage", next("m2", "y", &task)).await, forbidden);
    assert_eq!(reader.refused("CancelTask", cancel).await, forbidden);

    let of_room = client(json!({"chat_id": cast.r1})).await;
    assert_eq!(of_room.refused("GetTask", get.clone()).await, forbidden);
    assert_eq!(of_room.refused("ListTasks", json!({})).await, forbidden);
    assert_eq!(of_room.refused("SendMessage", text("m3", "y")).await, forbidden);
    let own = of_room.send(here("m4", &cast.r1)).await;
    assert_eq!(own["contextId"], cast.r1, "{own}");
    let listed = of_room.call("ListTasks", json!({"contextId": cast.r1})).await;
    assert_eq!(listed["tasks"][0]["id"], own["id"], "{listed}");

    let of_agent = client(json!({"agent_id": cast.a1.id})).await;
    assert_eq!(of_agent.refused("GetTask", get).await, forbidden);
    assert_eq!(of_agent.refused("SendMessage", here("m5", &cast.r1)).await, forbidden);
}

/// A key of a user with limits.
pub(crate) async fn key(user: &Api, limits: Value) -> String {
    let mut body = json!({"name": "Limited"});
    body.as_object_mut().unwrap().extend(limits.as_object().unwrap().clone());
    let made = user.post("/api-keys", json!({"api_key": body})).await.data();
    made["credentials"]["api_key"].as_str().unwrap().to_owned()
}

/// The rate limit of a caller is that of REST.
#[tokio::test]
async fn the_rate_limit_of_rest_applies() {
    let server = Server::start_alone(&[("PARLANCE_RATE_LIMIT", "1/9")]).await;
    let cast = listed(&server).await;
    let agent = Client::new(&server, &cast.a2, &cast.a1, Binding::Rpc);
    let mut statuses = Vec::new();
    for _ in 0..12 {
        statuses.push(agent.request("ListTasks", json!({})).send().await.unwrap().status().as_u16());
    }
    assert!(statuses[0] == 200 && statuses.contains(&429), "{statuses:?}");
}
