//! The small shell that keeps a cluster, and ends with the process that started it.
//!
//! It runs as an unprivileged user (PostgreSQL refuses root) and holds one end of a pipe whose other end
//! only this process has. However this process comes to its end, the pipe closes, and the shell stops
//! the server and removes the directory.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::fs::statvfs;

const SCRIPT: &str = include_str!("supervisor.sh");

/// Users that may run the server when the tests run as root.
const UNPRIVILEGED: [&str; 2] = ["postgres", "nobody"];

/// Above it, the path of the server's Unix socket would be longer than every system allows (103 bytes).
const LONGEST_PARENT_BYTES: usize = 64;

/// A file system in memory, and the free space that it must have, in bytes. On a disk, creating and removing the files of
/// databases takes half of the time of the store's tests.
const MEMORY: (&str, u64) = ("/dev/shm", 4 << 30);

pub(super) struct Supervisor {
    shell: Child,
    /// Taken by `drop` only.
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    directory: PathBuf,
}

impl Supervisor {
    /// Starts the shell, which makes the directory: in `parent` if one is given, else in memory, if there is room.
    pub(super) fn start(programs: &Path, parent: Option<&Path>) -> Self {
        let user = user_and_group();
        if let Some(parent) = parent {
            return Self::start_in(parent, programs, user)
                .expect("PostgreSQL's user can write to the directory");
        }
        let temporary = std::env::temp_dir();
        let (memory, least) = MEMORY;
        let has_room =
            statvfs(memory).is_ok_and(|found| found.f_bavail.saturating_mul(found.f_frsize) >= least);
        let memory = has_room.then_some(Path::new(memory));
        let on_disk = [temporary.as_path(), Path::new("/tmp"), Path::new("/var/tmp")];
        memory
            .into_iter()
            .chain(on_disk)
            .filter(|parent| parent.as_os_str().len() <= LONGEST_PARENT_BYTES)
            .find_map(|parent| Self::start_in(parent, programs, user))
            .expect("a directory in TMPDIR, /tmp or /var/tmp can be made by the user that runs PostgreSQL")
    }

    fn start_in(parent: &Path, programs: &Path, user: Option<(u32, u32)>) -> Option<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT, "supervisor"]).args([programs, parent]);
        // Nothing of the caller's settings (PGHOST, PGDATA, …) is meant for this server.
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        command.env_clear().env("PATH", path).env("LC_ALL", "C");
        command.current_dir("/").process_group(0);
        if let Some((user, group)) = user {
            command.uid(user).gid(group);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut shell = command.spawn().expect("/bin/sh can be started");
        let commands = shell.stdin.take();
        let mut answers = BufReader::new(shell.stdout.take().expect("its output is a pipe"));
        let mut directory = String::new();
        answers.read_line(&mut directory).expect("the shell's output is text");
        if directory.is_empty() {
            shell.wait().expect("the shell is ours");
            return None;
        }
        Some(Self { shell, commands, answers, directory: directory.trim_end().into() })
    }

    /// The cluster's directory, which also holds its Unix socket.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes the cluster's files.
    pub(super) fn create(&mut self) {
        self.expect("create");
    }

    /// Appends a text to a file of the cluster.
    pub(super) fn append(&mut self, file: &str, text: &str) {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            self.expect(&format!("write {file} {line}"));
        }
    }

    /// Gives a file of the cluster another content.
    pub(super) fn replace(&mut self, file: &str, text: &str) {
        self.expect(&format!("empty {file}"));
        self.append(file, text);
    }

    /// Starts the server; what it wrote, if it does not come up.
    pub(super) fn start_server(&mut self) -> Result<(), String> {
        if self.order("start").0 { Ok(()) } else { Err(self.order("log").1) }
    }

    /// Stops the server like a crash: it writes nothing more and waits for no client.
    pub(super) fn stop_server(&mut self) {
        self.expect("stop");
    }

    fn expect(&mut self, command: &str) {
        let (done, _) = self.order(command);
        assert!(done, "PostgreSQL: `{command}` failed:\n{}", self.order("log").1);
    }

    /// Has a command carried out: whether it went well, and what it printed.
    fn order(&mut self, command: &str) -> (bool, String) {
        let pipe = self.commands.as_mut().expect("open until this is dropped");
        writeln!(pipe, "{command}").expect("the supervising shell lives");
        let mut printed = String::new();
        loop {
            let mut line = String::new();
            let bytes = self.answers.read_line(&mut line).expect("the shell's output is text");
            assert!(bytes > 0, "the supervising shell ended in the middle of `{command}`");
            if let Some(status) = line.strip_prefix("= ") {
                return (status.trim_end() == "0", printed);
            }
            printed.push_str(&line);
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        drop(self.commands.take());
        self.shell.wait().ok();
    }
}

/// As whom the server runs if we are root: user and group.
fn user_and_group() -> Option<(u32, u32)> {
    if id(&["-u"]) != Some(0) {
        return None;
    }
    let user = UNPRIVILEGED.iter().find_map(|name| Some((id(&["-u", name])?, id(&["-g", name])?)));
    Some(user.expect("PostgreSQL does not run as root, and there is neither a user postgres nor nobody"))
}

fn id(arguments: &[&str]) -> Option<u32> {
    let output = Command::new("id").args(arguments).output().expect("the program `id` can be started");
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}
