//! Files against the built program: what only real connections, real disks, and kills can show.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::fs;
use std::path::Path;
use std::time::Duration;

use e2e::{Api, Fleet, Server, Socket, is_full, on_postgres, pace, sha256, until};
use futures_util::future::join_all;
use futures_util::stream;
use reqwest::{Body, Method};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::Instant;

const MIB: usize = 1024 * 1024;

/// A human with an agent and another human's agent in a room.
struct Room {
    ann: Api,
    bot: Api,
    rival: Api,
    chat: String,
}

impl Room {
    async fn on(server: &Server) -> Self {
        let (ann, ben) = (server.user("ann"), server.user("ben"));
        let bot = ann.register(server, "Bot").await;
        let rival = ben.register(server, "Rival").await;
        let chat = ann.create_chat().await;
        assert_eq!(ann.add(&chat, &bot.id).await.status, 201);
        Self { ann, bot, rival, chat }
    }
}

/// Bytes that do not compress, and differ by `seed`.
fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let mut noise = Vec::with_capacity(bytes + 8);
    while noise.len() < bytes {
        noise.extend_from_slice(&next());
    }
    noise.truncate(bytes);
    noise
}

/// The files below a directory, without those in `incoming`, and those in `incoming`.
fn stored(directory: &Path) -> (usize, usize) {
    let count = |path: &Path| fs::read_dir(path).map_or(0, Iterator::count);
    let shards = fs::read_dir(directory).into_iter().flatten().map(|entry| entry.unwrap().path());
    let stored = shards.filter(|path| !path.ends_with("incoming")).map(|path| count(&path)).sum();
    (stored, count(&directory.join("incoming")))
}

/// F1, F6, F8: bytes come back as they were sent, in chunks without a length too, whole and in parts.
#[tokio::test]
async fn a_large_file_goes_up_and_down() {
    let server = Server::start().await;
    let room = Room::on(&server).await;
    let bytes = noise(5 * MIB + 3, 7);
    let pieces =
        bytes.chunks(100_000).map(|piece| Ok::<_, std::io::Error>(piece.to_vec())).collect::<Vec<_>>();
    let path = format!("/chats/{}/files", room.chat);
    let request = room.bot.transfer(Method::PUT, &path, Some(Body::wrap_stream(stream::iter(pieces))));
    let answer =
        request.header("x-file-name", "noise").header("x-file-sha256", sha256(&bytes)).send().await.unwrap();
    assert_eq!(answer.status(), 201);
    let file = answer.json::<Value>().await.unwrap()["data"].clone();
    assert_eq!(
        (&file["bytes"], &file["content_type"]),
        (&json!(bytes.len()), &json!("application/octet-stream"))
    );
    let id = file["id"].as_str().unwrap();
    let (status, read) = room.ann.download(&room.chat, id).await;
    assert!(status == 200 && read == bytes);
    let path = format!("{path}/{id}");
    let part =
        room.ann.transfer(Method::GET, &path, None).header("range", "bytes=5242880-").send().await.unwrap();
    assert_eq!(part.headers()["content-range"], format!("bytes 5242880-5242882/{}", bytes.len()));
    assert_eq!((part.status().as_u16(), &part.bytes().await.unwrap()[..]), (206, &bytes[5 * MIB..]));
    let head = room.ann.transfer(Method::HEAD, &path, None).send().await.unwrap();
    assert_eq!(
        (head.status().as_u16(), head.headers()["content-length"].to_str().unwrap()),
        (200, bytes.len().to_string().as_str())
    );
    assert_eq!(room.ann.get("/profile").await.status, 200, "the connection is usable");
    let beyond =
        room.ann.transfer(Method::GET, &path, None).header("range", "bytes=9999999-").send().await.unwrap();
    assert_eq!(beyond.status(), 416);
    assert!(beyond.json::<Value>().await.unwrap().is_string());
    are_one_file([&room.ann, &room.bot], &room.chat, &noise(MIB, 8)).await;
}

/// Of two uploads of the same bytes at once, one is stored.
async fn are_one_file(by: [&Api; 2], chat: &str, bytes: &[u8]) {
    let (one, two) = tokio::join!(by[0].upload(chat, "one", bytes), by[1].upload(chat, "two", bytes));
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    assert_eq!((statuses, one.data()["id"].clone()), ([200, 201], two.data()["id"].clone()));
}

