//! The client of the command line, as a user runs it: `parlance client`. The modules test questions to agents, following
//! rooms, and writing to one.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod ask;
mod chat;
mod screen;
mod tail;
mod tls;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use e2e::{Api, Server, free_port, isolated, program};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A text with which somebody tries to take over the terminal of its reader.
pub(crate) const HOSTILE: &str =
    "look\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}\r\n2030-01-01T00:00:00Z @ann: forged";

/// A server, Ann with an agent in a room, and a person who has Ann's key.
pub(crate) async fn room() -> (Server, Api, Api, String, Person) {
    let server = Server::start_alone(&[]).await;
    let ann = server.user("ann");
    let bot = ann.register(&server, "Bot").await;
    let chat = ann.create_chat().await;
    assert_eq!(ann.add(&chat, &bot.id).await.status, 201);
    let title = json!({ "chat": { "title": "Release plan" } });
    assert_eq!(ann.call(Method::PATCH, &format!("/chats/{chat}"), Some(title)).await.status, 200);
    let person = Person::of(&server, &ann);
    (server, ann, bot, chat, person)
}

/// A person with a home directory.
pub(crate) struct Person {
    home: TempDir,
    variables: Vec<(&'static str, String)>,
}

impl Person {
    /// Somebody who is logged in nowhere.
    fn new() -> Self {
        Self { home: TempDir::new().unwrap(), variables: Vec::new() }
    }

    /// Somebody with this user's key in the environment.
    pub(crate) fn of(server: &Server, user: &Api) -> Self {
        let url = format!("http://{}", server.address());
        Self { variables: vec![("PARLANCE_URL", url), ("PARLANCE_KEY", user.key.clone())], ..Self::new() }
    }

    /// `parlance client` with these arguments.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = isolated(program());
        self.prepare(&mut command).arg("client").args(arguments);
        command
    }

    /// Sets the environment.
    pub(crate) fn prepare<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let variables = self.variables.iter().map(|(name, value)| (*name, value.as_str()));
        command
            .env("HOME", self.home.path())
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("NO_COLOR")
            .env("TERM", "xterm")
            .envs(variables)
            .current_dir(self.home.path())
    }

    /// What a command does.
    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        Said::of(&self.command(arguments).output().unwrap())
    }

    /// The same with this standard input.
    pub(crate) fn run_with(&self, arguments: &[&str], input: &str) -> Said {
        let mut command = self.command(arguments);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Said::of(&child.wait_with_output().unwrap())
    }

    /// A command that goes on, with its output in files.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.command(arguments);
        Running::start(&mut command)
    }
}

/// The exit status and the outputs of a command.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) error: String,
}

impl Said {
    pub(crate) fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let status = output.status.code().expect("it was not killed");
        Self { status, out: text(&output.stdout), error: text(&output.stderr) }
    }

    /// The standard output of a command that succeeded.
    pub(crate) fn printed(self) -> String {
        assert_eq!(self.status, 0, "{self:?}");
        self.out
    }

    /// Its status, which is no success, with a sentence on standard error and nothing on standard output.
    pub(crate) fn refused(&self, status: i32, sentence: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert!(self.error.contains(sentence) && self.out.is_empty(), "{self:?}");
    }
}

/// A command that goes on.
pub(crate) struct Running {
    child: Option<Child>,
    outputs: TempDir,
}

impl Running {
    /// Starts it with its output in files.
    pub(crate) fn start(command: &mut Command) -> Self {
        let outputs = TempDir::new().unwrap();
        let file = |name: &str| File::create(outputs.path().join(name)).unwrap();
        let child = command.stdout(file("out")).stderr(file("error")).spawn().unwrap();
        Self { child: Some(child), outputs }
    }

    fn output(&self, name: &str) -> PathBuf {
        self.outputs.path().join(name)
    }

