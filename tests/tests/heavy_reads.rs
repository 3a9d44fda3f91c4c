//! A caller who asks for many large pages at once: the pages are small, the others hardly notice, and memory stays
//! bounded. `PARLANCE_TEST_FULL=1` sends 800 requests instead of 120; with `--nocapture` the figures are printed.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::time::{Duration, Instant};

use e2e::{Api, Server, p99};
use futures_util::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::timeout;

const TEXT: usize = 512 * 1024;
const TEXTS: usize = 16;

/// What an answer by cursor may weigh, its members around the rows included.
const PAGE_BYTES: usize = 1_100_000;

/// The most memory that the server may ever hold.
const MEMORY_KIB: u64 = 300 * 1024;

/// How long anybody else may ever wait, on a machine that is busy with other tests and without optimization. With pages
/// of 8 MB it was more than 20 seconds.
const WITNESS: Duration = Duration::from_secs(10);

fn requests() -> usize {
    if std::env::var_os("PARLANCE_TEST_FULL").is_some() { 800 } else { 120 }
}

/// One GET on a connection of its own.
struct Got {
    status: u16,
    retry_after: bool,
    bytes: usize,
}

async fn get(server: &Server, key: &str, path: &str) -> Got {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
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

/// Sends texts, and asks whether the server is well, until told to stop; the times that each took.
async fn witness(
    server: &Server,
    api: &Api,
    room: &str,
    mut stop: oneshot::Receiver<()>,
) -> [Vec<Duration>; 2] {
    let (mut posts, mut health) = (Vec::new(), Vec::new());
    while stop.try_recv().is_err() {
        let begun = Instant::now();
        assert_eq!(api.send(room, "all well?", &[]).await.status, 201);
        posts.push(begun.elapsed());
        let begun = Instant::now();
        assert_eq!(get(server, "", "/health").await.status, 200);
        health.push(begun.elapsed());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    [posts, health]
}

fn most_memory_kib(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    most.trim().trim_end_matches(" kB").parse().unwrap()
}

/// How many texts somebody sees who follows the pages and, when refused for having read too much, tries again.
async fn texts(reader: &Api, room: &str) -> usize {
    let (mut seen, mut cursor, begun) = (0, String::new(), Instant::now());
    loop {
        let page = reader.get(&format!("/chats/{room}/messages?limit=100{cursor}")).await;
        if page.status == 429 {
            assert!(begun.elapsed() < Duration::from_secs(60), "{page:?}");
            tokio::time::sleep(Duration::from_millis(200)).await;
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
    let server = Server::start_alone(&[]).await;
    let (eve, wit) = (server.user("eve"), server.user("wit"));
    let (heavy, light) = (eve.create_chat().await, wit.create_chat().await);
    for _ in 0..TEXTS {
        eve.sent(&heavy, &"x".repeat(TEXT), &[]).await;
    }
    let path = format!("/api/v1/me/chats/{heavy}/messages?limit=100");
    let (stop, stopped) = oneshot::channel();
    let attack = async {
        let answers = join_all((0..requests()).map(|_| get(&server, &eve.key, &path))).await;
        stop.send(()).unwrap();
        answers
    };
    let (answers, [mut posts, mut health]) = tokio::join!(attack, witness(&server, &wit, &light, stopped));

    let whole = answers.iter().filter(|got| got.status == 200);
    let (count, largest) = (whole.clone().count(), whole.map(|got| got.bytes).max().unwrap_or(0));
    let memory = most_memory_kib(&server);
    println!(
        "{count} of {} answered, at most {largest} bytes; POST p99 {:?}, worst {:?}; /health p99 {:?}, worst {:?}; \
         memory {} MiB",
        answers.len(),
        p99(&mut posts),
        posts.last().unwrap(),
        p99(&mut health),
        health.last().unwrap(),
        memory / 1024,
    );
    assert!(count > 0 && (TEXT..PAGE_BYTES).contains(&largest), "{count} whole, {largest} bytes");
    for got in answers.iter().filter(|got| got.status != 200) {
        assert!(matches!(got.status, 429 | 503) && got.retry_after, "{}", got.status);
    }
    assert!(memory < MEMORY_KIB, "{memory} KiB");
    assert!(posts.last().unwrap() < &WITNESS && health.last().unwrap() < &WITNESS, "{posts:?} {health:?}");

    assert_eq!(texts(&eve, &heavy).await, TEXTS);
}