/// F6: the cap passes, and one byte more does not, whether or not it was announced; nothing is left of it.
#[tokio::test]
async fn a_file_that_is_too_large_leaves_nothing() {
    let server = Server::start_alone(&[("PARLANCE_MAX_FILE_BYTES", "300000")]).await;
    let room = Room::on(&server).await;
    room.bot.uploaded(&room.chat, "most", &noise(300_000, 1)).await;
    let bytes = noise(300_001, 2);
    let path = format!("/chats/{}/files", room.chat);
    let announced = room.bot.upload(&room.chat, "more", &bytes).await;
    assert_eq!((announced.status, announced.code()), (413, "content_too_large"));
    let pieces = bytes.chunks(1000).map(|piece| Ok::<_, std::io::Error>(piece.to_vec())).collect::<Vec<_>>();
    let request = room.bot.transfer(Method::PUT, &path, Some(Body::wrap_stream(stream::iter(pieces))));
    let answer =
        request.header("x-file-name", "more").header("x-file-sha256", sha256(&bytes)).send().await.unwrap();
    assert_eq!(answer.status(), 413);
    let directory = server.data().join("files");
    until("the rest is removed", async || stored(&directory) == (1, 0)).await;
}

/// F9: what one tenant has stored cannot be told from nothing by another.
#[tokio::test]
async fn another_tenant_finds_no_file() {
    let server = Server::start().await;
    let room = Room::on(&server).await;
    let file = room.bot.uploaded(&room.chat, "plans", b"plans").await;
    let id = file["id"].as_str().unwrap();
    assert_eq!(room.bot.download(&room.chat, id).await, (200, b"plans".to_vec()));
    for stranger in [&room.rival, &server.user("eve")] {
        let (status, body) = stranger.download(&room.chat, id).await;
        let unknown = stranger.download(&room.chat, "0190c5a4-0000-7000-8000-0000000000a1").await;
        let envelope = |body: &[u8]| {
            let mut body = serde_json::from_slice::<Value>(body).unwrap();
            body["error"]["request_id"].take();
            body
        };
        assert_eq!((status, envelope(&body)), (404, envelope(&unknown.1)));
        assert_eq!(stranger.upload(&room.chat, "plans", b"plans").await.status, 404);
    }
    // Who only observes a room downloads from it, and uploads nothing.
    let observed = room.bot.create_chat().await;
    let own = room.bot.uploaded(&observed, "own", b"own").await;
    let own = own["id"].as_str().unwrap();
    assert_eq!(room.ann.download(&observed, own).await, (200, b"own".to_vec()));
    let refused = room.ann.upload(&observed, "more", b"more").await;
    assert_eq!((refused.status, refused.code()), (404, "not_found"));
    assert_eq!(room.ann.download(&room.chat, own).await.0, 404, "it belongs to another room");
    // Removed from the room, an agent reaches nothing more at once.
    let removed = format!("/chats/{}/participants/{}", room.chat, room.bot.id);
    assert_eq!(room.ann.delete(&removed).await.status, 200);
    assert_eq!(room.bot.download(&room.chat, id).await.0, 404);
    assert_eq!(room.ann.download(&room.chat, id).await.0, 200);
}

/// F16: a killed upload leaves no record, and no file after the next start; what was stored is still there.
#[tokio::test]
async fn a_killed_upload_leaves_nothing_after_the_next_start() {
    let mut server = Server::start_alone(&[]).await;
    let room = Room::on(&server).await;
    let kept = room.bot.uploaded(&room.chat, "kept", b"kept").await;
    let bytes = noise(MIB, 3);
    let head = format!(
        "PUT /api/v1/agent/chats/{}/files HTTP/1.1\r\nhost: x\r\nx-api-key: {}\r\nx-file-name: half\r\n\
         x-file-sha256: {}\r\ncontent-length: {}\r\n\r\n",
        room.chat,
        room.bot.key,
        sha256(&bytes),
        bytes.len(),
    );
    let mut connection = TcpStream::connect(server.address()).await.unwrap();
    connection.write_all(head.as_bytes()).await.unwrap();
    connection.write_all(&bytes[..MIB / 2]).await.unwrap();
    let directory = server.data().join("files");
    until("the upload is under way", async || stored(&directory) == (1, 1)).await;
    server.kill9();
    assert_eq!(stored(&directory), (1, 1), "the process could not clean up");
    server.run().await;
    assert_eq!(stored(&directory), (1, 0));
    let id = kept["id"].as_str().unwrap();
    assert_eq!(room.bot.download(&room.chat, id).await, (200, b"kept".to_vec()));
    assert_eq!(room.bot.upload(&room.chat, "half", &bytes).await.status, 201, "it is new");
}

