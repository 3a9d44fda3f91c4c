//! The output and effects of `parlance work`.

use e2e::{Api, Server, soon};
use serde_json::{Value, json};

use crate::output::PATIENT;
use crate::{json_of, printed, refused, run};

/// An agent whose handler fails at every message is seen in every command that shows work.
#[tokio::test]
async fn work_that_fails_is_seen() {
    let server = Server::start_with(&[
        PATIENT[0],
        ("PARLANCE_WORK_FAILING_ATTEMPTS", "2"),
        ("PARLANCE_WORK_STUCK_AFTER_MS", "1"),
    ])
    .await;
    let told = |arguments: &[&str]| json_of(&server, arguments);
    let said = |arguments: &[&str]| printed(&server, arguments);
    assert_eq!(said(&["work", "list"]), "No open work.\n");
    let ann = server.user("ann");
    let bot = ann.register(&server, "Bot").await;
    let chat = ann.create_chat().await;
    assert_eq!(ann.add(&chat, &bot.id).await.status, 201);
    let poisoned = ann.sent(&chat, "poisoned", &[&bot.id]).await;
    let waiting = ann.sent(&chat, "waiting", &[&bot.id]).await;
    for _ in 0..2 {
        assert_eq!(bot.step(&chat, &poisoned, "processing").await.status, 200);
        let error = json!({ "error": "OPENAI_API_KEY is not set" });
        assert_eq!(bot.post(&format!("/chats/{chat}/messages/{poisoned}/failed"), error).await.status, 200);
    }
    let listed = told(&["work", "list"]);
    let work = listed["work"].as_array().unwrap();
    assert_eq!(
        work.iter().map(|item| &item["message_id"]).collect::<Vec<_>>(),
        [&json!(poisoned), &json!(waiting)]
    );
    assert_eq!(
        (&work[0]["state"], &work[0]["flags"], &work[0]["attempts"][1]["error"]),
        (&json!("failed"), &json!(["failing"]), &json!("OPENAI_API_KEY is not set"))
    );
    for (filter, number) in [
        (&["--flag", "failing"][..], 1),
        (&["--state", "new"], 1),
        (&["--agent", "ann/bot", "--room", &chat], 2),
        (&["--flag", "stuck"], 0),
        (&["--limit", "1"], 1),
    ] {
        let listed = told(&[&["work", "list"], filter].concat());
        assert_eq!(listed["work"].as_array().unwrap().len(), number, "{filter:?}: {listed}");
    }
    let table = said(&["work", "list"]);
    let columns = ["MESSAGE", "AGENT", "AGE", "TRIES", "STATE"];
    assert!(table.lines().next().unwrap().split_whitespace().eq(columns), "{table}");
    assert!(table.lines().nth(1).unwrap().ends_with("2      failing"), "{table}");
    assert!(table.lines().nth(2).unwrap().ends_with("0      new"), "{table}");
    assert!(table.lines().all(|line| line.len() <= 80), "{table}");
    let shown = said(&["work", "show", &poisoned, "ann/bot"]);
    assert!(shown.starts_with(&format!("{poisoned} for ann/bot: failed, failing\n")), "{shown}");
    let failures = shown.lines().filter(|line| line.ends_with("OPENAI_API_KEY is not set"));
    assert_eq!(failures.count(), 2, "{shown}");
    assert!(shown.lines().all(|line| line.len() <= 80), "{shown}");
    assert_eq!(told(&["work", "show", &waiting, "ann/bot"])["work"]["state"], "new");
    let shown = told(&["agent", "show", "ann/bot"]);
    assert_eq!((&shown["agent"]["work"]["open"], &shown["agent"]["work"]["failing"]), (&json!(2), &json!(1)));
    let shown = said(&["agent", "show", "ann/bot"]);
    assert!(
        shown.contains("open work: 2 messages, of which 0 unanswered, 0 stuck, 1 failing; 0 messages dead"),
        "{shown}"
    );

    let table = said(&["agent", "list"]);
    let columns = ["HANDLE", "STATE", "SEEN", "TAKEN", "FINISHED", "OPEN", "FAILING", "DEAD"];
    assert!(table.lines().next().unwrap().split_whitespace().eq(columns), "{table}");
    let cells = table.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!((cells[0], &cells[4..]), ("ann/bot", &["-", "2", "1", "0"][..]), "{table}");
    assert!(table.lines().all(|line| line.len() <= 80), "{table}");
    let status = said(&["status"]);
    assert!(status.contains("\nFlagged work   1 failing\n"), "{status}");

    // A handler that hangs.
    assert_eq!(bot.step(&chat, &waiting, "processing").await.status, 200);
    assert!(soon(async || said(&["work", "list", "--flag", "stuck"]).contains(&waiting)).await);
    // The databases of the tests are not durable, which is a fault.
    let doctor = server.command().args(["doctor", "--json"]).output().unwrap();
    let findings = serde_json::from_slice::<Value>(&doctor.stdout).unwrap();
    let warnings =
        findings["findings"].as_array().unwrap().iter().filter(|finding| finding["check"] == "work");
    let warnings = warnings.map(|finding| (finding["outcome"].as_str(), finding["next"].as_str()));
    assert_eq!(
        warnings.collect::<Vec<_>>(),
        [
            (Some("warning"), Some("run `parlance work list --flag stuck`")),
            (Some("warning"), Some("run `parlance work list --flag failing`")),
        ]
    );
}

