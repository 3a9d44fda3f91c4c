//! A disk that is full, nearly full, or read-only.

use std::path::PathBuf;
use std::process::{Command, Output};

use e2e::{Api, Server, Socket, figure, free_port, until_or};
use serde_json::Value;
use tempfile::TempDir;

use crate::{one_line, printed_keys, run};

/// A small file system of its own; needs the right to mount.
struct SmallDisk(PathBuf, TempDir);

impl SmallDisk {
    fn mount(size: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("disk");
        std::fs::create_dir(&path).unwrap();
        let option = format!("size={size}");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &option, "tmpfs"]).arg(&path).status().unwrap();
        assert!(mounted.success(), "this test mounts a small tmpfs and needs the right to (run it as root)");
        Self(path, directory)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: the server may still be about to end.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
        let _ = &self.1;
    }
}

#[tokio::test]
async fn a_directory_that_cannot_be_written_is_named() {
    let disk = SmallDisk::mount("1m");
    let remounted = Command::new("mount").args(["-o", "remount,ro"]).arg(&disk.0).status().unwrap();
    assert!(remounted.success());
    let data = disk.0.to_str().unwrap();
    let elsewhere = TempDir::new().unwrap();
    let output =
        run(&[], &[("PARLANCE_DATA_DIR", data), ("PARLANCE_LISTEN", "127.0.0.1:0")], elsewhere.path());
    assert!(one_line(&output).contains(data), "{output:?}");
}

/// Runs `parlance user create` beside a running server.
fn user_created(server: &Server, handle: &str) -> Output {
    let email = format!("{handle}@example.org");
    let arguments = ["user", "create", "--handle", handle, "--email", &email, "--name", "B", "--json"];
    server.command().args(arguments).output().unwrap()
}

#[tokio::test]
async fn a_full_disk_refuses_writes_only_and_loses_nothing() {
    let disk = SmallDisk::mount("3m");
    let filler = disk.0.join("filler");
    std::fs::write(&filler, vec![0_u8; 1_500_000]).unwrap();
    let mut server = Server::start_on(&disk.0, &[("PARLANCE_MIN_FREE_MIB", "0")]).await;
    let admin = Api::new(&server, "me", &printed_keys(&server)[0], "");
    let chat = admin.create_chat().await;
    let bot = admin.register(&server, "Bot").await;
    assert_eq!(admin.add(&chat, &bot.id).await.status, 201);
    assert_eq!(bot.next(&chat).await, None);
    let topic = format!("chat_room:{chat}");
    let mut socket = Socket::of(&server, &bot).await;
    socket.join("1", &topic).await;
    let text = "x".repeat(2_000);
    let mut accepted = Vec::new();
    let refused = loop {
        let answer = admin.send(&chat, &text, &[&bot.id]).await;
        match answer.status {
            201 => accepted.push(answer.data()["id"].clone()),
            _ => break answer,
        }
        assert!(accepted.len() < 10_000, "the disk does not fill");
    };
    assert_eq!((refused.status, refused.code()), (503, "service_unavailable"));
    assert_eq!(readiness(&server).await, "degraded");
    for _ in 0..5 {
        let again = admin.send(&chat, &text, &[&bot.id]).await;
        assert_eq!((again.status, again.code()), (503, "service_unavailable"), "and it stays so");
    }
    assert_eq!(admin.history(&chat).await.len(), accepted.len(), "reading goes on");
    let first = bot.next(&chat).await;
    assert_eq!(first.as_deref(), accepted[0].as_str(), "for agents too");
    for id in &accepted {
        assert_eq!(socket.event("1", &topic, "message_created").await["id"], *id);
    }
    socket.alive().await;
    // What is smaller than a message may still find a place in the log's last blocks; it is refused soon.
    let refused = (0..500)
        .map(|number| user_created(&server, &format!("ben{number}")))
        .find(|output| !output.status.success())
        .expect("the disk does not fill");
    assert!(one_line(&refused).contains("full") && refused.stdout.is_empty(), "{refused:?}");

    // Killed while it is full, it starts and shows what it has.
    server.crash().await;
    assert_eq!(admin.history(&chat).await.len(), accepted.len());
    assert_eq!(admin.send(&chat, &text, &[&bot.id]).await.code(), "service_unavailable");

    std::fs::remove_file(&filler).unwrap();
    for _ in 0..5 {
        accepted.push(admin.send(&chat, "there is space", &[&bot.id]).await.data()["id"].clone());
    }
    assert_eq!(bot.step(&chat, first.as_ref().unwrap(), "processing").await.status, 200);
    server.crash().await;
    let mut found = admin.history(&chat).await.into_iter().map(|m| m["id"].clone()).collect::<Vec<Value>>();
    found.reverse();
    assert_eq!(found, accepted);
}