/// An upload that goes on after its first 64 KiB.
async fn begin_upload(server: &Server, room: &Room) -> TcpStream {
    let head = format!(
        "PUT /api/v1/agent/chats/{}/files HTTP/1.1\r\nhost: x\r\nx-api-key: {}\r\nx-file-name: half\r\n\
         x-file-sha256: {}\r\ntransfer-encoding: chunked\r\n\r\n10000\r\n",
        room.chat,
        room.bot.key,
        sha256(b""),
    );
    let mut connection = TcpStream::connect(server.address()).await.unwrap();
    connection.write_all(head.as_bytes()).await.unwrap();
    connection.write_all(&noise(65_536, 7)).await.unwrap();
    connection
}

/// A client that goes away in the middle leaves nothing either.
#[tokio::test]
async fn an_abandoned_upload_leaves_nothing() {
    let server = Server::start_alone(&[]).await;
    let room = Room::on(&server).await;
    let connection = begin_upload(&server, &room).await;
    let directory = server.data().join("files");
    until("the upload is under way", async || stored(&directory).1 == 1).await;
    drop(connection);
    until("the upload is removed", async || stored(&directory) == (0, 0)).await;
}

/// F15: without a place for bytes, transfers are 503 and everything else goes on; with it, they work again.
#[tokio::test]
async fn a_store_of_files_that_is_away_stops_nothing_else() {
    let server = Server::start_alone(&[]).await;
    let room = Room::on(&server).await;
    let file = room.bot.uploaded(&room.chat, "a", b"a").await;
    let id = file["id"].as_str().unwrap();
    let (directory, away) = (server.data().join("files"), server.data().join("away"));
    fs::rename(&directory, &away).unwrap();
    fs::write(&directory, "no directory").unwrap();
    let refused = room.bot.upload(&room.chat, "b", b"b").await;
    assert_eq!((refused.status, refused.code()), (503, "service_unavailable"));
    let path = format!("/chats/{}/files/{id}", room.chat);
    let answer = room.bot.transfer(Method::GET, &path, None).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.headers().contains_key("retry-after")), (503, true));
    room.ann.sent(&room.chat, "messages go on", &[&room.bot.id]).await;
    fs::remove_file(&directory).unwrap();
    fs::rename(&away, &directory).unwrap();
    assert_eq!(room.bot.upload(&room.chat, "b", b"b").await.status, 201);
    assert_eq!(room.bot.download(&room.chat, id).await, (200, b"a".to_vec()));
}

/// F10 to F12, W20, W21: a message shows its files in REST and on sockets; deleted, it frees them. Writes on one server,
/// and listens on the other.
async fn a_message_shows_its_files(here: &Server, there: &Server) {
    let room = Room::on(here).await;
    let (ann, bot) = (room.ann.on(here), room.bot.on(here));
    let topic = format!("chat_room:{}", room.chat);
    let mut sockets = [Socket::of(there, &room.bot).await, Socket::of(there, &room.ann).await];
    for socket in &mut sockets {
        socket.join("1", &topic).await;
    }
    let mut shown = Vec::new();
    for name in ["one", "two"] {
        let mut file = ann.uploaded(&room.chat, name, name.as_bytes()).await;
        assert!(file["expires_at"].is_string());
        file["expires_at"].take();
        shown.push(file);
    }
    for socket in &mut sockets {
        socket.silent().await;
    }
    let ids = shown.iter().map(|file| file["id"].clone()).collect::<Vec<_>>();
    let body =
        json!({"message": {"content": "look", "mentions": [{"id": room.bot.id}], "attachment_ids": ids}});
    let messages = format!("/chats/{}/messages", room.chat);
    let sent = ann.post(&messages, body).await.data();
    let (shown, id) = (json!(shown), sent["id"].as_str().unwrap());
    for socket in &mut sockets {
        assert_eq!(socket.payload("message_created").await["attachments"], shown);
    }
    let context = format!("/chats/{}/context", room.chat);
    for (by, path) in [
        (&ann, messages.clone()),
        (&ann, format!("{messages}?around={id}")),
        (&bot, format!("{messages}?status=all")),
        (&bot, context.clone()),
    ] {
        assert_eq!(by.get(&path).await.data()[0]["attachments"], shown, "{path}");
    }
    assert_eq!(bot.get(&format!("{messages}/next")).await.data()["attachments"], shown);
    let list = ann.get("/chats?include=last_message").await.data();
    assert_eq!(list[0]["last_message"]["attachments"], shown);

    let plain = ann.sent(&room.chat, "nothing to see", &[&room.bot.id]).await;
    for socket in &mut sockets {
        let told = socket.payload("message_created").await;
        assert_eq!((&told["id"], &told["attachments"]), (&json!(plain), &json!([])));
    }
    let newest = bot.get(&context).await.data()[1].clone();
    assert_eq!((&newest["id"], &newest["attachments"]), (&json!(plain), &json!([])));

    assert_eq!(ann.delete(&format!("{messages}/{id}")).await.status, 200);
    let again = ann.uploaded(&room.chat, "one", b"one").await;
    assert!(again["id"] == shown[0]["id"] && again["expires_at"].is_string());
}

