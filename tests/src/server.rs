//! The program as a child process.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use testkit::free_port;
use testkit::postgres::{Database, server as postgres};
use tokio::time::Instant;

use crate::fleet::{Beside, Fleet};
use crate::mode::{is_spread, on_postgres};
use crate::rest::Api;
use crate::secrets;

/// The maximum duration of a start or a stop.
const PATIENCE: Duration = Duration::from_secs(60);

/// The file of a data directory that several servers have to share.
const TOKEN_KEYS: &str = "parlance.db.token-keys";

/// The log level. By default, everything is logged, so that a secret in any line is found.
const LOG: &str = "PARLANCE_LOG";

/// The name that stands among the variables of a server for its program, if it is not [`program`].
pub const PROGRAM: &str = "program";

/// The built program: `PARLANCE_BIN`, or built once for this process.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        #[expect(
            clippy::disallowed_methods,
            reason = "tests are told by the environment which program to drive"
        )]
        if let Ok(given) = std::env::var("PARLANCE_BIN") {
            return PathBuf::from(given);
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let output = Command::new(env!("CARGO"))
            .args(["build", "-p", "server", "--bin", "parlance", "--message-format=json"])
            .current_dir(root)
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        assert!(output.status.success(), "the program does not build");
        let text = String::from_utf8(output.stdout).unwrap();
        let mut built = text.lines().filter_map(|line| {
            let message: Value = serde_json::from_str(line).ok()?;
            message["executable"].as_str().map(PathBuf::from)
        });
        built.next_back().expect("cargo names the program it built")
    })
}

/// A command without the `PARLANCE_` settings of the environment.
pub fn isolated(launcher: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(launcher);
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"PARLANCE_") {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null());
    command
}

/// A running server on a free port of the loopback address.
pub struct Server {
    data: Data,
    port: u16,
    settings: Vec<(String, String)>,
    child: Option<Child>,
    outputs: TempDir,
    /// The database, if the store is not in the data directory. It is dropped after the process ends.
    database: Option<Database>,
    /// The others, where a test is spread over several.
    beside: Option<Box<Beside>>,
}

enum Data {
    Own(TempDir),
    Given(PathBuf),
}

impl Server {
    /// Starts on an empty store: a data directory, or with [`on_postgres`] a database.
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// Starts on an empty store with these variables; three servers, if the test [is spread](is_spread).
    pub async fn start_with(settings: &[(&str, &str)]) -> Self {
        let names_store = settings.iter().any(|(name, _)| *name == "PARLANCE_DATABASE_URL");
        if !is_spread() || names_store {
            return Self::start_alone(settings).await;
        }
        let (mut first, beside) = Beside::first_of(Fleet::with_nats(3, settings).await);
        first.beside = Some(Box::new(beside));
        first
    }

    /// The same, but always one server, for what is one server's own whatever stands beside it: that it is stopped or
    /// killed, what it counts, in which order its events come, and what the others do not know.
    pub async fn start_alone(settings: &[(&str, &str)]) -> Self {
        let names_store = settings.iter().any(|(name, _)| *name == "PARLANCE_DATABASE_URL");
        let database = (on_postgres() && !names_store).then(|| postgres().database());
        Self::launch(Data::Own(TempDir::new().unwrap()), database, settings).await
    }

    /// The same beside another one, whose tokens it accepts.
    pub(crate) async fn start_beside(other: &Self, settings: &[(&str, &str)]) -> Self {
        let data = TempDir::new().unwrap();
        std::fs::copy(other.data().join(TOKEN_KEYS), data.path().join(TOKEN_KEYS)).unwrap();
        Self::launch(Data::Own(data), None, settings).await
    }

    /// Starts on an empty data directory, for what only the embedded store does.
    pub async fn start_embedded() -> Self {
        Self::start_embedded_with(&[]).await
    }

    /// The same with these variables.
    pub(crate) async fn start_embedded_with(settings: &[(&str, &str)]) -> Self {
        Self::launch(Data::Own(TempDir::new().unwrap()), None, settings).await
    }

    /// Starts on the embedded store in this data directory.
    pub async fn start_on(data: &Path, settings: &[(&str, &str)]) -> Self {
        Self::launch(Data::Given(data.to_owned()), None, settings).await
    }

    async fn launch(data: Data, database: Option<Database>, settings: &[(&str, &str)]) -> Self {
        let mut server = Self {
            data,
            port: free_port(),
            settings: settings
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            child: None,
            outputs: TempDir::new().unwrap(),
            database,
            beside: None,
        };
        let database = server.database.as_ref().map(Database::url);
        if database.is_some() && is_spread() {
            server.settings.push(("PARLANCE_CLUSTER_MODE".to_owned(), "multi".to_owned()));
            let files = server.data().join("files").to_str().unwrap().to_owned();
            server.settings.push(("PARLANCE_FILES_DIRECTORY".to_owned(), files));
            server.settings.push(("PARLANCE_FILES_SHARED".to_owned(), "true".to_owned()));
        }
        let urls = server.settings.iter().map(|(_, value)| value).chain(&database);
        urls.for_each(|url| secrets::keep_password_of(url));
        server.run().await;
        server
    }

    /// The data directory.
    pub fn data(&self) -> &Path {
        match &self.data {
            Data::Own(directory) => directory.path(),
            Data::Given(path) => path,
        }
    }

    /// `127.0.0.1:PORT`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The server for the next caller.
    pub(crate) fn for_caller(&self) -> &Self {
        self.beside.as_deref().and_then(Beside::for_caller).unwrap_or(self)
    }

    /// The server for the next socket.
    pub(crate) fn for_socket(&self) -> &Self {
        self.beside.as_deref().and_then(Beside::for_socket).unwrap_or(self)
    }