/// The status of `/ready` while requests are served.
async fn readiness(server: &Server) -> String {
    let answer = reqwest::get(format!("http://{}/ready", server.address())).await.unwrap();
    assert_eq!(answer.status(), 200);
    answer.json::<Value>().await.unwrap()["status"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn on_a_disk_that_is_nearly_full_small_writes_are_taken() {
    const MIB: usize = 1024 * 1024;
    let disk = SmallDisk::mount("96m");
    let filler = disk.0.join("filler");
    let port = free_port();
    let metrics = format!("127.0.0.1:{port}");
    let settings =
        [("PARLANCE_MIN_FREE_MIB", "48"), ("PARLANCE_METRICS_LISTEN", &metrics), ("PARLANCE_LOG", "info")];
    let server = Server::start_on(&disk.0, &settings).await;
    let admin = Api::new(&server, "me", &printed_keys(&server)[0], "");
    let chat = admin.create_chat().await;
    let bot = admin.register(&server, "Bot").await;
    assert_eq!(admin.add(&chat, &bot.id).await.status, 201);
    let large = "x".repeat(20_000);
    assert_eq!(readiness(&server).await, "ready");
    assert_eq!(admin.send(&chat, &large, &[&bot.id]).await.status, 201);
    for round in 1..3 {
        std::fs::write(&filler, vec![0_u8; 60 * MIB]).unwrap();
        until_or(|| server.log(), async || readiness(&server).await == "degraded").await;
        let refused = admin.send(&chat, &large, &[&bot.id]).await;
        assert_eq!((refused.status, refused.code()), (503, "service_unavailable"));
        assert_eq!(admin.send(&chat, "small", &[&bot.id]).await.status, 201);
        assert!(figure(port, "parlance_disk_free_bytes").await < 48.0 * 1024.0 * 1024.0);
        assert!(figure(port, "parlance_writes_refused_total").await >= f64::from(round));
        std::fs::remove_file(&filler).unwrap();
        until_or(|| server.log(), async || readiness(&server).await == "ready").await;
        assert_eq!(admin.send(&chat, &large, &[&bot.id]).await.status, 201);
    }
    let log = server.logged();
    let logged = |text: &str| log.lines().filter(|line| line.contains(text)).collect::<Vec<_>>();
    assert_eq!(logged("disk nearly full").len(), 2, "{log}");
    let over = logged("disk has room again");
    assert!(over.len() == 2 && over.iter().all(|line| line.contains("duration_ms")), "{log}");
}

#[tokio::test]
async fn a_start_on_a_full_disk_says_so() {
    let disk = SmallDisk::mount("16k");
    std::fs::write(disk.0.join("filler"), vec![0_u8; 16 * 1024]).unwrap();
    let data = disk.0.to_str().unwrap();
    let output = run(&[], &[("PARLANCE_DATA_DIR", data), ("PARLANCE_LISTEN", "127.0.0.1:0")], &disk.0);
    assert!(one_line(&output).contains("full"), "{output:?}");
}