#[tokio::test]
async fn a_message_shows_its_files_to_all() {
    let server = Server::start_alone(&[]).await;
    a_message_shows_its_files(&server, &server).await;
}

/// F16: what is in memory does not grow with the number and the size of transfers.
#[tokio::test]
async fn many_transfers_take_little_memory() {
    let server = Server::start_alone(&[("PARLANCE_LOG", "info"), ("PARLANCE_RATE_LIMITS", "false")]).await;
    let room = Room::on(&server).await;
    let mut agents = Vec::new();
    for number in 0..10 {
        let agent = room.ann.register(&server, &format!("Bot {number}")).await;
        assert_eq!(room.ann.add(&room.chat, &agent.id).await.status, 201);
        agents.push(agent);
    }
    let memory = || usize::try_from(server.resident_bytes()).unwrap();
    let before = memory();
    let transfers = agents.iter().enumerate().map(|(number, agent)| {
        let chat = room.chat.clone();
        async move {
            let bytes = noise(20 * MIB, number as u64 + 50);
            let file = agent.uploaded(&chat, &format!("{number}"), &bytes).await;
            let reads = (0..10).map(|_| agent.download(&chat, file["id"].as_str().unwrap()));
            for (status, read) in join_all(reads).await {
                assert!(status == 200 && read == bytes);
            }
        }
    });
    let grows = async {
        loop {
            let more = memory().saturating_sub(before);
            if more > 100 * MIB {
                break more / MIB;
            }
            pace(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        _ = join_all(transfers) => {}
        more = grows => panic!("{more} MiB for 100 transfers of 20 MiB"),
    }
}

/// F2 and W20 on two nodes: both see the same bytes, since the directory is the one that both were told of.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_found_on_every_node() {
    if !on_postgres() {
        return;
    }
    let fleet = Fleet::with_nats(2, &[]).await;
    fleet.acquainted().await;
    let [here, there] = &fleet.servers[..] else { unreachable!() };
    a_message_shows_its_files(here, there).await;
    let cai = here.user("cai");
    let chat = cai.create_chat().await;
    let file = cai.uploaded(&chat, "a", b"bytes").await;
    let id = file["id"].as_str().unwrap();
    assert_eq!(cai.on(there).download(&chat, id).await, (200, b"bytes".to_vec()));
    let again = cai.on(there).upload(&chat, "b", b"bytes").await;
    assert_eq!((again.status, &again.body["data"]["id"]), (200, &file["id"]));
    are_one_file([&cai.on(here), &cai.on(there)], &chat, b"at once").await;
}

/// The connection of a download whose client reads nothing at first, and so little that most of it has to wait.
async fn download_slowly(server: &Server, by: &Api, chat: &str, file: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(64 * 1024).unwrap();
    let mut connection = socket.connect(server.address().parse().unwrap()).await.unwrap();
    let head = format!(
        "GET /api/v1/agent/chats/{chat}/files/{file} HTTP/1.1\r\nhost: x\r\nx-api-key: {}\r\nconnection: close\r\n\r\n",
        by.key,
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    connection
}

/// A slow reader gets everything, as long as it reads, however soon the server closes other connections. Most of the file
/// is read after the slow part, so the server cannot be done with it before.
#[tokio::test]
async fn a_download_has_no_total_time_limit() {
    let settings = [("PARLANCE_HEADER_TIMEOUT_MS", "1000"), ("PARLANCE_HTTP_IDLE_TIMEOUT_MS", "1000")];
    let server = Server::start_alone(&settings).await;
    let room = Room::on(&server).await;
    let bytes = noise(24 * MIB, 9);
    let file = room.bot.uploaded(&room.chat, "slow", &bytes).await;
    let mut connection = download_slowly(&server, &room.bot, &room.chat, file["id"].as_str().unwrap()).await;
    let (mut read, mut piece) = (Vec::new(), vec![0; 64 * 1024]);
    let slow = Duration::from_secs(if is_full() { 90 } else { 5 });
    let begun = Instant::now();
    while begun.elapsed() < slow {
        pace(Duration::from_millis(100)).await;
        let count = connection.read(&mut piece[..4096]).await.unwrap();
        assert!(count > 0, "the download was cut after {:?}", begun.elapsed());
        read.extend_from_slice(&piece[..count]);
    }
    assert!(read.len() < 4 * MIB, "it was not slow");
    connection.read_to_end(&mut read).await.unwrap();
    assert!(read.ends_with(&bytes), "{} bytes", read.len());
}

/// F16: an upload that makes no progress is cut off, and nothing is left of it.
#[tokio::test]
async fn an_upload_without_progress_is_cut_off() {
    // It takes half a minute; the limit itself is tested with a clock that is set.
    if !is_full() {
        return;
    }
    let server = Server::start_alone(&[]).await;
    let room = Room::on(&server).await;
    let mut connection = begin_upload(&server, &room).await;
    let directory = server.data().join("files");
    until("the upload is under way", async || stored(&directory).1 == 1).await;
    let mut answer = vec![0; 4096];
    let count = connection.read(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer[..count]);
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("connection: close\r\n"), "{answer}");
    until("the upload is removed", async || stored(&directory) == (0, 0)).await;
}

/// F19: an archive and its directory of contents bring ids, bytes, and attachments. Wrong contents refuse the import until
/// they are restored; missing ones are told, and cannot be downloaded.
#[tokio::test]
async fn an_archive_brings_its_files_along() {
    let server = Server::start_alone(&[]).await;
    let room = Room::on(&server).await;
    let mut ids = Vec::new();
    for name in ["kept", "changed", "lost"] {
        let file = room.ann.uploaded(&room.chat, name, name.as_bytes()).await;
        ids.push(file["id"].as_str().unwrap().to_owned());
    }
    let body =
        json!({"message": {"content": "look", "mentions": [{"id": room.bot.id}], "attachment_ids": ids}});
    assert_eq!(room.ann.post(&format!("/chats/{}/messages", room.chat), body).await.status, 201);
    let context = format!("/chats/{}/context", room.chat);
    let shown = room.bot.get(&context).await.data();
    assert_eq!(shown[0]["attachments"].as_array().unwrap().len(), 3);

    let place = TempDir::new().unwrap();
    let (archive, contents) = (place.path().join("archive"), place.path().join("contents"));
    let moved = TempDir::new().unwrap();
    let export = server
        .command()
        .arg("export")
        .args([Path::new("--to"), &archive])
        .args([Path::new("--files"), &contents])
        .output();
    assert!(export.unwrap().status.success());
    let [_, changed, lost] = [0, 1, 2].map(|index: usize| {
        let id = &ids[index];
        contents.join(&id[id.len() - 2..]).join(id)
    });
    fs::write(&changed, "CHANGED").unwrap();
    fs::remove_file(lost).unwrap();
    let import = |more: &[&str]| {
        let mut command = server.command();
        command.env("PARLANCE_DATA_DIR", moved.path()).env_remove("PARLANCE_DATABASE_URL");
        command.arg("import").args([Path::new("--from"), &archive]).args([Path::new("--files"), &contents]);
        let output = command.args(more).output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let (succeeded, said) = import(&[]);
    assert!(!succeeded && said.contains(&ids[1]) && said.contains("do not have the digest"), "{said}");
    fs::write(&changed, "changed").unwrap();
    let (succeeded, said) = import(&["--resume"]);
    assert!(succeeded && said.contains("copied: 2") && said.contains("missing: 1"), "{said}");
    assert!(said.contains(&format!("the contents of the file {} are missing", ids[2])), "{said}");

    let second = Server::start_on(moved.path(), &[]).await;
    let bot = room.bot.on(&second);
    assert_eq!(bot.get(&context).await.data(), shown);
    for (id, bytes) in ids.iter().zip(["kept", "changed"]) {
        assert_eq!(bot.download(&room.chat, id).await, (200, bytes.as_bytes().to_vec()));
    }
    assert_eq!(bot.download(&room.chat, &ids[2]).await.0, 503);
}