    /// The standard output of all starts of the server.
    pub fn printed(&self) -> String {
        std::fs::read_to_string(self.outputs.path().join("stdout")).unwrap_or_default()
    }

    /// The standard error of all starts of the server.
    pub fn logged(&self) -> String {
        std::fs::read_to_string(self.outputs.path().join("stderr")).unwrap_or_default()
    }

    /// Both, for the message of a failed test, without the finest lines unless the test has asked for them.
    pub fn log(&self) -> String {
        let chosen = self.settings.iter().any(|(name, _)| name == LOG);
        let is_fine = |line: &&str| line.contains(" TRACE ") || line.contains(" DEBUG ");
        let logged = self.logged();
        let lines = logged.lines().filter(|line| chosen || !is_fine(line));
        format!("{}{}", self.printed(), lines.collect::<Vec<_>>().join("\n"))
    }

    /// The lines of the log that hold a secret, with the secret cut out of them.
    pub fn leaked(&self) -> Vec<String> {
        secrets::keep_file(&self.data().join(TOKEN_KEYS));
        let bytes = std::fs::read(self.outputs.path().join("stderr")).unwrap_or_default();
        secrets::found_in(&String::from_utf8_lossy(&bytes))
    }

    /// For a test that has made the server log a secret: takes the lines that hold one out of the log.
    pub fn forgive_leaks(&self) -> Vec<String> {
        let leaked = self.leaked();
        std::fs::write(self.outputs.path().join("stderr"), "").unwrap();
        leaked
    }

    /// A file that the process goes on writing where it stopped.
    fn output(&self, name: &str) -> File {
        File::options().create(true).append(true).open(self.outputs.path().join(name)).unwrap()
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Its resident memory in bytes.
    pub fn resident_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        resident.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// The command line of this server, for more of its commands.
    pub fn command(&self) -> Command {
        let is_program = |(name, _): &&(String, String)| name == PROGRAM;
        let replaced = self.settings.iter().rev().find(is_program).map(|(_, program)| Path::new(program));
        let mut command = isolated(replaced.unwrap_or_else(|| program()));
        command
            .env("PARLANCE_LISTEN", self.address())
            .env("PARLANCE_DATA_DIR", self.data())
            .envs(self.database.iter().map(|database| ("PARLANCE_DATABASE_URL", database.url())))
            .envs(self.settings.iter().filter(|(name, _)| name != PROGRAM).map(|(name, value)| (name, value)))
            .current_dir(self.data());
        command
    }

    /// Starts the process and waits until it serves; gives how long that took.
    pub async fn run(&mut self) -> Duration {
        let health = format!("http://{}/health", self.address());
        let client = reqwest::Client::new();
        let mut command = self.command();
        if self.settings.iter().all(|(name, _)| name != LOG) {
            command.env(LOG, "trace");
        }
        command.arg("serve").stdout(self.output("stdout")).stderr(self.output("stderr"));
        let started = Instant::now();
        let deadline = started + PATIENCE;
        self.child = Some(command.spawn().unwrap());
        // Where TLS is spoken, this is refused by who speaks it.
        let encrypts = self.settings.iter().any(|(name, _)| name == "PARLANCE_TLS_CERTIFICATE");
        let serves = if encrypts { 400 } else { 200 };
        while !client.get(&health).send().await.is_ok_and(|answer| answer.status() == serves) {
            let ended = self.child.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "the server ended: {ended:?}\n{}", self.log());
            assert!(Instant::now() < deadline, "the server does not serve\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        started.elapsed()
    }

    /// Sets a variable for the next start.
    pub fn set(&mut self, name: &str, value: &str) {
        self.settings.push((name.to_owned(), value.to_owned()));
    }

    /// Kills it as a crash would.
    pub fn kill9(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Sends it a signal, as `-TERM`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.pid().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Asks it to stop (SIGTERM) and gives how long that took; it must end with status 0.
    pub async fn terminate(&mut self) -> Duration {
        self.signal("-TERM");
        self.ended().await
    }

    /// Waits for the end of a server that was told to stop, and gives how long that took; its status must be 0.
    pub async fn ended(&mut self) -> Duration {
        let mut child = self.child.take().unwrap();
        let started = Instant::now();
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                assert!(status.success(), "{status}\n{}", self.log());
                return started.elapsed();
            }
            if started.elapsed() > PATIENCE {
                child.kill().unwrap();
                panic!("the server does not stop\n{}", self.log());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Kills it and starts it again on the same data and port.
    pub async fn crash(&mut self) {
        self.kill9();
        self.run().await;
    }

    /// `parlance user create`, also while the server runs: the user's interface.
    pub fn user(&self, handle: &str) -> Api {
        self.user_with(handle, &[])
    }

    /// A new user with this handle in the organization of this name.
    pub fn colleague(&self, handle: &str, organization: &str) -> Api {
        self.user_with(handle, &["--org", organization])
    }

    fn user_with(&self, handle: &str, more: &[&str]) -> Api {
        let email = format!("{handle}@example.org");
        let output = self
            .command()
            .args(["user", "create", "--handle", handle, "--email", &email, "--name", handle, "--json"])
            .args(more)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output));
        let created: Value = serde_json::from_slice(&output.stdout).unwrap();
        let id = created["user"]["id"].as_str().unwrap();
        Api::new(self, "me", created["api_key"].as_str().unwrap(), id)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself; then there is nothing to kill.
            let _ = child.kill();
            let _ = child.wait();
        }
        if !std::thread::panicking() {
            let leaked = self.leaked();
            assert!(leaked.is_empty(), "the server has logged secrets:\n{}", leaked.join("\n"));
        }
        if std::thread::panicking() {
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "--- the server said:\n{}", self.log());
        }
    }
}

/// Both outputs of a command.
pub(crate) fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
