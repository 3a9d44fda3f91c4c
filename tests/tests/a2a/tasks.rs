//! Tasks and their states.

use e2e::{Api, Server, until};
use reqwest::Method;
use serde_json::{Value, json};

use crate::client::{BINDINGS, Binding, Client, list, listed, message, next, text};

/// The room and the message of a task.
pub(crate) fn parts(task: &Value) -> (String, String) {
    let (room, message) = task["id"].as_str().unwrap().split_once('.').unwrap();
    assert_eq!(task["contextId"], room);
    (room.to_owned(), message.to_owned())
}

/// The agent answers the caller in a room.
pub(crate) async fn answer(agent: &Api, room: &str, said: &str, to: &Api) {
    agent.sent(room, said, &[&to.id]).await;
}

/// The agent begins its next message in the room of a task.
pub(crate) async fn begin(agent: &Api, task: &Value) -> (String, String) {
    let (room, _) = parts(task);
    let message = agent.next(&room).await.unwrap();
    assert_eq!(agent.step(&room, &message, "processing").await.status, 200);
    (room, message)
}

/// The agent asks the humans of a room.
async fn question(agent: &Api, room: &str, said: &str) {
    let event = json!({
        "event": {"message_type": "attention", "content": said, "metadata": {"kind": "question"}},
    });
    assert_eq!(agent.post(&format!("/chats/{room}/events"), event).await.status, 201);
}

/// The texts of artifacts.
fn artifacts(task: &Value) -> Vec<&str> {
    let artifacts = task["artifacts"].as_array().map(Vec::as_slice).unwrap_or_default();
    artifacts.iter().map(|artifact| artifact["parts"][0]["text"].as_str().unwrap()).collect()
}

