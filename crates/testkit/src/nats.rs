//! A real NATS for tests: a server of one's own on a free port, gone with the process, even if that is killed.
//!
//! Nothing is skipped: without `nats-server` a test fails and says what to install.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::free_port;

/// Ends the server when the other end of its input closes, however its process came to its end.
const SUPERVISOR: &str =
    "\"$@\" </dev/null >/dev/null 2>&1 & server=$!; echo $server; cat >/dev/null; kill -9 $server";

/// The maximum duration of a start or a response.
const PATIENCE: Duration = Duration::from_secs(20);

/// The path of the program on Debian, which is on the search path of root only.
const BESIDE_PATH: &str = "/usr/sbin/nats-server";

/// A NATS server.
pub struct Nats {
    arguments: Vec<String>,
    port: u16,
    monitor: u16,
    running: Option<Running>,
}

struct Running {
    shell: Child,
    server: u32,
}

impl Nats {
    /// Starts a server that accepts every client.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with more arguments, for example `--user` and `--pass`.
    ///
    /// # Panics
    /// If it is not installed, or does not start.
    pub fn start_with(arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let mut nats = Self { arguments, port: free_port(), monitor: free_port(), running: None };
        nats.run();
        nats
    }

    /// Starts it on its port with other arguments.
    ///
    /// # Panics
    /// If it is running.
    pub fn run_with(&mut self, arguments: &[&str]) {
        assert!(self.running.is_none(), "it runs with other arguments");
        self.arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        self.run();
    }

    /// Its port on `127.0.0.1`; the same after a restart.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Starts it on its port, if it does not run.
    pub fn run(&mut self) {
        if self.running.is_some() {
            return;
        }
        let (port, monitor) = (self.port.to_string(), self.monitor.to_string());
        let mut shell = Command::new("/bin/sh")
            .args(["-c", SUPERVISOR, "nats", program()])
            .args(["--addr", "127.0.0.1", "--port", &port, "--http_port", &monitor])
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("/bin/sh can be started");
        let mut server = String::new();
        let mut answers = BufReader::new(shell.stdout.take().expect("its output is a pipe"));
        answers.read_line(&mut server).expect("the shell says which process it is");
        let server = server.trim().parse().expect("the number of a process");
        self.running = Some(Running { shell, server });
        let deadline = Instant::now() + PATIENCE;
        while !self.answers() {
            assert!(Instant::now() < deadline, "nats-server does not start on port {port}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends it as a crash would.
    pub fn kill(&mut self) {
        if let Some(Running { mut shell, .. }) = self.running.take() {
            drop(shell.stdin.take());
            shell.wait().expect("the shell is ours");
        }
    }

    /// Makes it hang: what it is sent waits, and it answers nothing once this returns.
    ///
    /// # Panics
    /// If it does not stop.
    pub fn pause(&self) {
        self.signal("-STOP");
        let server = self.server().to_string();
        let state =
            || Command::new("ps").args(["-o", "stat=", "-p", &server]).output().expect("`ps` can be started");
        let deadline = Instant::now() + PATIENCE;
        while !state().stdout.starts_with(b"T") {
            assert!(Instant::now() < deadline, "NATS does not stop");
        }
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.signal("-CONT");
    }

    /// Publishes a message as another client of the same NATS.
    pub fn publish(&self, subject: &str, payload: &[u8]) {
        let (mut stream, mut lines) = self.talk();
        write!(stream, "PUB {subject} {}\r\n", payload.len()).expect("it takes what it is sent");
        stream.write_all(payload).and_then(|()| stream.write_all(b"\r\nPING\r\n")).expect("it takes it");
        until_pong(&mut lines);
    }

    /// Hears everything from now on.
    pub fn spy(&self) -> Spy {
        let (mut stream, mut lines) = self.talk();
        stream.write_all(b"SUB > 1\r\nPING\r\n").expect("it takes what it is sent");
        until_pong(&mut lines);
        let heard = Arc::<Mutex<Vec<Heard>>>::default();
        let into = heard.clone();
        std::thread::spawn(move || {
            // It ends with the server, or with the process.
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
                if let Some(rest) = line.strip_prefix("MSG ") {
                    let words = rest.split_whitespace().collect::<Vec<_>>();
                    let bytes = words.last().and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
                    let mut payload = vec![0; bytes + 2];
                    if lines.read_exact(&mut payload).is_err() {
                        return;
                    }
                    payload.truncate(bytes);
                    let mut heard = into.lock().unwrap_or_else(PoisonError::into_inner);
                    heard.push((words[0].to_owned(), payload));
                } else if line.starts_with("PING") && stream.write_all(b"PONG\r\n").is_err() {
                    return;
                }
                line.clear();
            }
        });
        Spy { heard }
    }

    /// The subjects with a subscription, except those of requests.
    pub fn subjects(&self) -> Vec<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.monitor)).expect("it can be monitored");
        let request = "GET /subsz?subs=1&limit=100000 HTTP/1.0\r\n\r\n";
        stream.write_all(request.as_bytes()).expect("it takes a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers in text");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        let body: serde_json::Value = serde_json::from_str(body).expect("it answers in JSON");
        let list = body["subscriptions_list"].as_array().cloned().unwrap_or_default();
        let subjects = list.iter().filter_map(|one| one["subject"].as_str().map(str::to_owned));
        let mut subjects = subjects.filter(|subject| !subject.starts_with(['$', '_'])).collect::<Vec<_>>();
        subjects.sort();
        subjects
    }

    fn talk(&self) -> (TcpStream, BufReader<TcpStream>) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it runs");
        let mut lines = BufReader::new(stream.try_clone().expect("a stream has two ends"));
        let mut info = String::new();
        lines.read_line(&mut info).expect("it introduces itself");
        stream.write_all(b"CONNECT {\"verbose\":false,\"pedantic\":false}\r\n").expect("it takes a name");
        (stream, lines)
    }

    fn answers(&self) -> bool {
        let Ok(stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let mut info = String::new();
        BufReader::new(stream).read_line(&mut info).is_ok_and(|_| info.starts_with("INFO "))
    }

    /// The id of its process.
    fn server(&self) -> u32 {
        self.running.as_ref().expect("it runs").server
    }

    fn signal(&self, signal: &str) {
        let server = self.server().to_string();
        let sent = Command::new("kill").args([signal, &server]).status().expect("`kill` can be started");
        assert!(sent.success(), "{signal}");
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A subject, and what was sent to it.
pub type Heard = (String, Vec<u8>);

/// A subscriber to everything.
pub struct Spy {
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Spy {
    /// The messages on subjects with this prefix since the last call.
    pub fn heard(&self, prefix: &str) -> Vec<Heard> {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let all = std::mem::take(&mut *heard);
        all.into_iter().filter(|(subject, _)| subject.starts_with(prefix)).collect()
    }
}

fn until_pong(lines: &mut BufReader<TcpStream>) {
    let mut line = String::new();
    while !line.starts_with("PONG") {
        line.clear();
        assert!(lines.read_line(&mut line).expect("it answers") > 0, "it has ended the connection");
    }
}

fn program() -> &'static str {
    let is_there =
        |program: &str| Command::new(program).arg("--version").stdout(Stdio::null()).status().is_ok();
    if is_there("nats-server") {
        "nats-server"
    } else if Path::new(BESIDE_PATH).exists() {
        BESIDE_PATH
    } else {
        panic!("this test needs NATS: install `nats-server` (Debian: apt-get install nats-server)")
    }
}
