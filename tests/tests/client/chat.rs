//! `parlance client chat`, on a terminal and without one.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use e2e::{Api, Server, isolated, program, until, until_or};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::{HOSTILE, Person, Running, room};

async fn scene() -> (Server, Api, Api, String, Person) {
    let (server, ann, bot, chat, person) = room().await;
    ann.sent(&chat, "the first text", &[]).await;
    (server, ann, bot, chat, person)
}

/// The newest message of a room.
async fn newest(user: &Api, chat: &str) -> Value {
    user.history(chat).await.into_iter().next().unwrap_or_default()
}

/// Runs the command on a terminal of 80 columns. What follows it in the shell shows how it left the terminal.
fn on_terminal(person: &Person, chat: &str, variables: &[(&str, &str)]) -> Running {
    let mut command: Command = isolated("script");
    let line = format!("stty cols 80; '{}' client chat {chat}; echo status $?; stty -a", program().display());
    let line = ["--quiet", "--flush", "--command", &line, "/dev/null"];
    person.prepare(&mut command).args(line).envs(variables.iter().copied()).stdin(Stdio::piped());
    Running::start(&mut command)
}

#[tokio::test]
async fn a_person_reads_and_writes_on_a_terminal() {
    let (_server, ann, bot, chat, person) = scene().await;
    let mut running = on_terminal(&person, &chat, &[]);
    until_or(|| running.out(), async || running.out().contains(": the first text")).await;
    assert!(running.out().contains("Release plan ("), "{}", running.out());
    // The tab key completes the handle; a word too many is taken back.
    until("the handle is known", async || {
        running.type_in("\u{15}@ann/b\t");
        running.out().contains("@ann/bot ")
    })
    .await;
    running.type_in("is it dome\u{7f}\u{7f}ne?\r");
    until_or(|| running.out(), async || bot.next(&chat).await.is_some()).await;
    let question = newest(&ann, &chat).await;
    assert_eq!(question["content"], format!("@[[{}]] is it done?", bot.id));
    bot.sent(&chat, HOSTILE, &[&ann.id]).await;
    until_or(|| running.out(), async || running.out().contains("forged")).await;
    let out = running.out();
    assert!(out.contains("\u{1b}[1m@ann/bot\u{1b}[0m: look\u{fffd}]0;owned\u{fffd}"), "{out:?}");
    assert!(!out.contains("\u{1b}]0;") && !out.contains("\u{1b}[2J") && !out.contains('\u{9b}'), "{out:?}");
    // Without a mention, the person learns that no agent gets the text.
    running.type_in("nobody in particular\r");
    until_or(|| running.out(), async || running.out().contains("No agent gets this text")).await;
    running.type_in("\u{4}");
    let said = running.ended();
    assert!(said.out.contains("status 0"), "{said:?}");
    for mode in ["icanon", "echo ", "isig"] {
        let is_on = said.out.contains(mode) && !said.out.contains(&format!("-{mode}"));
        assert!(is_on, "the terminal is as it was: {said:?}");
    }
}

/// Passes on what a client and a server say, and while it is broken, loses the answers to texts.
struct Lossy {
    url: String,
    is_broken: Arc<AtomicBool>,
}

impl Lossy {
    async fn before(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (is_broken, to) = (Arc::new(AtomicBool::new(false)), server.address());
        let breaks = is_broken.clone();
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                tokio::spawn(pass_on(client, to.clone(), breaks.clone()));
            }
        });
        Self { url, is_broken }
    }
}

async fn pass_on(mut client: TcpStream, to: String, breaks: Arc<AtomicBool>) -> Option<()> {
    let mut server = TcpStream::connect(to).await.ok()?;
    let (mut asked, mut answered) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    let mut is_lost = false;
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let read = read.ok().filter(|read| *read > 0)?;
                let request = String::from_utf8_lossy(&asked[..read]);
                let is_text = request.starts_with("POST") && request.contains("/messages");
                is_lost |= is_text && breaks.load(Ordering::SeqCst);
                server.write_all(&asked[..read]).await.ok()?;
            }
            read = server.read(&mut answered) => {
                let read = read.ok().filter(|read| *read > 0 && !is_lost)?;
                client.write_all(&answered[..read]).await.ok()?;
            }
        }
    }
}

