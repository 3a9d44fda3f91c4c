//! Files that are uploaded and downloaded: what those who send messages meanwhile notice, and the memory it takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use e2e::{Api, message, pace};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http::of_agent;
use crate::load::{self, Asker, stamped_text};
use crate::places::Place;
use crate::process::{resident, until_idle};
use crate::report::{Row, Target, number};
use crate::scene;
use crate::stats::{median, per_second};

/// Agents, each with two uploads and two downloads at a time.
const AGENTS: usize = 25;
const TRANSFERS: usize = 4 * AGENTS;

/// Bytes of a file.
const FILE_BYTES: usize = 50_000_000;

/// Bytes a second that all transfers together move at most: a line of a gigabit a second, filled. Without a bound the
/// clients of loopback would take both cores of a small machine for themselves.
const LINE: f64 = 125e6;

/// Bytes that a transfer moves at a time.
const PIECE: usize = 64 * 1024;

/// Messages a second, and the bytes of a text.
const RATE: f64 = 1000.0;
const CONTENT_BYTES: usize = 200;

const TIME: Duration = Duration::from_secs(8);

pub(crate) async fn run(place: &Place, rounds: usize) -> Vec<Row> {
    let here = place.serve().await;
    let server = &here.server;
    let ann = server.user("ann");
    let agents = scene::agents(server, &ann, AGENTS).await;
    let rooms = scene::rooms(&ann, &agents, 1).await;
    let body = message(&stamped_text(CONTENT_BYTES), &[&ann.id]).to_string();
    let sends = || {
        let send = |(agent, room)| of_agent("POST", agent, &format!("/chats/{room}/messages"), &body);
        agents.iter().zip(&rooms).map(send).map(|send| Asker::of(vec![send])).collect::<Vec<_>>()
    };
    let origin = Instant::now();
    let p99 = async || load::open(&server.address(), sends(), origin, RATE, TIME).await.wait(0.99);

    let (mut ratios, mut with, mut without, mut rates) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut idle, mut most) = (0, 0);
    let files = Arc::new(Files::default());
    let mut transfers = Vec::new();
    for number in 0..TRANSFERS {
        let (agent, room) = (&agents[number % AGENTS], &rooms[number % AGENTS]);
        let path = format!("/api/v1/agent/chats/{room}/files");
        let mut transfer = Transfer {
            address: server.address(),
            agent: agent.clone(),
            path,
            file: None,
            files: files.clone(),
        };
        if number < TRANSFERS / 2 {
            transfer.file = transfer.upload().await;
        }
        transfers.push(transfer);
    }
    for round in 0..=rounds {
        until_idle(server.pid()).await;
        let alone = p99().await;
        idle = idle.max(resident(server.pid()));
        files.ended.store(false, Ordering::Relaxed);
        let start = |transfer: &Transfer| tokio::spawn(transfer.clone().repeat());
        let running = transfers.iter().map(start).collect::<Vec<_>>();
        let (before, begun) = (files.bytes.load(Ordering::Relaxed), Instant::now());
        let beside = p99().await;
        most = most.max(resident(server.pid()));
        let moved = files.bytes.load(Ordering::Relaxed) - before;
        let rate = per_second(usize::try_from(moved).unwrap(), begun.elapsed()) / 1e6;
        files.ended.store(true, Ordering::Relaxed);
        for transfer in running {
            transfer.await.unwrap();
        }
        if round > 0 {
            ratios.push(beside / alone);
            with.push(beside);
            without.push(alone);
            rates.push(rate);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "far below the limit")]
    let grown = (most as f64 - idle as f64) / f64::from(1 << 20);
    vec![Row {
        store: place.name(),
        what: format!(
            "p99 of {RATE} sends a second beside {TRANSFERS} transfers of {} MB",
            FILE_BYTES / 1_000_000
        ),
        figure: format!(
            "{} ({} transferred, {grown:.0} MiB more)",
            number(median(&mut with), "ms"),
            number(median(&mut rates), "MB/s")
        ),
        beside: format!("without them {}", number(median(&mut without), "ms")),
        judged: median(&mut ratios),
        unit: "x",
        target: Some(Target::AtMost(1.2)),
    }]
}

