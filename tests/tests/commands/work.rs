//! The output and effects of `parlance work`.

use e2e::{Api, Server, Socket, soon};
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
    server.user("ben");
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
        (&["--org", "ann", "--state", "new"], 1),
        (&["--org", "ben"], 0),
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
    let ended = shown.lines().find(|line| line.starts_with("  dead-lettered "));
    assert!(ended.is_some_and(|line| line.ends_with(": no key")), "{shown}");
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

/// The owner sends the new message, if they are in the room; across a kill, there are both changes or none.
#[tokio::test]
async fn work_is_sent_again_for_the_owner() {
    let mut server = Server::start_with(&PATIENT).await;
    let (ann, bot, chat, [poisoned, waiting, last]) = poisoned(&server).await;
    let scout = ann.register(&server, "Scout").await;
    let to_scout = ["--to", "ann/scout"];
    refused(&server, &["work", "reassign"], &[&[poisoned.as_str(), "ann/bot"], &to_scout[..]].concat());
    assert_eq!(ann.add(&chat, &scout.id).await.status, 201);
    let of_poisoned =
        [&["work", "reassign", &poisoned, "ann/bot", "--reason", "no key"], &to_scout[..]].concat();
    let reassigned = json_of(&server, &of_poisoned);
    let new = reassigned["work"]["replaced_by"].as_str().unwrap().to_owned();
    server.kill9();
    server.run().await;
    assert_eq!((next(&bot, &chat).await, next(&scout, &chat).await), (json!(waiting), json!(new)));
    let read = scout.get(&format!("/chats/{chat}/messages/next")).await.data();
    assert_eq!((&read["sender_handle"], &read["sender_id"]), (&json!("ann"), &json!(ann.id)));
    assert!(read["content"].as_str().unwrap().ends_with("@ann wrote:\n> @ann/bot poisoned"), "{read}");
    let shown = printed(&server, &["work", "show", &poisoned, "ann/bot"]);
    assert!(shown.contains(&format!("  replaced by {new}\n")), "{shown}");
    let repeated = run(&server, &of_poisoned, &[]);
    let said = String::from_utf8(repeated.stderr).unwrap();
    assert!(
        !repeated.status.success() && said.contains(&format!("already replaced by message {new}")),
        "{said}"
    );
    refused(&server, &["work", "retry"], &[&poisoned, "ann/bot"]);

    let again = printed(&server, &["work", "send-again", &waiting, "ann/bot"]);
    let newest = ann.get(&format!("/chats/{chat}/messages")).await.data()[0]["id"].clone();
    let newest = newest.as_str().unwrap();
    assert_eq!(
        again,
        format!(
            "Message {newest} replaces {waiting}, which was sent again and has left the queue of ann/bot.\n"
        )
    );
    assert_eq!(next(&bot, &chat).await, last.as_str(), "in the order of the room");
    assert_eq!(json_of(&server, &["agent", "show", "ann/bot"])["agent"]["work"]["dead"], 0);
    let elsewhere = ann.create_chat().await;
    assert_eq!(ann.add(&elsewhere, &bot.id).await.status, 201);
    let kept = ann.sent(&elsewhere, "work", &[&bot.id]).await;
    let all = [&["work", "reassign", "--agent", "ann/bot"], &to_scout[..]].concat();
    let said = printed(&server, &all);
    assert_eq!(
        said,
        "2 messages reassigned. 1 message skipped: the agent is not in the room, or has the text already.\n"
    );
    assert_eq!((next(&bot, &chat).await, next(&bot, &elsewhere).await), (Value::Null, json!(kept)));
    let audited = printed(&server, &["audit", "--json"]);
    assert_eq!(audited.matches("\"work.reassigned\"").count(), 3, "{audited}");
    assert_eq!(audited.matches("\"work.sent_again\"").count(), 1, "{audited}");

    // The owner has left the room.
    let ben = server.colleague("ben", "ann");
    let body = json!({ "participant": { "participant_id": ben.id, "role": "owner" } });
    assert_eq!(ann.post(&format!("/chats/{elsewhere}/participants"), body).await.status, 201);
    assert_eq!(ann.delete(&format!("/chats/{elsewhere}/participants/{}", ann.id)).await.status, 200);
    let output = run(&server, &["work", "send-again", &kept, "ann/bot"], &[]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("not a participant of the room"), "{said}");
    assert_eq!(next(&bot, &elsewhere).await, kept.as_str());
}

/// Agents and humans who are connected get what a command sends, without waiting for redelivery. Humans also see
/// the items that it changes.
#[tokio::test]
async fn what_a_command_sends_reaches_open_sockets() {
    let server = Server::start_with(&[PATIENT[0], ("PARLANCE_REDELIVERY_AFTER_MS", "60000")]).await;
    let (ann, bot, chat, [poisoned, waiting, _]) = poisoned(&server).await;
    let topic = format!("chat_room:{chat}");
    let (mut human, mut agent) = (Socket::of(&server, &ann).await, Socket::of(&server, &bot).await);
    for socket in [&mut human, &mut agent] {
        socket.join("1", &topic).await;
    }
    let again = json_of(&server, &["work", "send-again", &poisoned, "ann/bot"]);
    let updated = human.event("1", &topic, "message_updated").await;
    assert_eq!(updated["id"], poisoned.as_str(), "{updated}");
    for socket in [&mut human, &mut agent] {
        let pushed = socket.event("1", &topic, "message_created").await;
        assert_eq!(pushed["id"], again["work"]["replaced_by"], "{pushed}");
    }
    let reason = ["--reason", "no key"];
    for (verb, more, expected) in [("dead-letter", &reason[..], json!("no key")), ("retry", &[], Value::Null)]
    {
        json_of(&server, &[&["work", verb, &waiting, "ann/bot"], more].concat());
        let mut updated = human.event("1", &topic, "message_updated").await;
        // The agent has also taken the new message.
        while updated["id"] != waiting.as_str() {
            updated = human.event("1", &topic, "message_updated").await;
        }
        assert_eq!(updated["metadata"]["delivery_status"][&bot.id]["dead_reason"], expected, "{updated}");
    }
}
