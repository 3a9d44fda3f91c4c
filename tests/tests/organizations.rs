//! Organizations on the running program: invitations, joining, leaving, and what members see.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::process::Output;

use e2e::{Answer, Api, Closed, Server, Socket};
use reqwest::Method;
use serde_json::{Value, json};

/// Runs a command of the program beside the server.
fn command(server: &Server, arguments: &[&str]) -> Output {
    server.command().args(arguments).output().unwrap()
}

/// The JSON output of a command that must succeed.
fn printed(server: &Server, arguments: &[&str]) -> Value {
    let output = command(server, arguments);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A fresh invitation: its id and its token.
async fn invite(admin: &Api, body: Value) -> (String, String) {
    let data = admin.post("/organization/invitations", body).await.data();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&data["invitation"]["id"]), text(&data["token"]))
}

async fn accept(user: &Api, token: &str) -> Answer {
    user.post("/invitations/accept", json!({"invitation": {"token": token}})).await
}

async fn patch(user: &Api, path: &str, body: Value) -> Answer {
    user.call(Method::PATCH, path, Some(body)).await
}

/// The texts at `member` of a list.
async fn listed(user: &Api, path: &str, member: &str) -> Vec<String> {
    let rows = user.get(path).await.data();
    rows.as_array().unwrap().iter().map(|row| row[member].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_guest_comes_in_once_and_goes_again() {
    let server = Server::start().await;
    let (ann, ben, cai) = (server.user("ann"), server.user("ben"), server.user("cai"));
    let (_, token) = invite(&ann, json!({})).await;
    assert!(token.starts_with("thnv_i_"), "{token}");
    let own = ben.get("/organization").await.data();
    assert_eq!(
        (own["name"].as_str(), own["role"].as_str(), own["members"].as_u64()),
        (Some("ben"), Some("admin"), Some(1))
    );
    assert_eq!(own["plan"]["name"], "enterprise");
    assert_eq!(own["plan"]["bytes"], 107_374_182_400_u64);
    let came = accept(&ben, &token).await.data();
    assert_eq!((came["name"].as_str(), came["role"].as_str()), (Some("ann"), Some("member")));
    assert_eq!(accept(&cai, &token).await.code(), "validation_error", "not twice");
    assert_eq!(accept(&cai, "thnv_i_guess").await.code(), "not_found");
    assert_eq!(listed(&ann, "/organization/members", "handle").await, ["ann", "ben"]);
    assert_eq!(listed(&ann, "/organization/invitations", "status").await, ["accepted"]);

    // A member looks on.
    for answer in [
        ben.get("/organization/invitations").await,
        ben.post("/organization/invitations", json!({})).await,
        patch(&ben, "/organization", json!({"name": "Mine"})).await,
        patch(&ben, &format!("/organization/members/{}", ben.id), json!({"role": "admin"})).await,
        ben.delete(&format!("/organization/members/{}", ann.id)).await,
    ] {
        assert_eq!((answer.status, answer.code()), (403, "forbidden"), "{answer:?}");
    }
    // The last admin stays.
    let own = format!("/organization/members/{}", ann.id);
    for answer in [
        ann.post("/organization/leave", json!({})).await,
        ann.delete(&own).await,
        patch(&ann, &own, json!({"role": "member"})).await,
    ] {
        assert_eq!((answer.status, answer.code()), (409, "conflict"), "{answer:?}");
    }
    assert_eq!(patch(&ann, "/organization", json!({"name": "Acme"})).await.data()["name"], "Acme");
    assert_eq!(patch(&ann, "/organization", json!({"name": "CAI"})).await.code(), "validation_error");
    let role = patch(&ann, &format!("/organization/members/{}", ben.id), json!({"role": "admin"})).await;
    assert_eq!(role.data()["role"], "admin");
    let back = ann.post("/organization/leave", json!({})).await.data();
    assert_eq!((back["name"].as_str(), back["role"].as_str()), (Some("ann"), Some("admin")));
    assert_eq!(ben.delete(&format!("/organization/members/{}", ann.id)).await.status, 404, "gone");
    // Alone in an organization that was made for another user, then in an own one.
    assert_eq!(ben.post("/organization/leave", json!({})).await.data()["name"], "ben");
    assert_eq!(ben.post("/organization/leave", json!({})).await.status, 409);
}

#[tokio::test]
async fn what_membership_showed_ends_with_it() {
    let server = Server::start().await;
    let (ann, ben) = (server.user("ann"), server.user("ben"));
    let shared = ann.register(&server, "Shared").await;
    let body = json!({"shared_with_organization": true});
    assert_eq!(patch(&ann, &format!("/agents/{}", shared.id), body).await.status, 200);
    let bot = ben.register(&server, "Bot").await;
    let room = ben.create_chat().await;
    assert_eq!(ben.add(&room, &shared.id).await.status, 404);
    accept(&ben, &invite(&ann, json!({})).await.1).await.data();
    assert_eq!(ben.add(&room, &shared.id).await.status, 201);
    assert_eq!(listed(&bot, "/peers", "handle").await, ["ben", "ann/shared"]);
    let memory = json!({"memory": {
        "content": "the door code", "system": "long_term", "type": "semantic", "segment": "agent",
        "scope": "organization", "thought": "for all of us",
    }});
    let memory = shared.post("/memories", memory).await.data()["id"].as_str().unwrap().to_owned();
    let memory = format!("/memories/{memory}");
    assert_eq!(bot.get(&memory).await.status, 200);

    let token = printed(&server, &["token", "issue", "--user", "ben", "--json"]);
    let header = [("x-auth-token", token["token"].as_str().unwrap())];
    let mut by_token = Socket::connect(&server, "vsn=2.0.0", &header).await.unwrap();
    let mut by_key = Socket::of(&server, &ben).await;
    let mut of_bot = Socket::of(&server, &bot).await;
    let invitation = invite(&ann, json!({})).await.0;
    assert_eq!(ann.delete(&format!("/organization/members/{}", ben.id)).await.status, 204);
    assert_eq!(by_token.closed().await, Closed::Code(1008));
    assert_eq!(
        Socket::connect(&server, "vsn=2.0.0", &header).await.err(),
        Some(403),
        "it names another organization"
    );
    by_key.alive().await;
    of_bot.alive().await;

    assert_eq!(listed(&bot, "/peers", "handle").await, ["ben"]);
    assert_eq!(listed(&ben, "/peers", "handle").await, ["ben/bot"]);
    assert_eq!((bot.get(&memory).await.status, ben.get(&memory).await.status), (404, 404));
    let another = ben.create_chat().await;
    assert_eq!(ben.add(&another, &shared.id).await.status, 404);
    assert_eq!(ben.add(&another, &ann.id).await.status, 404);
    assert_eq!(listed(&ben, "/organization/members", "handle").await, ["ben"]);
    // An admin, but of another organization.
    for answer in [
        ben.delete(&format!("/organization/invitations/{invitation}")).await,
        ben.delete(&format!("/organization/members/{}", ann.id)).await,
        patch(&ben, &format!("/organization/members/{}", ann.id), json!({"role": "member"})).await,
    ] {
        assert_eq!((answer.status, answer.code()), (404, "not_found"), "{answer:?}");
    }
    // Participants stay in their rooms.
    ben.sent(&room, "still here", &[&shared.id]).await;
    assert!(shared.next(&room).await.is_some());
}

#[tokio::test]
async fn guesses_of_tokens_are_counted() {
    let server = Server::start_with(&[("PARLANCE_RATE_LIMIT_FAILURES", "1/5")]).await;
    let ann = server.user("ann");
    let mut statuses = Vec::new();
    for number in 0..40 {
        statuses.push(accept(&ann, &format!("thnv_i_{number}")).await.status);
    }
    assert_eq!(statuses[0], 404);
    assert!(statuses.contains(&429), "{statuses:?}");
    assert_eq!(ann.get("/profile").await.status, 200, "a key that is known is let in all the same");
}

#[tokio::test]
async fn the_operator_says_who_belongs_where() {
    let server = Server::start().await;
    let (ann, ben) = (server.user("ann"), server.user("ben"));
    let made = printed(&server, &["org", "create", "Acme", "--json"]);
    assert_eq!(
        (made["organization"]["users"].as_u64(), &made["organization"]["name"]),
        (Some(0), &json!("Acme"))
    );
    let token = printed(&server, &["token", "issue", "--user", "ann", "--json"]);
    let header = [("x-auth-token", token["token"].as_str().unwrap())];
    let mut socket = Socket::connect(&server, "vsn=2.0.0", &header).await.unwrap();
    let moved = printed(&server, &["org", "move", "@ann", "--to", "acme", "--json"]);
    assert_eq!(
        (&moved["user"]["role"], &moved["from"]),
        (&json!("admin"), &json!("ann")),
        "the first is one"
    );
    assert_eq!(socket.closed().await, Closed::Code(1008), "by another process");
    assert_eq!(ann.get("/organization").await.data()["name"], "Acme");

    let invited =
        printed(&server, &["org", "invite", "Acme", "--email", "ben@example.org", "--days", "2", "--json"]);
    assert_eq!(invited["invitation"]["email"], "ben@example.org");
    accept(&ben, invited["token"].as_str().unwrap()).await.data();
    let members = printed(&server, &["org", "members", "Acme", "--json"]);
    let roles = members["members"].as_array().unwrap().iter().map(|row| (&row["handle"], &row["role"]));
    assert_eq!(
        roles.collect::<Vec<_>>(),
        [(&json!("ann"), &json!("admin")), (&json!("ben"), &json!("member"))]
    );
    let role = printed(&server, &["org", "set-role", "ben", "admin", "--json"]);
    assert_eq!(role["member"]["role"], "admin");
    let renamed = printed(&server, &["org", "rename", "ACME", "Acme & Sons", "--json"]);
    assert_eq!(renamed["organization"]["name"], "Acme & Sons");
    printed(&server, &["org", "invite", "acme & sons", "--role", "admin", "--json"]);
    let shown = printed(&server, &["org", "show", "Acme & Sons", "--json"]);
    assert_eq!(shown["members"].as_array().unwrap().len(), 2);
    assert_eq!(shown["open_invitations"][0]["role"], "admin");
    printed(&server, &["org", "move", "ann", "--own", "--json"]);
    assert_eq!(ann.get("/organization").await.data()["name"], "ann");
    let with_role = ["user", "create", "--handle", "dan", "--email", "dan@example.org", "--name", "Dan"];
    let with_role = [&with_role[..], &["--org", "Acme & Sons", "--role", "admin", "--json"]].concat();
    assert_eq!(printed(&server, &with_role)["user"]["organization_role"], "admin");
    let listed = printed(&server, &["org", "list", "--json"]);
    assert_eq!(listed["organizations"].as_array().unwrap().len(), 4, "{listed}");
    let text = String::from_utf8(command(&server, &["org", "show", "Acme & Sons"]).stdout).unwrap();
    let is_ben = |line: &str| line.split_whitespace().take(3).eq(["ben", "ben", "admin"]);
    assert!(text.lines().any(is_ben) && text.contains("anyone with the token"), "{text}");
}