/// What all transfers share.
struct Files {
    /// All files begin with these bytes.
    common: Vec<u8>,
    /// The digest so far.
    digest: Sha256,
    /// Numbers of the files, with which they end.
    number: AtomicU64,
    /// Bytes that were transferred.
    bytes: AtomicU64,
    ended: AtomicBool,
}

impl Default for Files {
    fn default() -> Self {
        let common = (0_u32..).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes());
        let common = common.take(FILE_BYTES - size_of::<u64>()).collect::<Vec<_>>();
        let digest = Sha256::new_with_prefix(&common);
        Self {
            common,
            digest,
            number: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            ended: AtomicBool::new(true),
        }
    }
}

/// Downloads a file again and again, or uploads new ones.
#[derive(Clone)]
struct Transfer {
    address: String,
    agent: Api,
    path: String,
    /// The file that is downloaded.
    file: Option<String>,
    files: Arc<Files>,
}

impl Transfer {
    /// Moves one file after the other until all end.
    async fn repeat(self) {
        while !self.files.ended.load(Ordering::Relaxed) {
            match &self.file {
                Some(file) => self.download(file).await,
                None => drop(self.upload().await),
            }
        }
    }

    /// Waits until the line has room for another piece, the last of which was this many bytes and began then.
    async fn pace(last: &mut Instant, bytes: usize) {
        #[expect(clippy::cast_precision_loss, reason = "far below the limit")]
        let due = Duration::from_secs_f64(bytes as f64 * TRANSFERS as f64 / LINE);
        pace(due.saturating_sub(last.elapsed())).await;
        *last = Instant::now();
    }

    /// Uploads a new file; gives its id. Goes away in the middle of it when all end, and gives none.
    async fn upload(&self) -> Option<String> {
        let tail = self.files.number.fetch_add(1, Ordering::Relaxed).to_le_bytes();
        let digest = self.files.digest.clone().chain_update(tail).finalize();
        let digest = digest.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        let (path, key) = (&self.path, &self.agent.key);
        let head = format!(
            "PUT {path} HTTP/1.1\r\nhost: bench\r\nx-api-key: {key}\r\nx-file-name: file\r\nx-file-sha256: {digest}\r\n\
             content-length: {FILE_BYTES}\r\nconnection: close\r\n\r\n"
        );
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let (is_paced, mut last) = (!self.files.ended.load(Ordering::Relaxed), Instant::now());
        for piece in self.files.common.chunks(PIECE) {
            stream.write_all(piece).await.unwrap();
            self.files.bytes.fetch_add(piece.len() as u64, Ordering::Relaxed);
            if is_paced {
                Self::pace(&mut last, piece.len()).await;
                if self.files.ended.load(Ordering::Relaxed) {
                    return None;
                }
            }
        }
        stream.write_all(&tail).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        Some(body["data"]["id"].as_str().unwrap().to_owned())
    }

    async fn download(&self, file: &str) {
        let (path, key) = (&self.path, &self.agent.key);
        let head = format!(
            "GET {path}/{file} HTTP/1.1\r\nhost: bench\r\nx-api-key: {key}\r\nconnection: close\r\n\r\n"
        );
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let (mut last, mut all, mut buffer) = (Instant::now(), 0, vec![0; PIECE]);
        while !self.files.ended.load(Ordering::Relaxed) {
            let read = stream.read(&mut buffer).await.unwrap();
            if read == 0 {
                assert!(all > FILE_BYTES, "the whole file comes");
                break;
            }
            all += read;
            self.files.bytes.fetch_add(read as u64, Ordering::Relaxed);
            Self::pace(&mut last, read).await;
        }
    }
}