    /// What it has printed.
    pub(crate) fn out(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.output("out")).unwrap()).into_owned()
    }

    /// What it has printed on standard error.
    pub(crate) fn error(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.output("error")).unwrap()).into_owned()
    }

    /// Its standard input.
    pub(crate) fn type_in(&mut self, text: &str) {
        let input = self.child.as_mut().unwrap().stdin.as_mut().unwrap();
        input.write_all(text.as_bytes()).unwrap();
        input.flush().unwrap();
    }

    /// Ends its standard input.
    pub(crate) fn close_input(&mut self) {
        drop(self.child.as_mut().unwrap().stdin.take());
    }

    /// Sends it a signal, as `-INT`.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// Waits for its end.
    pub(crate) fn ended(mut self) -> Said {
        let status = self.child.take().unwrap().wait().unwrap();
        Said { status: status.code().expect("it was not killed"), out: self.out(), error: self.error() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself; then there is nothing to kill.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[tokio::test]
async fn a_login_stores_a_profile_that_later_commands_use() {
    let server = Server::start_alone(&[]).await;
    let ann = server.user("ann");
    let chat = ann.create_chat().await;
    ann.sent(&chat, "Release plan", &[]).await;
    let person = Person::new();
    let url = format!("http://{}", server.address());
    let said = person.run(&["rooms"]);
    said.refused(1, "You are not logged in. Run `parlance client login`");
    let said = person.run_with(&["login", &url], &format!("{}\n", ann.key)).printed();
    assert!(said.contains("as @ann.") && !said.contains(&ann.key), "{said}");
    let file = person.home.path().join(".config/parlance/client.toml");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let rooms = person.run(&["rooms", "--json"]).printed();
    let rooms = serde_json::from_str::<Value>(&rooms).unwrap();
    assert_eq!(
        (&rooms["rooms"][0]["id"], &rooms["rooms"][0]["title"]),
        (&Value::from(chat), &"Release plan".into())
    );
    assert!(person.run(&["rooms"]).printed().contains("Release plan"));
    let profiles = person.run(&["profiles", "--json"]).printed();
    assert!(
        profiles.contains("\"default\"") && profiles.contains(&url) && !profiles.contains(&ann.key),
        "{profiles}"
    );
    // A second server has a profile of its own, and none is used for another.
    let said = person.run(&["rooms", "--profile", "work"]);
    said.refused(1, "There is no profile 'work'");
    person.run_with(&["login", &url, "--profile", "work"], &ann.key).printed();
    person.run(&["rooms", "--profile", "work"]).printed();
    let other = person.command(&["rooms"]).env("PARLANCE_URL", "http://127.0.0.1:1").output().unwrap();
    Said::of(&other).refused(1, "There is no key for http://127.0.0.1:1");
    person.run(&["logout"]).printed();
    person.run(&["rooms"]).refused(1, "You are not logged in");
    person.run(&["logout"]).refused(1, "There is no profile 'default'");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    person.run(&["rooms", "--profile", "work"]).refused(1, "Others may read");
}

#[tokio::test]
async fn a_login_checks_the_key() {
    let server = Server::start_alone(&[]).await;
    let ann = server.user("ann");
    let bot = ann.register(&server, "Bot").await;
    let url = format!("http://{}", server.address());
    let person = Person::new();
    let unknown = format!("thnv_u_{}", "x".repeat(43));
    person
        .run_with(&["login", &url], &unknown)
        .refused(6, "does not accept the API key. It is from your input");
    person.run_with(&["login", &url], &bot.key).refused(6, "The server refused the request");
    person.run_with(&["login", &url], "").refused(1, "The API key is empty");
    let nobody = format!("http://127.0.0.1:{}", free_port());
    person.run_with(&["login", &nobody], &ann.key).refused(7, "Cannot reach http://127.0.0.1:");
    assert!(!person.home.path().join(".config").exists(), "nothing was stored");
    // The key in the environment needs no input.
    let said = person.command(&["login", &url]).env("PARLANCE_KEY", &ann.key).output().unwrap();
    assert!(Said::of(&said).printed().contains("Logged in"));
}

/// These commands talk to a server only, so that settings of a store are a mistake.
#[test]
fn settings_of_a_store_are_refused() {
    for arguments in [["--data-dir", "x", "client", "rooms"], ["client", "rooms", "--data-dir", "x"]] {
        let output = isolated(program()).args(arguments).output().unwrap();
        Said::of(&output).refused(1, "it does not take --data-dir x");
    }
    let help = isolated(program()).args(["client", "rooms", "--help"]).output().unwrap();
    assert!(!Said::of(&help).printed().contains("--data-dir"));
}
