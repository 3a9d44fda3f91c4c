//! `parlance client tail`: everything once, whatever happens to the server.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use e2e::{Api, Server, until, until_or};
use serde_json::{Value, json};

use crate::{HOSTILE, Person, Running};

/// The texts that a command with `--json` has printed.
fn texts(running: &Running) -> Vec<String> {
    let out = running.out();
    // The last line may be on its way.
    let whole = out.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let lines = whole.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|message| message["text"].as_str().unwrap().to_owned()).collect()
}

/// Waits until the command has printed these texts, and no others.
async fn has_printed(running: &Running, expected: &[String]) {
    let state = || format!("{:?} instead of {expected:?}: {}", texts(running), running.error());
    until_or(state, async || texts(running).len() >= expected.len()).await;
    assert_eq!(texts(running), expected);
}

/// Sends texts with these numbers.
async fn send(user: &Api, chat: &str, numbers: std::ops::Range<usize>) -> Vec<String> {
    let mut sent = Vec::new();
    for number in numbers {
        let text = format!("text {number}");
        user.sent(chat, &text, &[]).await;
        sent.push(text);
    }
    sent
}

#[tokio::test]
async fn nothing_is_lost_or_repeated_over_a_restart() {
    let mut server = Server::start_alone(&[]).await;
    let ann = server.user("ann");
    let chat = ann.create_chat().await;
    let mut sent = send(&ann, &chat, 0..3).await;
    let person = Person::of(&server, &ann);
    let one = person.start(&["tail", &chat, "-n", "2", "--json"]);
    has_printed(&one, &sent[1..]).await;
    let all = person.start(&["tail", "--json"]);
    until("it has begun", async || {
        sent.extend(send(&ann, &chat, sent.len()..sent.len() + 1).await);
        !texts(&all).is_empty()
    })
    .await;
    let begun = sent.iter().position(|text| *text == texts(&all)[0]).unwrap();
    has_printed(&one, &sent[1..]).await;
    for round in 0..2 {
        server.kill9();
        for running in [&one, &all] {
            let times = round + 1;
            until("the client notices", async || running.error().matches("trying again").count() == times)
                .await;
        }
        server.run().await;
        // More than a page.
        sent.extend(send(&ann, &chat, sent.len()..sent.len() + 120).await);
        has_printed(&one, &sent[1..]).await;
        has_printed(&all, &sent[begun..]).await;
    }
    assert_eq!(one.error().matches("Connected again").count(), 2, "{}", one.error());
    for running in [one, all] {
        running.signal("-INT");
        assert_eq!(running.ended().status, 0);
    }
}

#[tokio::test]
async fn all_rooms_are_followed_and_new_ones_too() {
    let server = Server::start_alone(&[]).await;
    let (ann, bob) = (server.user("ann"), server.colleague("bob", "ann"));
    let old = ann.create_chat().await;
    ann.sent(&old, "Old room", &[]).await;
    let person = Person::of(&server, &ann);
    let running = person.start(&["tail", "--json", "--since", "2026-01-01T00:00:00Z"]);
    has_printed(&running, &["Old room".to_owned()]).await;
    let new = ann.create_chat().await;
    ann.sent(&new, "New room", &[]).await;
    let theirs = bob.create_chat().await;
    bob.sent(&theirs, "Before you came", &[]).await;
    assert_eq!(bob.add(&theirs, &ann.id).await.status, 201);
    bob.sent(&theirs, "@ann hello", &[&ann.id]).await;
    let expected = ["Old room", "New room", "Before you came", "@ann hello"];
    let state = || format!("{:?}: {}", texts(&running), running.error());
    until_or(state, async || texts(&running).len() >= expected.len()).await;
    let mut printed = texts(&running);
    printed.sort_unstable();
    let mut expected = expected.map(str::to_owned);
    expected.sort_unstable();
    assert_eq!(printed, expected);
    // A message is shown with its room, and one that is gone is no failure.
    assert_eq!(ann.delete(&format!("/chats/{new}")).await.status, 200);
    ann.sent(&old, "Still here", &[]).await;
    until("the rest is followed", async || running.out().contains("Still here")).await;
    let line = running.out().lines().next().unwrap().to_owned();
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["chat_title"], "Old room");
}

/// The last message that was shown is where the client goes on, but it may be deleted.
#[tokio::test]
async fn a_deleted_message_is_no_obstacle() {
    let server = Server::start_alone(&[]).await;
    let ann = server.user("ann");
    let chat = ann.create_chat().await;
    let sent = send(&ann, &chat, 0..2).await;
    let person = Person::of(&server, &ann);
    let running = person.start(&["tail", &chat, "--json"]);
    has_printed(&running, &sent).await;
    let last = ann.history(&chat).await[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(ann.delete(&format!("/chats/{chat}/messages/{last}")).await.status, 200);
    let more = send(&ann, &chat, 2..4).await;
    has_printed(&running, &[sent, more].concat()).await;
    // Without the room, there is nothing to follow.
    assert_eq!(ann.delete(&format!("/chats/{chat}")).await.status, 200);
    let said = running.ended();
    assert_eq!(said.status, 6, "{said:?}");
}

#[tokio::test]
async fn a_terminal_has_nothing_to_interpret() {
    let server = Server::start_alone(&[]).await;
    let ann = server.user("ann");
    let bot = ann.register(&server, "Bot").await;
    let chat = ann.create_chat().await;
    assert_eq!(ann.add(&chat, &bot.id).await.status, 201);
    let title = json!({ "chat": { "title": "Plan" } });
    assert_eq!(ann.call(reqwest::Method::PATCH, &format!("/chats/{chat}"), Some(title)).await.status, 200);
    bot.sent(&chat, HOSTILE, &[&ann.id]).await;
    let event = json!({ "event": {
        "content": "{\"a\":\n\"\u{1b}[2J\"}", "message_type": "thought", "metadata": { "mentions": "none" },
    } });
    assert_eq!(bot.post(&format!("/chats/{chat}/events"), event).await.status, 201);
    let person = Person::of(&server, &ann);
    for arguments in [&["tail", &chat][..], &["tail", &chat, "--json"], &["tail", "--since", "1d"]] {
        let running = person.start(arguments);
        until_or(|| running.error(), async || running.out().contains("thought")).await;
        let out = running.out();
        assert!(!out.contains(|c: char| c.is_control() && c != '\n'), "{out:?}");
        assert!(!out.contains('\u{202e}') && out.contains("forged"), "{out:?}");
        assert!(!out.lines().any(|line| line.starts_with("2030-01-01")), "{out:?}");
    }
    let texts = person.start(&["tail", &chat, "--texts"]);
    until("the text is shown", async || texts.out().contains("@ann/bot: look\u{fffd}]0;owned")).await;
    assert!(!texts.out().contains("thought"), "{}", texts.out());
    let rooms = person.run(&["rooms"]).printed();
    assert!(rooms.contains("Plan") && !rooms.contains(|c: char| c.is_control() && c != '\n'), "{rooms:?}");
}

/// Whoever reads the output may close it at any time, even if nothing is sent any more.
#[tokio::test]
async fn a_closed_pipe_ends_it() {
    let server = Server::start_alone(&[]).await;
    let ann = server.user("ann");
    let chat = ann.create_chat().await;
    ann.sent(&chat, "the only text", &[]).await;
    let person = Person::of(&server, &ann);
    let mut child =
        person.command(&["tail", &chat]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("@ann: the only text"), "{line}");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}
