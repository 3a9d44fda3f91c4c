//! A caller who requests many large pages at once, by cursor and by number: pages and memory stay bounded, and other
//! callers hardly notice. `PARLANCE_TEST_FULL=1` sends 800 requests of each kind instead of 120, and expects
//! the times of the shipped build; `--nocapture` prints the figures.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::time::Duration;

use e2e::{Api, Server, free_port, is_full, p99, pace};
use futures_util::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

const TEXT: usize = 512 * 1024;
const TEXTS: usize = 16;

/// The pages that are asked for: what follows their path, and what the largest answer weighs at least and at most, its
/// members around the rows included. All texts are 8 MiB, and a page by number holds less than that.
const PAGES: [(&str, usize, usize); 3] = [
    ("?limit=100", TEXT, 1_100_000),
    ("?page=1&page_size=15", TEXT * (TEXTS - 2), 8_500_000),
    ("", TEXT * (TEXTS - 2), 8_500_000),
];

/// The most memory that the server may ever hold.
const MEMORY_KIB: u64 = 300 * 1024;

/// The maximum wait of another caller, on a machine that is busy with other tests and without optimization. Without
/// bounds, it was more than 20 seconds.
const WITNESS: Duration = Duration::from_secs(10);

/// The published p99 of other users' requests, and of health checks on the thread of their own, judged with the build
/// that is shipped. Without optimization, building one page of 8 MiB takes longer.
fn targets() -> [Duration; 2] {
    if is_full() { [250, 50].map(Duration::from_millis) } else { [WITNESS; 2] }
}

fn requests() -> usize {
    if is_full() { 800 } else { 120 }
}

/// One GET on a connection of its own.
struct Got {
    status: u16,
    retry_after: bool,
    bytes: usize,
}

async fn get(address: &str, key: &str, path: &str) -> Got {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let read = timeout(Duration::from_secs(60), stream.read_to_end(&mut answer)).await;
    read.expect("every request is answered").unwrap();
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8_lossy(&answer[..end]).to_lowercase();
    Got {
        status: head[9..12].parse().unwrap(),
        retry_after: head.contains("\r\nretry-after: "),
        bytes: answer.len() - end,
    }
}

/// The requests of another caller meanwhile, and their durations.
#[derive(Default)]
struct Witnessed {
    /// Texts were sent.
    posts: Vec<Duration>,
    /// The server was asked whether it is well.
    health: Vec<Duration>,
    /// The same on the port of the metrics.
    probes: Vec<Duration>,
}

/// Sends texts, and asks whether the server is well, until told to stop.
async fn witness(
    server: &Server,
    metrics: &str,
    api: &Api,
    room: &str,
    mut stop: oneshot::Receiver<()>,
) -> Witnessed {
    let mut seen = Witnessed::default();
    while stop.try_recv().is_err() {
        let begun = Instant::now();
        assert_eq!(api.send(room, "all well?", &[]).await.status, 201);
        seen.posts.push(begun.elapsed());
        for (address, times) in [(&*server.address(), &mut seen.health), (metrics, &mut seen.probes)] {
            let begun = Instant::now();
            assert_eq!(get(address, "", "/health").await.status, 200);
            times.push(begun.elapsed());
        }
        pace(Duration::from_millis(5)).await;
    }
    seen
}

fn most_memory_kib(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    most.trim().trim_end_matches(" kB").parse().unwrap()
}

/// The number of texts that a reader sees who follows the pages and retries after each 429.
async fn texts(reader: &Api, room: &str) -> usize {
    let (mut seen, mut cursor, begun) = (0, String::new(), Instant::now());
    loop {
        let page = reader.get(&format!("/chats/{room}/messages?limit=100{cursor}")).await;
        if page.status == 429 {
            assert!(begun.elapsed() < Duration::from_secs(60), "{page:?}");
            pace(Duration::from_millis(200)).await;
            continue;
        }
        seen += page.body["data"].as_array().unwrap().len();
        match page.body["metadata"]["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return seen,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_reads_much_at_once_stops_nobody_else() {
    let metrics = format!("127.0.0.1:{}", free_port());
    for (query, least, most) in PAGES {
        let server = Server::start_alone(&[("PARLANCE_METRICS_LISTEN", &metrics)]).await;
        let (eve, wit) = (server.user("eve"), server.user("wit"));
        let (heavy, light) = (eve.create_chat().await, wit.create_chat().await);
        for _ in 0..TEXTS {
            eve.sent(&heavy, &"x".repeat(TEXT), &[]).await;
        }
        let (address, path) = (server.address(), format!("/api/v1/me/chats/{heavy}/messages{query}"));
        let (stop, stopped) = oneshot::channel();
        let attack = async {
            let answers = join_all((0..requests()).map(|_| get(&address, &eve.key, &path))).await;
            stop.send(()).unwrap();
            answers
        };
        let (answers, mut seen) = tokio::join!(attack, witness(&server, &metrics, &wit, &light, stopped));

        let whole = answers.iter().filter(|got| got.status == 200);
        let (count, largest) = (whole.clone().count(), whole.map(|got| got.bytes).max().unwrap_or(0));
        let memory = most_memory_kib(&server);
        println!("{query:?}: {count} of {} answered, at most {largest} bytes", answers.len());
        println!("memory {} MiB", memory / 1024);
        let [others, own_thread] = targets();
        for (what, times, target) in [
            ("POST", &mut seen.posts, others),
            ("/health", &mut seen.health, others),
            ("/health of the metrics", &mut seen.probes, own_thread),
        ] {
            let p99 = p99(times);
            let worst = *times.last().unwrap();
            println!("{what}: p99 {p99:?}, worst {worst:?}, of {}", times.len());
            assert!(p99 < target && worst < WITNESS, "{query:?} {what}: {times:?}");
        }
        assert!(count > 0 && (least..most).contains(&largest), "{count} whole, {largest} bytes");
        for got in answers.iter().filter(|got| got.status != 200) {
            assert!(matches!(got.status, 429 | 503) && got.retry_after, "{}", got.status);
        }
        assert!(memory < MEMORY_KIB, "{memory} KiB");
        assert_eq!(texts(&eve, &heavy).await, TEXTS);
    }
}