/// The list is printed again until the reader goes.
#[tokio::test]
async fn work_is_watched() {
    let server = Server::start_with(&PATIENT).await;
    let mut command = server.command();
    let mut watching =
        command.args(["work", "list", "--watch"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(watching.stdout.take().unwrap()));
    for _ in 0..2 {
        assert_eq!(lines.next().unwrap().unwrap(), "No open work.");
    }
    watching.kill().unwrap();
    watching.wait().unwrap();
}

/// A message at which the agent's handler failed, and two that wait behind it.
async fn poisoned(server: &Server) -> (Api, Api, String, [String; 3]) {
    let ann = server.user("ann");
    let bot = ann.register(server, "Bot").await;
    let chat = ann.create_chat().await;
    assert_eq!(ann.add(&chat, &bot.id).await.status, 201);
    let mut sent = Vec::new();
    for text in ["poisoned", "waiting", "waiting too"] {
        sent.push(ann.sent(&chat, text, &[&bot.id]).await);
    }
    fails(&bot, &chat, &sent[0]).await;
    (ann, bot, chat, sent.try_into().unwrap())
}

async fn fails(bot: &Api, chat: &str, message: &str) {
    assert_eq!(bot.step(chat, message, "processing").await.status, 200);
    let error = json!({ "error": "OPENAI_API_KEY is not set" });
    assert_eq!(bot.post(&format!("/chats/{chat}/messages/{message}/failed"), error).await.status, 200);
}

async fn next(bot: &Api, chat: &str) -> Value {
    let answer = bot.get(&format!("/chats/{chat}/messages/next")).await;
    if answer.status == 204 { Value::Null } else { answer.data()["id"].clone() }
}

/// By hand and by limit, one message and several, across a kill between the command and its effect.
#[tokio::test]
async fn work_that_fails_is_taken_out_and_offered_again() {
    let mut server = Server::start_with(&PATIENT).await;
    let (ann, bot, chat, [poisoned, waiting, last]) = poisoned(&server).await;
    let of_bot = ["--agent", "ann/bot"];
    let dead_letter = ["work", "dead-letter", &poisoned, "ann/bot", "--reason", "no key"];
    assert_eq!(
        printed(&server, &dead_letter),
        format!("Dead-lettered {poisoned} for ann/bot. `parlance work retry` reverses it.\n")
    );
    server.kill9();
    server.run().await;
    assert_eq!(next(&bot, &chat).await, waiting.as_str(), "the agent goes on");
    assert_eq!(bot.step(&chat, &poisoned, "processing").await.status, 409);
    let read = ann.get(&format!("/chats/{chat}/messages")).await;
    let shown = &read.data()[2]["metadata"]["delivery_status"][&bot.id];
    assert_eq!((&shown["status"], &shown["dead_reason"]), (&json!("failed"), &json!("no key")));
    let again = run(&server, &dead_letter, &[]);
    let said = String::from_utf8(again.stderr).unwrap();
    assert!(!again.status.success() && said.contains("the work is dead"), "{said}");

    let listed = json_of(&server, &["work", "list", "--state", "dead"]);
    assert_eq!(listed["work"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed["work"][0]["dead_reason"], "no key");
    let shown = printed(&server, &["work", "show", &poisoned, "ann/bot"]);
    assert!(shown.contains("  dead-lettered just now: no key\n"), "{shown}");
    assert!(shown.lines().all(|line| line.len() <= 80), "{shown}");
    assert_eq!(json_of(&server, &["agent", "show", "ann/bot"])["agent"]["work"]["dead"], 1);

    let retried = json_of(&server, &["work", "retry", &poisoned, "ann/bot"]);
    assert_eq!((&retried["work"]["state"], &retried["work"]["current_attempt"]), (&json!("new"), &json!(1)));
    assert_eq!(next(&bot, &chat).await, poisoned.as_str(), "in its former place");

    let set = printed(&server, &["agent", "set", "ann/bot", "--max-attempts", "1"]);
    assert!(set.contains("attempts 1"), "{set}");
    fails(&bot, &chat, &poisoned).await;
    assert_eq!(next(&bot, &chat).await, waiting.as_str(), "the limit counts from the retry");
    fails(&bot, &chat, &waiting).await;
    let said = printed(&server, &["work", "retry", "--state", "dead"]);
    assert_eq!(said, "2 messages retried.\n");
    let changed = json_of(&server, &[&["work", "dead-letter", "--reason", "over"], &of_bot[..]].concat());
    assert_eq!((&changed["changed"], &changed["refused"]), (&json!(3), &json!([])));
    assert_eq!(next(&bot, &chat).await, Value::Null);
    assert_eq!(printed(&server, &["work", "list"]), "No open work.\n");
    let audited = printed(&server, &["audit", "--json"]);
    assert_eq!(audited.matches("\"work.dead_lettered\"").count(), 4, "{audited}");
    assert_eq!(audited.matches("\"work.retried\"").count(), 3, "{audited}");
    let item = ann.get(&format!("/work/{last}/{}", bot.id)).await.data();
    assert_eq!((&item["state"], &item["flags"]), (&json!("dead"), &json!(["dead"])));

    for wrong in [
        &["work", "dead-letter", "--reason", "x"][..],
        &["work", "retry", "--agent", "ann/bot"],
        &["work", "retry", "--all"],
        &["work", "retry", &poisoned],
        &["work", "dead-letter", &poisoned, "ann/bot", "--reason", " "],
        &["agent", "set", "ann/bot", "--max-attempts", "0"],
    ] {
        refused(&server, &wrong[..2], &wrong[2..]);
    }
}