/// It was sent before its answer was lost, and is not sent twice.
#[tokio::test]
async fn a_text_whose_answer_is_lost_is_sent_once() {
    let (server, ann, _bot, chat, person) = scene().await;
    let proxy = Lossy::before(&server).await;
    let mut running = on_terminal(&person, &chat, &[("PARLANCE_URL", &proxy.url)]);
    until_or(|| running.out(), async || running.out().contains(": the first text")).await;
    proxy.is_broken.store(true, Ordering::SeqCst);
    running.type_in("only once\r");
    let lost = "-- Unknown whether it was sent; Enter tries again: only once: ";
    until_or(|| running.out(), async || running.out().contains(lost)).await;
    proxy.is_broken.store(false, Ordering::SeqCst);
    running.type_in("\r");
    running.type_in("and on\r");
    until_or(|| running.out(), async || newest(&ann, &chat).await["content"] == "and on").await;
    running.type_in("\u{4}");
    assert!(running.ended().out.contains("status 0"));
    let history = ann.history(&chat).await;
    let texts = history.iter().rev().map(|message| message["content"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(texts, ["the first text", "only once", "and on"]);
}

#[tokio::test]
async fn without_colors_nothing_is_colored() {
    let (_server, ann, _bot, chat, person) = scene().await;
    ann.sent(&chat, &"long ".repeat(60), &[]).await;
    let mut running = on_terminal(&person, &chat, &[("NO_COLOR", "1")]);
    until_or(|| running.out(), async || running.out().contains("@ann: long long")).await;
    // What does not fit into a row is indented.
    until_or(|| running.out(), async || running.out().matches("\n    ").count() >= 3).await;
    // A line that is longer than the terminal stays in its row.
    running.type_in(&"0123456789".repeat(12));
    until_or(|| running.out(), async || running.out().ends_with("\u{1b}[79C")).await;
    running.type_in("\u{3}");
    let said = running.ended();
    assert!(!said.out.contains("\u{1b}[1m") && said.out.contains("status 0"), "{said:?}");
    let last = said.out.rsplit('\r').find(|line| line.contains("> ")).unwrap().to_owned();
    assert!(last.contains(&format!("> {}", &"0123456789".repeat(8)[3..])), "{last:?}");
}

#[tokio::test]
async fn lines_of_a_program_are_sent() {
    let (server, ann, bot, chat, person) = scene().await;
    let said = person.run_with(&["chat", "release plan"], "@ann/bot deploy\n\n@bot twice\nnothing\n");
    assert_eq!(said.status, 0, "{said:?}");
    assert!(said.error.contains("No agent gets this text"), "{said:?}");
    let history = ann.history(&chat).await;
    let marker = format!("@[[{}]]", bot.id);
    let texts = history.iter().rev().map(|message| message["content"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!((texts.len(), texts[1]), (4, format!("{marker} deploy").as_str()));
    assert!(texts[2].starts_with(&marker) && texts[2].ends_with(" twice"), "{texts:?}");
    assert_eq!(texts[3], "nothing");
    let agents = |message: &Value| message["metadata"]["mentions"].as_array().unwrap().len();
    assert_eq!(history.iter().rev().map(agents).collect::<Vec<_>>(), [0, 1, 1, 0]);
    // What cannot be sent is a failure.
    let key = ann.post("/api-keys", json!({ "api_key": { "name": "r", "read_only": true } })).await.data();
    let reader = ann.with_key(key["credentials"]["api_key"].as_str().unwrap());
    let said = Person::of(&server, &reader).run_with(&["chat", &chat], "hello\n");
    said.refused(6, "The server refused the request");
}
