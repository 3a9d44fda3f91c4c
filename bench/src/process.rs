//! Processes that are measured: started, and what the kernel says of them.

use std::fs;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use e2e::{Server, free_port};
use tokio::time::sleep;

/// Every rate limit off, and as many sockets as they like: a benchmark is one client that does what thousands would.
/// The log is what it is when nobody says otherwise, and not as in tests.
pub(crate) const SETTINGS: [(&str, &str); 5] = [
    ("PARLANCE_RATE_LIMITS", "false"),
    ("PARLANCE_MAX_SOCKETS_PER_CALLER", "20000"),
    ("PARLANCE_LOG", "info"),
    // The agents of the loops write to one another without end.
    ("PARLANCE_MAX_HOPS", "0"),
    ("PARLANCE_MAX_PAIR_MESSAGES", "0"),
];

/// A line about the machine and the settings, without which no figure says anything.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let model = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = model.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown");
    let settings = SETTINGS.map(|(name, value)| format!("{name}={value}")).join(" ");
    format!("machine: {cores} cores{model}; server: {settings}")
}

/// The bare server, as a process of its own.
pub(crate) struct Bare {
    child: Child,
    pub(crate) address: String,
}

impl Bare {
    pub(crate) async fn start() -> Self {
        let port = free_port();
        let program = std::env::current_exe().unwrap();
        let child = Command::new(program).args(["bare", &port.to_string()]).spawn().unwrap();
        let address = format!("127.0.0.1:{port}");
        let health = format!("http://{address}/health");
        while reqwest::get(&health).await.is_err() {
            sleep(Duration::from_millis(10)).await;
        }
        Self { child, address }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The server that is measured.
pub(crate) async fn parlance() -> Server {
    Server::start_with(&SETTINGS).await
}

/// How long the process has been on a processor, over all its threads that live.
pub(crate) fn cpu(pid: u32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let nanoseconds = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}

/// How long a process, its children, and those of them that have ended have been on a processor.
pub(crate) fn cpu_of_family(pid: u32) -> Duration {
    let processes = fs::read_dir("/proc").unwrap();
    let ids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    // A process may end while this is read; its parent then has its times.
    let ticks = ids.filter_map(|id| {
        let Times { parent, own, waited } = Times::of(&id.to_string())?;
        match () {
            () if id == pid => Some(own + waited),
            () if parent == pid => Some(own),
            () => None,
        }
    });
    Duration::from_millis(ticks.sum::<u64>() * TICK_MS)
}

/// How long all children of this process that have ended were on a processor.
pub(crate) fn cpu_of_ended_children() -> Duration {
    Duration::from_millis(Times::of("self").unwrap().waited * TICK_MS)
}

/// A tick of `/proc/PID/stat`, which Linux fixes for programs.
const TICK_MS: u64 = 10;

/// Ticks on a processor.
struct Times {
    parent: u32,
    own: u64,
    /// Those of children that were waited for.
    waited: u64,
}

impl Times {
    fn of(process: &str) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name before it may contain anything.
        let (_, rest) = text.rsplit_once(") ")?;
        let words = rest.split(' ').collect::<Vec<_>>();
        let ticks = |place: usize| words.get(place)?.parse::<u64>().ok();
        Some(Self {
            parent: words.get(1)?.parse().ok()?,
            own: ticks(11)? + ticks(12)?,
            waited: ticks(13)? + ticks(14)?,
        })
    }
}

/// Resident memory in bytes.
pub(crate) fn resident(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

/// Waits until the process has done next to nothing for a while.
pub(crate) async fn until_idle(pid: u32) {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let before = cpu(pid);
        sleep(Duration::from_millis(500)).await;
        if cpu(pid).abs_diff(before) < Duration::from_millis(10) || Instant::now() > deadline {
            return;
        }
    }
}