/// A new task in a new room, and each state up to the end of the second one in the same room.
#[tokio::test]
async fn the_state_of_a_task_follows_the_ledger() {
    let server = Server::start().await;
    let cast = listed(&server).await;
    for binding in BINDINGS {
        let client = Client::new(&server, &cast.u1, &cast.a1, binding);
        let task = client.send(text(&client.own("m1"), "What is 6 x 7?")).await;
        assert_eq!(task["status"]["state"], "TASK_STATE_SUBMITTED", "{task}");
        assert_eq!(task["history"][0]["parts"][0]["text"], "What is 6 x 7?", "{task}");
        assert_eq!(task["history"][0]["role"], "ROLE_USER", "{task}");
        assert_eq!(task["history"][0]["messageId"], client.own("m1"), "{task}");
        let (room, first) = begin(&cast.a1, &task).await;
        assert_eq!(client.state(&task).await, "TASK_STATE_WORKING");
        question(&cast.a1, &room, "In which base?").await;
        let asking = client.task(&task).await;
        assert_eq!(asking["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{asking}");
        assert_eq!(asking["status"]["message"]["parts"][0]["text"], "In which base?", "{asking}");
        assert_eq!(asking["status"]["message"]["role"], "ROLE_AGENT", "{asking}");
        assert_eq!(cast.a1.step(&room, &first, "processed").await.status, 200);
        assert_eq!(client.state(&task).await, "TASK_STATE_INPUT_REQUIRED");

        let same = client.send(next(&client.own("m2"), "Ten", &task)).await;
        assert_eq!((&same["id"], &same["status"]["state"]), (&task["id"], &json!("TASK_STATE_SUBMITTED")));
        let (_, second) = begin(&cast.a1, &task).await;
        answer(&cast.a1, &room, "42", &cast.u1).await;
        assert_eq!(cast.a1.step(&room, &second, "failed").await.status, 200);
        assert_eq!(client.state(&task).await, "TASK_STATE_FAILED");
        begin(&cast.a1, &task).await;
        assert_eq!(client.state(&task).await, "TASK_STATE_WORKING");
        assert_eq!(cast.a1.step(&room, &second, "processed").await.status, 200);
        let done = client.task(&task).await;
        assert_eq!(done["status"]["state"], "TASK_STATE_COMPLETED", "{done}");
        assert_eq!(artifacts(&done), ["42"]);
        let history = done["history"].as_array().unwrap();
        let texts = history.iter().map(|message| message["parts"][0]["text"].as_str().unwrap());
        assert_eq!(texts.collect::<Vec<_>>(), ["What is 6 x 7?", "Ten", "42"]);
        let cut = client.call("GetTask", json!({"id": task["id"], "historyLength": 1})).await;
        assert_eq!(cut["history"].as_array().unwrap().len(), 1, "{cut}");
        assert_eq!(cut["history"][0]["parts"][0]["text"], "42", "{cut}");

        let mut params = text(&client.own("m3"), "And 7 x 8?");
        params["message"]["contextId"] = json!(room);
        let another = client.send(params).await;
        assert_eq!(another["contextId"], room, "{another}");
        assert_ne!(another["id"], task["id"]);
        let (_, third) = parts(&another);
        let dead = json!({"reason": "not needed"});
        let path = format!("/work/{third}/{}/dead-letter", cast.a1.id);
        assert_eq!(cast.u1.post(&path, dead).await.status, 200);
        assert_eq!(client.state(&another).await, "TASK_STATE_FAILED");
        assert_eq!(client.state(&task).await, "TASK_STATE_COMPLETED");

        let mut params = text(&client.own("m4"), "And now?");
        params["message"]["contextId"] = json!(room);
        let left = client.send(params).await;
        assert_eq!(cast.u1.delete(&format!("/chats/{room}/participants/{}", cast.a1.id)).await.status, 200);
        assert_eq!(client.state(&left).await, "TASK_STATE_FAILED");
        assert_eq!(cast.u1.delete(&format!("/chats/{room}")).await.status, 200);
        let gone = client.refused("GetTask", json!({"id": task["id"]})).await;
        assert_eq!(gone.1, "TASK_NOT_FOUND");
    }
}

/// A request waits until the agent has answered, or asks back.
#[tokio::test]
async fn a_blocking_request_waits_for_the_agent() {
    let server = Server::start().await;
    let cast = listed(&server).await;
    for binding in BINDINGS {
        let client = Client::new(&server, &cast.u1, &cast.a1, binding);
        let room = cast.u1.create_chat().await;
        assert_eq!(cast.u1.add(&room, &cast.a1.id).await.status, 201);
        let ask = |id: &str| {
            let mut message = message(id, json!([{"text": "One,"}, {"data": {"two": 2}}]));
            message["contextId"] = json!(room);
            json!({"message": message})
        };
        let work = async |says: &str| {
            let mut message = None;
            until("the message is there", async || {
                message = cast.a1.next(&room).await;
                message.is_some()
            })
            .await;
            let message = message.unwrap();
            assert_eq!(cast.a1.step(&room, &message, "processing").await.status, 200);
            match says {
                "" => question(&cast.a1, &room, "Why?").await,
                says => answer(&cast.a1, &room, says, &cast.u1).await,
            }
            assert_eq!(cast.a1.step(&room, &message, "processed").await.status, 200);
        };
        let (task, ()) = tokio::join!(client.send(ask("m1")), work("Three"));
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
        assert_eq!(artifacts(&task), ["Three"], "{task}");
        assert_eq!(task["history"][0]["parts"][0]["text"], "One,\n{\"two\":2}", "{task}");
        let (task, ()) = tokio::join!(client.send(ask("m2")), work(""));
        assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{task}");
    }
}

/// The sender cancels what the agent has not processed.
#[tokio::test]
async fn a_task_is_cancelled_by_its_sender() {
    let server = Server::start().await;
    let cast = listed(&server).await;
    for binding in BINDINGS {
        let client = Client::new(&server, &cast.u1, &cast.a1, binding);
        let task = client.send(text(&client.own("m1"), "Wait")).await;
        client.send(next(&client.own("m2"), "Wait longer", &task)).await;
        let (room, message) = begin(&cast.a1, &task).await;
        let cancelled = client.call("CancelTask", json!({"id": task["id"]})).await;
        assert_eq!(cancelled["status"]["state"], "TASK_STATE_CANCELED", "{cancelled}");
        assert_eq!(cast.a1.next(&room).await, None);
        assert_ne!(cast.a1.step(&room, &message, "processed").await.status, 200);
        let again = client.refused("CancelTask", json!({"id": task["id"]})).await;
        assert_eq!(again.1, "TASK_NOT_CANCELABLE");
        let next = client.refused("SendMessage", next(&client.own("m3"), "Still there?", &task)).await;
        assert_eq!(next.1, "UNSUPPORTED_OPERATION");

        let task = client.send(text(&client.own("m4"), "Quick")).await;
        let (room, message) = begin(&cast.a1, &task).await;
        assert_eq!(cast.a1.step(&room, &message, "processed").await.status, 200);
        assert_eq!(client.refused("CancelTask", json!({"id": task["id"]})).await.1, "TASK_NOT_CANCELABLE");
    }
    let log = cast.u1.get("/organization/audit").await.data().to_string();
    assert!(log.contains("Cancelled by its sender over A2A."), "{log}");
}

/// An agent gives a task to another one in a room of both, and sees its own part of the room only.
#[tokio::test]
async fn an_agent_is_a_caller_too() {
    let server = Server::start().await;
    let cast = listed(&server).await;
    let client = Client::new(&server, &cast.a2, &cast.a1, Binding::Rpc);
    let mut params = text("m1", "Translate");
    params["message"]["contextId"] = json!(cast.r1);
    let task = client.send(params).await;
    let (room, message) = begin(&cast.a1, &task).await;
    cast.a1.sent(&room, "For Ann only", &[&cast.u1.id]).await;
    answer(&cast.a1, &room, "Übersetzt", &cast.a2).await;
    assert_eq!(client.state(&task).await, "TASK_STATE_WORKING");
    assert_eq!(cast.a1.step(&room, &message, "processed").await.status, 200);
    let done = client.task(&task).await;
    assert_eq!(done["status"]["state"], "TASK_STATE_COMPLETED", "{done}");
    assert_eq!(artifacts(&done), ["Übersetzt"], "{done}");
    assert!(done["metadata"].is_null() && done["artifacts"][0]["metadata"].is_null(), "{done}");
    let listed = client.call("ListTasks", json!({"contextId": room})).await;
    assert_eq!(listed["tasks"][0]["id"], task["id"], "{listed}");
    let human = Client::new(&server, &cast.u1, &cast.a1, Binding::Rpc);
    assert_eq!(human.refused("GetTask", json!({"id": task["id"]})).await.0, -32001, "it is another's");
}

/// The same message is one task, also after a crash, and under the client's own key.
#[tokio::test]
async fn a_repeated_message_is_one_task() {
    let mut server = Server::start_alone(&[]).await;
    let cast = listed(&server).await;
    let client = Client::new(&server, &cast.u1, &cast.a1, Binding::Rpc);
    let task = client.send(text("m1", "Once")).await;
    assert_eq!(client.send(text("m1", "Once")).await["id"], task["id"]);
    let http = Client { binding: Binding::Http, ..client.clone() };
    assert_eq!(http.send(text("m1", "Once")).await["id"], task["id"], "over the other binding");
    assert_ne!(client.send(text("m1", "Twice")).await["id"], task["id"], "it is another message");
    let continued = client.send(next("m2", "More", &task)).await;
    server.kill9();
    server.run().await;
    let client = Client::new(&server, &cast.u1, &cast.a1, Binding::Rpc);
    let (u1, a1) = (cast.u1.on(&server), cast.a1.on(&server));
    assert_eq!(client.send(text("m1", "Once")).await["id"], task["id"], "after a crash");
    let (room, first) = begin(&a1, &task).await;
    assert_eq!(a1.step(&room, &first, "processed").await.status, 200);
    let (_, second) = begin(&a1, &task).await;
    assert_eq!(a1.step(&room, &second, "processed").await.status, 200);
    let again = client.send(next("m2", "More", &task)).await;
    assert_eq!(again["id"], continued["id"], "although the task has ended");
    assert_eq!(u1.history(&room).await.len(), 2);

    let keyed = async |id: &str, said: &str| {
        client.request("SendMessage", text(id, said)).header("idempotency-key", "k1").send().await.unwrap()
    };
    let first = keyed("m5", "Keyed").await.json::<Value>().await.unwrap();
    let second = keyed("m6", "Keyed").await.json::<Value>().await.unwrap();
    assert_eq!(first["result"]["task"]["id"], second["result"]["task"]["id"], "{second}");
    assert!(first["result"]["task"]["id"].is_string(), "{first}");
    let other = keyed("m7", "Other").await.json::<Value>().await.unwrap();
    assert_eq!(other["error"]["code"], -32602, "{other}");
}

/// A message that is repeated after its agent was removed from the room is answered as before, and changes nothing.
#[tokio::test]
async fn a_repeated_message_brings_no_removed_agent_back() {
    let server = Server::start().await;
    let cast = listed(&server).await;
    for binding in BINDINGS {
        let client = Client::new(&server, &cast.u1, &cast.a1, binding);
        let task = client.send(text(&client.own("m1"), "Hello")).await;
        let (room, _) = parts(&task);
        let membership = format!("/chats/{room}/participants/{}", cast.a1.id);
        assert_eq!(cast.u1.delete(&membership).await.status, 200);
        let again = client.send(text(&client.own("m1"), "Hello")).await;
        assert_eq!((&again["id"], &again["status"]["state"]), (&task["id"], &json!("TASK_STATE_FAILED")));
        let people = cast.u1.get(&format!("/chats/{room}/participants")).await.data();
        assert_eq!(people.as_array().unwrap().len(), 1, "{people}");
    }
}

/// The tasks of the caller, page by page, the newest first.
#[tokio::test]
async fn tasks_are_listed() {
    let server = Server::start().await;
    let cast = listed(&server).await;
    let client = Client::new(&server, &cast.u1, &cast.a1, Binding::Http);
    let mut expected = Vec::new();
    let first = client.send(text("m0", "0")).await;
    for number in 1..4 {
        let mut params = text(&format!("m{number}"), &number.to_string());
        params["message"]["contextId"] = first["contextId"].clone();
        expected.push(client.send(params).await["id"].clone());
    }
    expected.insert(0, first["id"].clone());
    expected.reverse();
    let newest = client.send(text("m4", "4")).await;
    client.send(next("m5", "more", &newest)).await;
    cast.u1.sent(&cast.r1, "not for the agent", &[&cast.a2.id]).await;
    let ids = |list: &Value| {
        list["tasks"].as_array().unwrap().iter().map(|task| task["id"].clone()).collect::<Vec<_>>()
    };
    for binding in BINDINGS {
        let client = Client { binding, ..client.clone() };
        let context = client.call("ListTasks", json!({"contextId": first["contextId"]})).await;
        assert_eq!(ids(&context), expected, "{context}");
        assert_eq!(context["nextPageToken"], "", "{context}");
        assert!(context["tasks"][0]["history"].is_null(), "{context}");
        let (mut all, mut token) = (Vec::new(), String::new());
        loop {
            let page = client.call("ListTasks", json!({"pageSize": 2, "pageToken": token})).await;
            all.extend(ids(&page));
            page["nextPageToken"].as_str().unwrap().clone_into(&mut token);
            if token.is_empty() {
                break;
            }
        }
        assert_eq!(all, [vec![newest["id"].clone()], expected.clone()].concat());
    }
    let (room, message) = begin(&cast.a1, &newest).await;
    assert_eq!(cast.a1.step(&room, &message, "processed").await.status, 200);
    let (_, message) = begin(&cast.a1, &newest).await;
    answer(&cast.a1, &room, "Done", &cast.u1).await;
    assert_eq!(cast.a1.step(&room, &message, "processed").await.status, 200);
    let done = json!({"status": "TASK_STATE_COMPLETED", "includeArtifacts": true, "historyLength": 1});
    let done = client.call("ListTasks", done).await;
    assert_eq!(ids(&done), [newest["id"].clone()], "{done}");
    assert_eq!(done["tasks"][0]["artifacts"][0]["parts"][0]["text"], "Done", "{done}");
    let working = client.call("ListTasks", json!({"status": "TASK_STATE_WORKING"})).await;
    assert_eq!(ids(&working), [] as [Value; 0], "{working}");
    let page = client.call("ListTasks", json!({"pageSize": 1})).await;
    let token = page["nextPageToken"].clone();
    let other = json!({"pageToken": token, "status": "TASK_STATE_WORKING"});
    assert_eq!(client.refused("ListTasks", other).await.1, "INVALID_PARAMS");
    let own = Client::new(&server, &cast.u2, &cast.a1, Binding::Http);
    assert_eq!(ids(&own.call("ListTasks", json!({})).await), [] as [Value; 0]);
    assert_eq!(own.refused("ListTasks", json!({"pageToken": token})).await.1, "INVALID_PARAMS");
}

/// The card tells clients everything that they need, and needs no key.
#[tokio::test]
async fn a_listed_agent_has_a_card() {
    let server = Server::start_alone(&[("PARLANCE_PUBLIC_URL", "https://chat.example.org")]).await;
    let cast = listed(&server).await;
    let http = reqwest::Client::new();
    let card = async |agent: &str| {
        let url = format!("http://{}/a2a/{agent}/.well-known/agent-card.json", server.address());
        let response = http.get(url).send().await.unwrap();
        let cached = response.headers().get("cache-control").map(|one| one.to_str().unwrap().to_owned());
        (response.status().as_u16(), response.json::<Value>().await.unwrap(), cached)
    };
    let (status, shown, cached) = card(&cast.a1.id).await;
    assert_eq!((status, cached.as_deref()), (200, Some("public, max-age=300")), "{shown}");
    let base = format!("https://chat.example.org/a2a/{}", cast.a1.id);
    let interfaces = json!([
        {"url": base, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        {"url": format!("{base}/v1"), "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
    ]);
    assert_eq!(shown["supportedInterfaces"], interfaces, "{shown}");
    assert_eq!((&shown["name"], &shown["skills"][0]["id"]), (&json!("One"), &json!("one")), "{shown}");
    assert_eq!(shown["description"], "One, for tests", "{shown}");
    let capabilities = json!({"streaming": true, "pushNotifications": true, "extendedAgentCard": false});
    assert_eq!(shown["capabilities"], capabilities, "{shown}");
    let schemes = &shown["securitySchemes"];
    assert_eq!(schemes["apiKey"]["apiKeySecurityScheme"]["name"], "X-API-Key", "{shown}");
    assert_eq!(schemes["bearer"]["httpAuthSecurityScheme"]["scheme"], "Bearer", "{shown}");
    let of_server = shown.to_string();
    assert!(!of_server.contains("ann@") && !of_server.contains(&cast.u1.id), "{shown}");

    for unlisted in [cast.a2.id.as_str(), cast.u1.id.as_str(), "0190c5a4-0000-7000-8000-000000000001", "x"] {
        assert_eq!(card(unlisted).await.0, 404, "{unlisted}");
    }
    list(&cast.u1, &cast.a2).await;
    assert_eq!(card(&cast.a2.id).await.0, 200);
    let unlist = json!({"agent": {"a2a": false}});
    let path = format!("/agents/{}", cast.a2.id);
    assert_eq!(cast.u1.call(Method::PATCH, &path, Some(unlist)).await.status, 200);
    assert_eq!(card(&cast.a2.id).await.0, 404);

    let plain = Server::start_alone(&[]).await;
    let cast = listed(&plain).await;
    let url = format!("http://{}/a2a/{}", plain.address(), cast.a1.id);
    let shown = http.get(format!("{url}/.well-known/agent-card.json")).send().await.unwrap();
    let shown = shown.json::<Value>().await.unwrap();
    assert_eq!(shown["supportedInterfaces"][0]["url"], url, "{shown}");
}
