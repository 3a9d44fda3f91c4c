//! What commands print: tables, sentences, suggestions, and JSON.

use std::fs;

use e2e::{Api, Server, soon};
use serde_json::{Value, json};

use crate::{json_of, printed, refused, run};

/// Commands take their time on a busy machine, and the connection of a client stays open meanwhile.
pub(crate) const PATIENT: [(&str, &str); 1] = [("PARLANCE_HTTP_IDLE_TIMEOUT_MS", "60000")];

#[tokio::test]
async fn accounts_are_made_seen_and_deleted() {
    let server = Server::start_with(&PATIENT).await;
    let json = |arguments: &[&str]| json_of(&server, arguments);
    let said = |arguments: &[&str]| printed(&server, arguments);
    let ann = server.user("ann");
    let first = json(&["user", "list"])["users"].as_array().unwrap().len();
    let made = json(&["agent", "create", "--owner", "@Ann", "--name", "My Bot", "--description", "Works"]);
    assert_eq!(made["agent"]["handle"], "ann/my-bot");
    let bot =
        Api::new(&server, "agent", made["api_key"].as_str().unwrap(), made["agent"]["id"].as_str().unwrap());
    assert_eq!(bot.get("/me").await.data()["description"], "Works");
    let key = said(&["agent", "create", "--owner", "ann", "--name", "Two", "--description", "Waits"]);
    let key = key.split_whitespace().find(|word| word.starts_with("thnv_a_")).unwrap().to_owned();
    assert_eq!(bot.with_key(&key).get("/me").await.data()["name"], "Two");

    for number in 0..3 {
        server.user(&format!("user-{number}"));
    }
    let listed = json(&["user", "list"]);
    let handles = listed["users"].as_array().unwrap().iter().map(|user| user["handle"].as_str().unwrap());
    let handles = handles.collect::<Vec<_>>();
    assert!(handles.is_sorted() && handles.len() == first + 3, "{listed}");
    let table = said(&["user", "list"]);
    let lines = table.lines().collect::<Vec<_>>();
    assert_eq!(lines.len(), first + 4, "a heading and a line for each user: {table}");
    let columns = ["HANDLE", "NAME", "EMAIL", "CREATED", "DISABLED"];
    assert!(lines[0].split_whitespace().eq(columns), "{table}");
    let email = lines[0].find("EMAIL").unwrap();
    assert!(lines[1..].iter().all(|line| line[email..].contains('@')), "{table}");
    assert!(!table.contains('\u{1b}'), "a pipe gets no colour: {table}");
    assert!(lines[1].contains(" ago") || lines[1].contains("just now"), "{table}");
    assert!(said(&["user", "list", "--utc"]).lines().nth(1).unwrap().contains("Z  -"), "exact times");
    let status = json(&["status"]);
    assert_eq!((&status["agents"], &status["users"]), (&json!(2), &json!(first + 3)), "{status}");
    assert_eq!((&status["open_work"]["oldest_at"], &status["open_work"]["dead"]), (&Value::Null, &json!(0)));
    let shown = said(&["status"]);
    assert!(
        shown.lines().count() < 20 && shown.lines().all(|line| line.len() <= 80 || line.starts_with("Store"))
    );
    assert!(shown.contains("Open work      none"), "{shown}");
    let shown = json(&["user", "show", "ann"]);
    assert_eq!((&shown["user"]["agents"], &shown["user"]["api_keys"]), (&json!(2), &json!(1)));
    assert_eq!(shown["user"]["disabled_at"], Value::Null);
    let shown = said(&["user", "show", "ann"]);
    assert!(shown.contains("<ann@example.org>, created ") && !shown.contains('Z'), "{shown}");
    assert!(said(&["user", "show", "ann", "--utc"]).contains("Z;"), "exact times");
    let listed = json(&["agent", "list", "--owner", "ann"]);
    assert_eq!(
        (&listed["agents"][0]["handle"], &listed["agents"][1]["handle"]),
        (&json!("ann/my-bot"), &json!("ann/two"))
    );
    assert_eq!(json(&["agent", "list", "--owner", "user-0"]), json!({ "agents": [] }));
    assert_eq!(said(&["agent", "list", "--disabled"]), "No agent is disabled.\n");
    let mut shown = listed["agents"][1].clone();
    assert_eq!(
        shown["work"],
        json!({"open": 0, "unanswered": 0, "stuck": 0, "failing": 0, "dead": 0, "held": 0, "oldest_at": null})
    );
    assert_eq!((&shown["last_taken_at"], &shown["last_finished_at"]), (&Value::Null, &Value::Null));
    (shown["owner_disabled_at"], shown["organization_pause"]) = (Value::Null, Value::Null);
    let mut again = json(&["agent", "show", "ann/two"])["agent"].clone();
    // It was used a moment ago, which is written later.
    (shown["last_seen_at"], again["last_seen_at"]) = (Value::Null, Value::Null);
    assert!(again["doors"].is_array(), "{again}");
    (shown["doors"], again["doors"]) = (Value::Null, Value::Null);
    assert_eq!(again, shown);
    assert!(!said(&["agent", "show", "ann/two"]).lines().next().unwrap().ends_with('Z'));
    assert!(said(&["agent", "show", "ann/two", "--utc"]).lines().next().unwrap().ends_with('Z'));

    let deleted = json(&["agent", "delete", "ann/two"]);
    assert_eq!((&deleted["agent"]["handle"], &deleted["executions"]), (&json!("ann/two"), &json!(0)));
    assert!(soon(async || bot.with_key(&key).get("/me").await.status == 401).await);
    assert_eq!(ann.get("/agents").await.data().as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn chats_are_listed_and_shown() {
    let server = Server::start_with(&PATIENT).await;
    let json = |arguments: &[&str]| json_of(&server, arguments);
    let said = |arguments: &[&str]| printed(&server, arguments);
    assert!(said(&["chat", "list"]).starts_with("No chats."));
    let (ann, ben) = (server.user("ann"), server.user("ben"));
    let made = ann.post("/chats", json!({ "chat": { "title": "Night shift" } })).await.data();
    let id = made["id"].as_str().unwrap();
    ben.create_chat().await;
    let listed = json(&["chat", "list"]);
    assert_eq!(listed["chats"].as_array().unwrap().len(), 2, "newest first: {listed}");
    assert_eq!(listed["chats"][1]["id"], made["id"]);
    for arguments in [["chat", "list", "--participant", "ann"], ["room", "list", "--org", "ann"]] {
        let listed = json(&arguments);
        assert_eq!(listed["chats"].as_array().unwrap().len(), 1, "{listed}");
        assert_eq!(
            (&listed["chats"][0]["id"], &listed["chats"][0]["message_count"]),
            (&made["id"], &json!(0))
        );
    }
    assert_eq!(json(&["chat", "list", "--limit", "1"])["chats"].as_array().unwrap().len(), 1);
    let table = said(&["chat", "list", "--org", "ann"]);
    let columns = ["ID", "MESSAGES", "LAST", "MESSAGE", "TITLE"];
    assert!(table.lines().next().unwrap().split_whitespace().eq(columns), "{table}");
    assert!(table.contains("Night shift"), "{table}");
    assert!(table.lines().all(|line| line.len() <= 80), "{table}");
    let shown = json(&["chat", "show", id]);
    assert_eq!(shown["chat"]["participants"][0]["handle"], "ann", "{shown}");
    assert_eq!(shown["chat"]["organization"], "ann", "{shown}");
    let shown = said(&["chat", "show", id]);
    assert!(shown.starts_with("Night shift\n") && !shown.contains('Z'), "{shown}");
    let columns = ["PARTICIPANT", "NAME", "ROLE", "JOINED"];
    assert!(shown.lines().any(|line| line.split_whitespace().eq(columns)), "{shown}");
    assert!(said(&["chat", "show", id, "--utc"]).trim_end().ends_with('Z'), "exact times");
    ann.delete(&format!("/chats/{id}")).await;
    assert_eq!(json(&["chat", "list", "--participant", "ann"]), json!({ "chats": [] }));
    refused(&server, &["chat", "show"], &[id]);
}

#[tokio::test]
async fn the_audit_log_and_organizations_are_shown_in_columns() {
    let server = Server::start().await;
    let said = |arguments: &[&str]| printed(&server, arguments);
    server.user("ann");
    let log = said(&["audit", "--org", "ann"]);
    let lines = log.lines().collect::<Vec<_>>();
    assert!(lines[0].split_whitespace().eq(["TIME", "ACTOR", "ACTION", "SUBJECT"]), "{log}");
    let action = lines[0].find("ACTION").unwrap();
    assert!(lines[1..].iter().any(|line| line[action..].starts_with("user.created")), "{log}");
    assert!(lines[1..].iter().all(|line| line.contains(" ago") || line.contains("just now")), "{log}");
    assert!(said(&["audit", "--utc"]).lines().skip(1).all(|line| line[..32].contains('Z')));
    assert_eq!(said(&["audit", "--since", "2999-01-01T00:00:00Z"]), "No such entries.\n");
    assert_eq!(said(&["audit", "--since", "2999-01-01T00:00:00Z", "--json"]), "");
    let created = said(&["audit", "--action", "user.created", "--subject", "ann", "--json"]);
    assert_eq!(created.lines().count(), 1, "{created}");
    let created = serde_json::from_str::<Value>(&created).unwrap();
    let (id, at) = (created["subject"]["id"].as_str().unwrap(), created["at"].as_str().unwrap());
    assert_eq!(said(&["audit", "--subject", id, "--until", at, "--json"]).lines().count(), 1);
    assert_eq!(said(&["audit", "--actor", id, "--action", "user.created"]), "No such entries.\n");
    for line in said(&["audit", "--json"]).lines() {
        assert!(serde_json::from_str::<Value>(line).unwrap()["action"].is_string(), "{line}");
    }

    let shown = said(&["org", "show", "ann"]);
    assert!(shown.contains("\n\nHANDLE  NAME") && shown.ends_with("\n\nNo open invitations.\n"), "{shown}");
    let invited = said(&["org", "invite", "ann", "--email", "ben@example.org"]);
    assert_eq!(invited.lines().next().unwrap().matches('.').count(), 1, "no fractions: {invited}");
    let shown = said(&["org", "show", "ann"]);
    let columns = ["INVITATION", "ROLE", "EXPIRES", "FOR"];
    assert!(shown.lines().any(|line| line.split_whitespace().eq(columns)), "{shown}");
    assert!(shown.contains("member  in 6 days  ben@example.org"), "{shown}");
    assert!(shown.lines().all(|line| line.len() <= 80), "{shown}");
    let shown = said(&["org", "show", "ann", "--utc"]);
    assert_eq!(shown.lines().filter(|line| line.contains('Z')).count(), 2, "{shown}");
}

#[tokio::test]
async fn exports_and_rotated_keys_are_reported_as_json() {
    let server = Server::start().await;
    let json = |arguments: &[&str]| json_of(&server, arguments);
    let file = server.data().join("archive.jsonl");
    let exported = json(&["export", "--to", file.to_str().unwrap()]);
    assert_eq!(exported["file"], file.to_str().unwrap());
    let lines = fs::read_to_string(&file).unwrap().lines().count() as u64;
    assert_eq!(exported["rows"].as_u64(), Some(lines - 2), "without the first and the last line");
    let rotated = json(&["token", "rotate-keys", "--forget"]);
    assert_eq!(rotated["earlier_tokens_valid"], false);
    assert!(fs::exists(rotated["file"].as_str().unwrap()).unwrap(), "{rotated}");
    assert_eq!(json(&["token", "rotate-keys"])["earlier_tokens_valid"], true);
}

#[tokio::test]
async fn mistyped_names_get_a_suggestion() {
    let server = Server::start().await;
    let ann = server.user("ann");
    ann.register(&server, "Echo").await;
    let chat = ann.create_chat().await;
    let swapped = |text: &str, at: usize| {
        let mut letters = text.chars().collect::<Vec<_>>();
        letters[at] = if letters[at] == 'x' { 'y' } else { 'x' };
        letters.into_iter().collect::<String>()
    };
    let listed = json_of(&server, &["key", "list", "ann"]);
    let (key, prefix) = (&listed["keys"][0]["id"], &listed["keys"][0]["prefix"]);
    let (key, prefix) = (key.as_str().unwrap(), prefix.as_str().unwrap());
    let (wrong_chat, wrong_key, wrong_prefix) = (swapped(&chat, 30), swapped(key, 30), swapped(prefix, 12));
    for (arguments, what, meant) in [
        (&["user", "show", "nan"][..], "No user has the handle 'nan'", "ann"),
        (&["user", "reset-password", "annn"], "No user has the handle 'annn'", "ann"),
        (&["token", "issue", "--user", "nan"], "No user has the handle 'nan'", "ann"),
        (&["org", "set-role", "nan", "admin"], "No user has the handle 'nan'", "ann"),
        (&["agent", "show", "echo"], "No agent has the handle 'echo'", "ann/echo"),
        (&["agent", "show", "ann/ecko"], "No agent has the handle 'ann/ecko'", "ann/echo"),
        (&["agent", "set", "ann/ehco", "--global"], "No agent has the handle 'ann/ehco'", "ann/echo"),
        (&["key", "list", "nan"], "No user or agent has the handle 'nan'", "ann"),
        (
            &["chat", "list", "--participant", "an/echo"],
            "No user or agent has the handle 'an/echo'",
            "ann/echo",
        ),
        (&["org", "show", "Nan"], "No organization has the name 'Nan'", "ann"),
        (&["plan", "set", "enterprize", "--user", "ann"], "No plan has the name 'enterprize'", "enterprise"),
        (&["plan", "set", "enterprise", "--org", "nan"], "No organization has the name 'nan'", "ann"),
        (&["org", "create", "new", "--plan", "enterprse"], "No plan has the name 'enterprse'", "enterprise"),
        (&["chat", "show", &wrong_chat], &format!("No chat has the id '{wrong_chat}'"), &chat),
        (&["chat", "show", &chat[..8]], &format!("No chat has the id '{}'", &chat[..8]), &chat),
        (&["key", "revoke", &wrong_key], "No such key is active", key),
        (&["key", "revoke", &wrong_prefix], "No such key is active", prefix),
    ] {
        let output = run(&server, arguments, &[]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert_eq!(said, format!("parlance: {what}. Did you mean '{meant}'?\n"), "{arguments:?}");
    }
    let output = run(&server, &["user", "show", "somebody-else"], &[]);
    let said = String::from_utf8(output.stderr).unwrap();
    let expected =
        "parlance: No user has the handle 'somebody-else'. List users with `parlance user list`.\n";
    assert_eq!(said, expected);
}

/// Commands print whole sentences on success and on refusal.
#[tokio::test]
async fn output_is_full_sentences() {
    let server = Server::start_with(&[("PARLANCE_LOG", "error")]).await;
    let run = |arguments: &[&str]| {
        let mut command = server.command();
        let output = command.current_dir(server.data()).args(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (text(&output.stdout), text(&output.stderr))
    };
    let user = |handle: &str, more: &[&str]| {
        let email = format!("{handle}@example.org");
        let arguments = ["user", "create", "--handle", handle, "--email", &email, "--name", "X"];
        run(&[&arguments, more].concat())
    };
    let refused = |arguments: &[&str], said: &str| {
        let (out, error) = run(arguments);
        assert_eq!(
            (out.as_str(), error.as_str()),
            ("", format!("parlance: {said}\n").as_str()),
            "{arguments:?}"
        );
    };
    let prints =
        |arguments: &[&str], said: &str| assert_eq!(run(arguments), (format!("{said}\n"), String::new()));

    let (created, _) = user("ann", &["--org", "house"]);
    assert!(created.starts_with("Created the user 'ann' and the organization 'house'. "), "{created}");
    let (created, _) = user("ben", &["--org", "House"]);
    assert!(created.starts_with("Created the user 'ben'. "), "{created}");
    let (created, error) = user("cat", &["--org", "house", "--plan", "enterprise"]);
    assert_eq!(created, "");
    let said = "The organization 'house' already exists, and --plan is for a new one. Change its plan with";
    assert!(error.contains(said), "{error}");

    refused(
        &["user", "delete", "ann", "--force"],
        "The user was not deleted, because 'ann' is the last admin of the organization 'house'. Make another member \
         an admin first with `parlance org set-role`.",
    );
    let (_, error) = run(&["org", "delete", "house"]);
    let said = "parlance: The organization was not deleted, because it has 2 members. Move its members with";
    assert!(error.starts_with(said), "{error}");
    refused(
        &["backup", "--to", "bk"],
        "The directory 'bk' does not exist. Create it, or name another one with --to.",
    );
    let plan = "default_plan = 'missing'\n[plans.missing]\nagents = 1\n";
    fs::write(server.data().join("plans.toml"), plan).unwrap();
    refused(
        &["--config", "plans.toml", "org", "create", "new"],
        "No plan has the name 'missing'. List plans with `parlance plan list`. The server stores newly configured \
         plans when it starts.",
    );

    prints(&["org", "create", "empty"], "empty: plan enterprise, 0 users");
    let members =
        "No members. Move a user here with `parlance org move`, or invite one with `parlance org invite`.";
    prints(&["org", "members", "empty"], members);
    prints(&["org", "delete", "empty"], "Deleted the organization 'empty' with 0 chats.");
    let agents = "'ben' has no agents. Create one with `parlance agent create --owner ben`.";
    prints(&["agent", "list", "--owner", "Ben"], agents);
    assert!(run(&["user", "show", "ben"]).0.ends_with("; 0 agents, 1 API key\n"));
    assert!(run(&["migrate"]).0.starts_with("Up to date. All "));

    let agent = ["agent", "create", "--owner", "ben", "--name", "Echo", "--description", "Repeats"];
    assert!(run(&agent).0.starts_with("Created the agent 'ben/echo', id "));
    refused(
        &agent,
        "The agent was not created: the name is already taken. Choose another name; list the agents with `parlance \
         agent list --owner ben`.",
    );
    refused(
        &["user", "delete", "ben"],
        "The user was not deleted, because 'ben' has 1 agent. Delete the user and the agents with --force, or lock \
         the user out temporarily with `parlance user disable`.",
    );
    run(&["user", "disable", "ben"]);
    refused(
        &["token", "issue", "--user", "ben"],
        "The token was not issued: the user is disabled. Enable the user with `parlance user enable ben`.",
    );
    let (key, warning) = run(&["key", "create", "--user", "ben"]);
    assert!(key.contains("thnv_u_"), "{key}");
    let disabled =
        "parlance: The user 'ben' is disabled. The key works only after `parlance user enable ben`.\n";
    assert_eq!(warning, disabled);
    let deleted = "Deleted the user 'ben' with 1 agent; the user was in 0 chats.";
    prints(&["user", "delete", "ben", "--force"], deleted);
    let rotated = "New tokens are signed with a new key. Earlier tokens stay valid until they expire.";
    prints(&["token", "rotate-keys"], rotated);
    let forgotten = "All earlier tokens are now refused. Restart the server to close their sockets.";
    prints(&["token", "rotate-keys", "--forget"], forgotten);
    let (backup, error) = run(&["backup"]);
    assert!(
        backup.starts_with("Backup written and checked: ./parlance-") && !error.contains("sha256"),
        "{backup}{error}"
    );
    assert!(backup.ends_with(" rows)\n") && backup.lines().count() == 1, "{backup}");
    fs::create_dir(server.data().join("bk")).unwrap();
    let (backup, error) = run(&["backup", "--to", "bk", "--json"]);
    assert!(backup.starts_with('{') && !error.contains("sha256"), "{backup}{error}");
}

/// Tables fit a terminal, and exact times have no fractions.
#[tokio::test]
async fn tables_fit_a_terminal() {
    let server = Server::start().await;
    server.user("ann");
    let said = |arguments: &[&str]| printed(&server, arguments);
    let keys = said(&["key", "list", "ann"]);
    let columns = ["KEY", "NAME", "SCOPE", "CREATED", "EXPIRES", "LAST", "USED"];
    assert!(keys.lines().next().unwrap().split_whitespace().eq(columns), "{keys}");
    assert!(keys.contains("thnv_u_") && keys.lines().all(|line| line.chars().count() <= 100), "{keys}");
    let times = said(&["key", "list", "ann", "--utc"]);
    assert!(times.lines().nth(1).unwrap().contains('Z') && !times.contains('.'), "{times}");
    let plans = said(&["plan", "list"]);
    let columns = "NAME AGENTS CHATS PARTICIPANTS MESSAGES BYTES HUMANS MEMORY ORGS";
    assert!(plans.lines().next().unwrap().split_whitespace().eq(columns.split(' ')), "{plans}");
    assert!(plans.contains("  100 GiB  "), "{plans}");
    assert!(plans.lines().all(|line| line.chars().count() <= 80), "{plans}");
}

/// The last user can be deleted. Whatever needs one then says how to create it, under another handle.
#[tokio::test]
async fn a_store_without_users_says_how_to_create_one() {
    let server = Server::start().await;
    printed(&server, &["user", "delete", "admin"]);
    assert_eq!(printed(&server, &["user", "list"]), "No users. Create one with `parlance user create`.\n");
    let said = |arguments: &[&str]| {
        let output = run(&server, arguments, &[]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    for arguments in [
        &["agent", "create", "--owner", "admin", "--name", "Echo", "--description", "Repeats"][..],
        &["key", "create", "--user", "admin"],
        &["token", "issue", "--user", "admin"],
    ] {
        let next = "parlance: This store has no users. Create one with `parlance user create`.\n";
        assert_eq!(said(arguments), next, "{arguments:?}");
    }
    let create =
        |handle| ["user", "create", "--handle", handle, "--email", "ann@example.org", "--name", "Ann"];
    let reserved = "parlance: The user was not created: a new user needs another handle, because 'admin' stays \
                    reserved. It belonged to a deleted user.\n";
    assert_eq!(said(&create("admin")), reserved);
    printed(&server, &create("ann"));
}
