//! `parlance client screen`, on a terminal that is emulated, so that a test sees what a person sees.

use std::cell::RefCell;
use std::fs;
use std::num::NonZeroU16;
use std::process::{Command, Stdio};

use e2e::{Api, Server, isolated, program, until_or};
use serde_json::json;

use crate::{HOSTILE, Person, Running, Said, room};

/// A terminal with a person.
struct Terminal {
    running: Running,
    emulator: vt100::Parser,
    /// The number of bytes that the emulator has.
    taken: usize,
    /// What the shell has printed before: the name of the terminal, and the id of the process.
    tty: String,
    process: String,
}

fn size(value: u16) -> NonZeroU16 {
    NonZeroU16::new(value).unwrap()
}

impl Terminal {
    /// Starts the screen with 80 columns and 24 rows. What follows it in the shell shows how it left the terminal.
    async fn start(person: &Person, arguments: &str, variables: &[(&str, &str)]) -> Self {
        let mut command: Command = isolated("script");
        let run = format!("echo pid=$$.; exec \"{}\" client screen {arguments}", program().display());
        let line = format!("stty cols 80 rows 24; echo tty=$(tty).; sh -c '{run}'; echo status $?; stty -a");
        let line = ["--quiet", "--flush", "--command", &line, "/dev/null"];
        person.prepare(&mut command).args(line).envs(variables.iter().copied()).stdin(Stdio::piped());
        let running = Running::start(&mut command);
        until_or(|| running.out(), async || running.out().contains("\u{1b}[?1049h")).await;
        let value = |name: &str| {
            let out = running.out();
            out.split_once(name).unwrap().1.split_once('.').unwrap().0.to_owned()
        };
        let (tty, process) = (value("tty="), value("pid="));
        Self { running, emulator: vt100::Parser::new(size(24), size(80), 0), taken: 0, tty, process }
    }

    /// What the person sees.
    fn seen(&mut self) -> String {
        let out = fs::read(self.running.output("out")).unwrap();
        self.emulator.process(&out[self.taken..]);
        self.taken = out.len();
        self.emulator.screen().contents()
    }

    /// Waits until the person sees this text.
    async fn shows(&mut self, text: &str) {
        self.until(|seen| seen.contains(text), text).await;
    }

    /// Waits until what the person sees is as expected.
    async fn until(&mut self, is_so: impl Fn(&str) -> bool, expected: &str) {
        let seen = RefCell::new(String::new());
        until_or(
            || format!("it does not show {expected:?}, but\n{}", seen.borrow()),
            async || {
                seen.replace(self.seen());
                is_so(&seen.borrow())
            },
        )
        .await;
    }

    fn press(&mut self, keys: &str) {
        self.running.type_in(keys);
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        self.seen();
        self.emulator.set_size(size(rows), size(columns));
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let status =
            Command::new("stty").args(["-F", &self.tty, "cols", &columns, "rows", &rows]).status().unwrap();
        assert!(status.success());
    }

    fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.process]).status().unwrap().success());
    }

    /// Waits for the end of the command, which must leave the terminal as it was.
    async fn ended(mut self, status: i32) -> Said {
        let line = format!("status {status}");
        self.until(|seen| seen.contains(&line), &line).await;
        let screen = self.emulator.screen();
        assert!(!screen.alternate_screen() && !screen.bracketed_paste() && !screen.hide_cursor());
        let said = self.running.ended();
        for mode in ["icanon", "echo ", "isig", "icrnl"] {
            let is_on = said.out.contains(mode) && !said.out.contains(&format!("-{mode}"));
            assert!(is_on, "the terminal is as it was: {said:?}");
        }
        said
    }
}

/// A room with an agent that owes an answer.
async fn scene() -> (Server, Api, Api, String, Person) {
    let (server, ann, bot, chat, person) = room().await;
    ann.sent(&chat, "please deploy", &[&bot.id]).await;
    (server, ann, bot, chat, person)
}

#[tokio::test]
async fn a_person_reads_writes_and_handles_work() {
    let (mut server, ann, bot, chat, person) = scene().await;
    let failed = bot.next(&chat).await.unwrap();
    for step in ["processing", "failed"] {
        assert_eq!(bot.step(&chat, &failed, step).await.status, 200);
    }
    bot.sent(&chat, "I am on it", &[&ann.id]).await;
    let mut terminal = Terminal::start(&person, "", &[]).await;
    terminal.shows("Work (1)").await;
    terminal.shows("▸ Release plan").await;
    terminal.shows("@ann/bot  failed").await;
    terminal.shows("it did not work").await;
    let is_unread =
        |seen: &str| seen.lines().any(|row| row.contains("▸ Release plan") && row.contains(" 1 "));
    terminal.until(is_unread, "an unread text").await;
    // Reading the room marks it as read.
    terminal.press("\r");
    terminal.shows("@ann/bot: @ann I am on it").await;
    terminal.until(|seen| !is_unread(seen), "no unread text").await;
    // A text with a mention, whose handle the tab key completes.
    terminal.press("i");
    let handle = "> @ann/bot ";
    until_or(
        || "the handle is not known".to_owned(),
        async || {
            terminal.press("\u{15}@ann/b\t");
            terminal.seen().contains(handle)
        },
    )
    .await;
    terminal.press("is it dome\u{7f}\u{7f}ne?\r");
    terminal.shows("@ann: @ann/bot is it done?").await;
    terminal.shows("Work (2)").await;
    bot.sent(&chat, HOSTILE, &[&ann.id]).await;
    terminal.shows("forged").await;
    let out = terminal.running.out();
    assert!(!out.contains("\u{1b}]") && !out.contains('\u{9b}') && !out.contains('\u{202e}'), "{out:?}");
    let seen = terminal.seen();
    assert!(!seen.contains("┃2030") && !seen.contains("│2030"), "a line passes for a message: {seen}");
    // The agent gets the first message again, and the second no more.
    terminal.press("\u{1b}");
    terminal.shows("? help").await;
    terminal.press("\tr");
    terminal.shows("Offer this message to @ann/bot again?").await;
    terminal.press("y");
    terminal.shows("Retried. @ann/bot has not begun yet.").await;
    assert_eq!(bot.next(&chat).await, Some(failed));
    terminal.press("js");
    terminal.shows("Dead-letter this message").await;
    terminal.press("no longer needed\r");
    terminal.shows("@ann/bot no longer gets this message").await;
    terminal.shows("Work (1)").await;
    let dead = ann.get("/work?state=dead").await.body["data"].clone();
    assert_eq!(dead[0]["dead_reason"], "no longer needed");
    // Over a restart, nothing is lost.
    server.kill9();
    terminal.shows("reconnecting").await;
    server.run().await;
    bot.sent(&chat, "I was away", &[&ann.id]).await;
    terminal.shows("I was away").await;
    terminal.until(|seen| !seen.contains("reconnecting"), "that it is connected").await;
    // With few columns, one pane is shown.
    terminal.resize(40, 20);
    terminal.until(|seen| seen.contains("Work (1)") && !seen.contains("Release plan"), "work only").await;
    terminal.press("\t");
    terminal.until(|seen| seen.contains("▸ Release plan") && !seen.contains("Work"), "rooms only").await;
    // A key and a change of the size that come at once are both seen.
    for (columns, focused, is_wide) in [
        (80, "┏ Release plan", true),
        (40, "┏ Work", false),
        (80, "┏ Rooms", true),
        (40, "┏ Release plan", false),
    ] {
        terminal.signal("-STOP");
        terminal.resize(columns, 20);
        terminal.press("\t");
        terminal.signal("-CONT");
        let is_so = |seen: &str| seen.contains(focused) && seen.contains("Rooms") == is_wide;
        terminal.until(is_so, focused).await;
    }
    terminal.press("q");
    terminal.ended(0).await;
}

#[tokio::test]
async fn signals_and_failures_leave_the_terminal_as_it_was() {
    let (server, ann, _bot, _chat, person) = scene().await;
    let variables = [("NO_COLOR", "1")];
    let mut terminal = Terminal::start(&person, "\"release plan\"", &variables).await;
    terminal.shows("@ann: @ann/bot please deploy").await;
    let out = terminal.running.out();
    for style in ["\u{1b}[1m", "\u{1b}[2m", "\u{1b}[7m", "\u{1b}[31m", "\u{1b}[36m", "\u{1b}[38;"] {
        assert!(!out.contains(style), "{style:?}: {out:?}");
    }
    terminal.signal("-TERM");
    terminal.ended(0).await;
    // With colors, there are such styles.
    let key = ann.post("/api-keys", json!({ "api_key": { "name": "other" } })).await.data();
    let other = ann.with_key(key["credentials"]["api_key"].as_str().unwrap());
    let person = Person::of(&server, &other);
    let mut terminal = Terminal::start(&person, "", &[]).await;
    terminal.shows("Work (1)").await;
    assert!(terminal.running.out().contains("\u{1b}[7m"), "{:?}", terminal.running.out());
    let id = key["api_key"]["id"].as_str().unwrap();
    assert_eq!(ann.delete(&format!("/api-keys/{id}")).await.status, 200);
    terminal.shows("does not accept the API key").await;
    terminal.ended(6).await;
}

/// A script has other commands.
#[tokio::test]
async fn without_a_terminal_it_says_so() {
    let (_server, _ann, _bot, _chat, person) = scene().await;
    person.run(&["screen"]).refused(1, "`parlance client screen` needs a terminal");
    let dumb = person.command(&["screen"]).env("TERM", "dumb").output().unwrap();
    Said::of(&dumb).refused(1, "use `parlance client rooms`");
}
