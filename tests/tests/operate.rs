//! The program in the hands of an operator: first start, users, faults at start, a full disk, a
//! stop in order.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use e2e::{Api, Closed, Server, Socket, figure, free_port, isolated, program, soon, until};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// The keys of users that stand in a text.
fn keys_in(text: &str) -> Vec<String> {
    let is_key = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let words = text.split(|c| !is_key(c)).filter(|word| word.starts_with("thnv_u_"));
    words.map(str::to_owned).collect()
}

/// The keys of users that a server has printed.
fn printed_keys(server: &Server) -> Vec<String> {
    keys_in(&server.printed())
}

/// Runs the program to its end in a directory of its own.
fn run(arguments: &[&str], settings: &[(&str, &str)], directory: &Path) -> Output {
    let mut command = isolated("timeout");
    command.arg("20").arg(program()).args(arguments).current_dir(directory);
    command.envs(settings.iter().copied()).output().unwrap()
}

/// The program ended without success and said why in one line, which is given.
fn one_line(output: &Output) -> String {
    assert!(!output.status.success());
    assert_ne!(output.status.code(), Some(124), "it did not end by itself");
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    let said = text.lines().filter(|line| line.starts_with("parlance: ")).collect::<Vec<_>>();
    assert_eq!(said.len(), 1, "{text}");
    assert!(!text.contains("panicked"), "{text}");
    said[0].to_owned()
}

/// At most ten lines, with the key, the next command, and the page with the API; the framework adds none.
#[tokio::test]
async fn the_first_start_says_what_to_do_next() {
    let server = Server::start_with(&[("PARLANCE_LOG", "info")]).await;
    let printed = server.printed();
    let on_screen = format!("{printed}{}", server.logged());
    // The tests' own PostgreSQL does not flush, which the server reports.
    let lines = on_screen.lines().filter(|line| !line.contains("setting=\"fsync\""));
    assert!(lines.count() <= 10, "{on_screen}");
    // The program is called by its path, and need not be on the PATH.
    let next =
        format!("{} agent create --owner admin --name Helper --description \"Helps\"\n", program().display());
    for part in ["thnv_u_", &next, "/api/v1/docs/"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    assert!(!server.logged().contains("actix"), "{}", server.logged());
}

/// The suggested command works on the store that the flags named.
#[tokio::test]
async fn the_first_start_repeats_the_flags_of_the_store() {
    let directory = TempDir::new().unwrap();
    let (data, error) = (directory.path().join("my data"), directory.path().join("error"));
    let (key, listen) = (directory.path().join("key"), format!("127.0.0.1:{}", free_port()));
    let mut command = isolated(program());
    command.current_dir(directory.path()).args(["--listen", &listen, "--data-dir"]).arg(&data);
    command
        .args(["--first-key-file"])
        .arg(&key)
        .stdout(std::fs::File::create(directory.path().join("out")).unwrap());
    let mut server = command.stderr(std::fs::File::create(&error).unwrap()).spawn().unwrap();
    let printed = || std::fs::read_to_string(directory.path().join("out")).unwrap();
    let is_ready = soon(async || printed().contains("Next:")).await;
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(is_ready, "{}", std::fs::read_to_string(&error).unwrap());
    let printed = printed();
    let next = printed.lines().find_map(|line| line.strip_prefix("Next:")).unwrap();
    assert!(next.ends_with(&format!(" --data-dir '{}'", data.display())), "{printed}");
    let created = isolated("sh").args(["-c", next]).output().unwrap();
    assert!(String::from_utf8_lossy(&created.stdout).contains("'admin/helper'"), "{created:?}");
}

/// A mistyped command, flag, or value gets the nearest right one.
#[test]
fn mistyped_commands_get_a_suggestion() {
    let directory = TempDir::new().unwrap();
    for (arguments, meant) in [
        (&["usr", "list"][..], "'user'"),
        (&["user", "lsit"], "'list'"),
        (&["user", "list", "--disabeld"], "'--disabled'"),
        (&["serve", "--lisen", "x"], "'--listen'"),
        (&["org", "invite", "acme", "--role", "admn"], "'admin'"),
    ] {
        let output = run(arguments, &[], directory.path());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        let tip = said.lines().find(|line| line.contains("tip:")).unwrap_or_else(|| panic!("{said}"));
        assert!(tip.contains(meant), "{arguments:?}: {said}");
    }
}

/// With `first_key_file`, the key goes to a file that only its owner can read.
#[tokio::test]
async fn the_first_key_goes_to_a_file_if_one_is_named() {
    let place = TempDir::new().unwrap();
    let keys = place.path().join("keys");
    std::fs::create_dir(&keys).unwrap();
    let file = keys.join("first-key");
    let mut server = Server::start_alone(&[("PARLANCE_FIRST_KEY_FILE", file.to_str().unwrap())]).await;
    assert_eq!(printed_keys(&server), Vec::<String>::new());
    assert!(server.printed().contains(file.to_str().unwrap()), "{}", server.printed());
    let key = std::fs::read_to_string(&file).unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(Api::new(&server, "me", key.trim(), "").get("/agents").await.status, 200);
    assert_eq!(std::fs::read_dir(&keys).unwrap().count(), 1, "no draft is left");
    std::fs::remove_dir_all(&keys).unwrap();
    server.terminate().await;
    // A later start needs no file.
    server.run().await;
    assert!(!keys.exists());

    // A key that cannot be written down is not made: the next start makes it.
    let nowhere = place.path().join("missing/first-key");
    let data = place.path().join("data");
    let settings = [("PARLANCE_DATA_DIR", data.to_str().unwrap()), ("PARLANCE_LISTEN", "127.0.0.1:0")];
    let wrong = [&settings[..], &[("PARLANCE_FIRST_KEY_FILE", nowhere.to_str().unwrap())]].concat();
    assert!(one_line(&run(&[], &wrong, place.path())).contains("first_key_file"));
    let listed = run(&["user", "list", "--json"], &settings, place.path());
    assert_eq!(String::from_utf8(listed.stdout).unwrap(), "{\"users\":[]}\n");
}

#[tokio::test]
async fn the_first_start_prints_a_key_once() {
    let mut server = Server::start().await;
    let keys = printed_keys(&server);
    assert!(!keys.is_empty());
    assert!(keys.iter().all(|key| *key == keys[0]), "one key, however often it stands in the text");
    assert_eq!(server.printed().matches("not shown again").count(), 1);
    let admin = Api::new(&server, "me", &keys[0], "");
    assert_eq!(admin.get("/agents").await.status, 200);
    server.terminate().await;
    server.run().await;
    assert_eq!(printed_keys(&server), keys, "the second start prints none");
    assert_eq!(keys_in(&server.logged()), Vec::<String>::new(), "a log holds no key");
    assert_eq!(admin.get("/agents").await.status, 200);
    let ready = reqwest::get(format!("http://{}/ready", server.address())).await.unwrap();
    assert_eq!(ready.status(), 200);
}

/// Measured by the quickest of three starts, since the machine may be busy with other tests.
#[tokio::test]
async fn a_start_on_an_existing_store_is_quick() {
    let mut server = Server::start().await;
    let mut quickest = Duration::MAX;
    for _ in 0..3 {
        server.terminate().await;
        quickest = quickest.min(server.run().await);
    }
    assert!(quickest < Duration::from_secs(1), "{quickest:?}");
}

#[tokio::test]
async fn users_are_created_while_the_server_runs() {
    let server = Server::start().await;
    let ann = server.user("ann");
    assert_eq!(ann.get("/agents").await.status, 200);
    let create = |handle: &str, email: &str| {
        let arguments = ["user", "create", "--handle", handle, "--email", email, "--name", "X", "--json"];
        server.command().args(arguments).output().unwrap()
    };
    for (handle, email, part) in [
        ("ann", "other@example.org", "handle is already taken"),
        ("other", "ANN@example.org", "address is already taken"),
        ("a!", "other@example.org", "--handle"),
        ("other", "nowhere", "--email"),
    ] {
        let output = create(handle, email);
        assert!(one_line(&output).contains(part), "{output:?}");
        assert!(output.stdout.is_empty());
    }
}

#[tokio::test]
async fn what_cannot_be_served_is_said_in_one_line() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("a-file");
    std::fs::write(&file, "not a directory").unwrap();
    let below = file.join("data");
    for data in [&file, &below] {
        let data = data.to_str().unwrap();
        let output =
            run(&[], &[("PARLANCE_DATA_DIR", data), ("PARLANCE_LISTEN", "127.0.0.1:0")], directory.path());
        assert!(one_line(&output).contains(data), "{output:?}");
    }
    let damaged = directory.path().join("damaged");
    std::fs::create_dir(&damaged).unwrap();
    std::fs::write(damaged.join("parlance.db"), "this is no database, but long enough to be one ".repeat(50))
        .unwrap();
    let output = run(&[], &[("PARLANCE_DATA_DIR", damaged.to_str().unwrap())], directory.path());
    assert!(one_line(&output).contains("not a database"), "{output:?}");

    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = run(&["--listen", &address, "--data-dir", "fresh"], &[], directory.path());
    let next = format!("Cannot listen on {address}: ");
    assert!(one_line(&output).contains(&next), "{output:?}");
    assert!(one_line(&output).ends_with("Another program uses this port. Choose another one with --listen."));
    assert!(
        !String::from_utf8_lossy(&output.stdout).contains("thnv_"),
        "no key is shown when nothing is served"
    );
}

#[tokio::test]
async fn wrong_settings_are_named() {
    let directory = TempDir::new().unwrap();
    let flag = run(&["--lisen", "x"], &[], directory.path());
    assert!(String::from_utf8_lossy(&flag.stderr).contains("--lisen") && !flag.status.success());
    let command = run(&["sreve"], &[], directory.path());
    assert!(String::from_utf8_lossy(&command.stderr).contains("sreve") && !command.status.success());
    for url in ["mysql://u:secret@h/d", "postgres://u:secret@h/d?sslmode=sure", "postgres://u:secret@h:x/d"] {
        let line = one_line(&run(&["--database-url", url, "--listen", "x"], &[], directory.path()));
        assert!(
            line.contains("database_url") && line.contains("listen") && !line.contains("secret"),
            "{line}"
        );
    }
    std::fs::write(directory.path().join("parlance.toml"), "lisen = '127.0.0.1:0'").unwrap();
    let line = one_line(&run(&[], &[], directory.path()));
    assert!(line.contains("lisen") && line.contains("parlance.toml"), "{line}");
}

#[test]
fn the_configuration_is_checked_and_shown_with_its_origins() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("parlance.toml");
    std::fs::write(&file, "listen = '127.0.0.1:4001'\nlog = 'warn'\n").unwrap();
    let url = ("PARLANCE_DATABASE_URL", "postgres://u:secret@h/d");
    let right = run(&["config", "check"], &[url], directory.path());
    assert!(right.status.success(), "{right:?}");
    let shown = run(&["config", "show", "--json", "--log", "debug"], &[url], directory.path());
    assert!(shown.status.success(), "{shown:?}");
    assert!(!String::from_utf8_lossy(&shown.stdout).contains("secret"));
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    for (name, value, from) in [
        ("listen", "127.0.0.1:4001", "file"),
        ("log", "debug", "flag"),
        ("log_format", "text", "default"),
        ("database_url", "postgres://u:***@h/d", "variable"),
    ] {
        let setting = &shown["settings"][name];
        assert_eq!(
            (setting["value"].as_str(), setting["from"].as_str()),
            (Some(value), Some(from)),
            "{name}"
        );
    }
    let plain = run(&["config", "show"], &[url], directory.path());
    let plain = String::from_utf8(plain.stdout).unwrap();
    assert!(plain.contains("parlance.toml, line 1") && !plain.contains("secret"), "{plain}");

    std::fs::write(&file, "lisen = 'x'\nlog_format = 'xml'\n").unwrap();
    let wrong = [("PARLANCE_LISEN", "x"), ("PARLANCE_DATABASE_CONNECTIONS", "many"), ("PARLANCE_KEY", "k")];
    let output = run(&["config", "check", "--rate-limit", "x"], &wrong, directory.path());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let names = ["lisen:", "log_format:", "PARLANCE_LISEN:", "database_connections:", "rate_limit:"];
    assert_eq!(said.lines().count(), names.len(), "{said}");
    for name in names {
        assert!(said.lines().any(|line| line.starts_with(name)), "{name} {said}");
    }
    let place = |name: &str| said.lines().position(|line| line.starts_with(name)).unwrap();
    assert!(place("lisen:") < place("log_format:"), "in the order of lines: {said}");
    assert!(said.contains("did you mean PARLANCE_LISTEN?"), "{said}");
    assert!(
        one_line(&output).contains("5 invalid settings. Fix them, then run `parlance config check` again."),
        "{output:?}"
    );
    let output = run(&["config", "check", "--json"], &wrong, directory.path());
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((said["ok"].as_bool(), said["faults"].as_array().unwrap().len()), (Some(false), 4));
    assert!(!output.status.success());
    let start = one_line(&run(&["serve"], &wrong, directory.path()));
    assert!(names[..4].iter().all(|name| start.contains(name)) && start.contains("config check"), "{start}");
}

#[tokio::test]
async fn a_second_server_on_the_same_data_is_refused() {
    let server = Server::start_embedded().await;
    let output = server.command().args(["serve", "--listen", "127.0.0.1:0"]).output().unwrap();
    assert!(one_line(&output).contains("Another server"), "{output:?}");
    assert_eq!(server.user("ann").get("/agents").await.status, 200);
}

#[tokio::test]
async fn a_store_in_memory_serves() {
    let server = Server::start_with(&[("PARLANCE_DATABASE_URL", "sqlite::memory:")]).await;
    let admin = Api::new(&server, "me", &printed_keys(&server)[0], "");
    let chat = admin.create_chat().await;
    admin.sent(&chat, "hello", &[]).await;
    assert_eq!(admin.history(&chat).await.len(), 1);
    assert_eq!(std::fs::read_dir(server.data()).unwrap().count(), 0, "nothing is left behind");
}

#[tokio::test]
async fn a_stop_with_open_sockets_and_connections_is_quick_and_clean() {
    let mut server = Server::start().await;
    let ann = server.user("ann");
    // Two who never finish what they began to send, one of them in the midst of a request.
    let head = format!("POST /api/v1/me/chats HTTP/1.1\r\nhost: x\r\nx-api-key: {}\r\n", ann.key);
    let mut halves = Vec::new();
    for rest in ["content-le", "content-type: application/json\r\ncontent-length: 9\r\n\r\n{"] {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(format!("{head}{rest}").as_bytes()).unwrap();
        halves.push(stream);
    }
    let mut sockets = Vec::new();
    for _ in 0..20 {
        sockets.push(Socket::of(&server, &ann).await);
        assert_eq!(ann.get("/agents").await.status, 200, "and the connection stays open");
    }
    let took = server.terminate().await;
    assert!(took < Duration::from_secs(5), "{took:?}");
    for socket in &mut sockets {
        assert_eq!(socket.closed().await, Closed::Code(1012));
    }
}

#[tokio::test]
async fn a_hangup_stops_the_server_in_order() {
    let mut server = Server::start().await;
    let ann = server.user("ann");
    let mut socket = Socket::of(&server, &ann).await;
    server.signal("-HUP");
    assert_eq!(socket.closed().await, Closed::Code(1012));
    server.ended().await;
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
    let mut server = Server::start_on(&disk.0, &[]).await;
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
        assert!(soon(async || readiness(&server).await == "degraded").await, "{}", server.log());
        let refused = admin.send(&chat, &large, &[&bot.id]).await;
        assert_eq!((refused.status, refused.code()), (503, "service_unavailable"));
        assert_eq!(admin.send(&chat, "small", &[&bot.id]).await.status, 201);
        assert!(figure(port, "parlance_disk_free_bytes").await < 48.0 * 1024.0 * 1024.0);
        assert!(figure(port, "parlance_writes_refused_total").await >= f64::from(round));
        std::fs::remove_file(&filler).unwrap();
        assert!(soon(async || readiness(&server).await == "ready").await, "{}", server.log());
        assert_eq!(admin.send(&chat, &large, &[&bot.id]).await.status, 201);
    }
    let log = server.logged();
    let told = |text: &str| log.lines().filter(|line| line.contains(text)).collect::<Vec<_>>();
    assert_eq!(told("disk nearly full").len(), 2, "{log}");
    let over = told("disk has room again");
    assert!(over.len() == 2 && over.iter().all(|line| line.contains("duration_ms")), "{log}");
}

#[tokio::test]
async fn a_store_has_one_server_whatever_it_is_called() {
    let server = Server::start_embedded().await;
    let store = server.data().join("parlance.db");
    let elsewhere = TempDir::new().unwrap();
    let (hard, soft) = (elsewhere.path().join("hard.db"), elsewhere.path().join("soft.db"));
    std::fs::hard_link(&store, &hard).unwrap();
    std::os::unix::fs::symlink(&store, &soft).unwrap();
    for name in [hard, soft] {
        let url = format!("sqlite:{}", name.display());
        let listen = ("PARLANCE_LISTEN", "127.0.0.1:0");
        let output = run(&[], &[("PARLANCE_DATABASE_URL", &url), listen], elsewhere.path());
        assert!(one_line(&output).contains("Another server already runs"), "{output:?}");
    }
    let ann = server.user("ann");
    assert_eq!(ann.get("/agents").await.status, 200);
}

#[tokio::test]
async fn a_start_on_a_full_disk_says_so() {
    let disk = SmallDisk::mount("16k");
    std::fs::write(disk.0.join("filler"), vec![0_u8; 16 * 1024]).unwrap();
    let data = disk.0.to_str().unwrap();
    let output = run(&[], &[("PARLANCE_DATA_DIR", data), ("PARLANCE_LISTEN", "127.0.0.1:0")], &disk.0);
    assert!(one_line(&output).contains("full"), "{output:?}");
}

/// The same archive with another id for a message, as if it had been made at another time.
fn with_id(archive: &Path, id: &str, other: &str) {
    let text = std::fs::read_to_string(archive).unwrap().replace(id, other);
    let (rows, end) = text.trim_end().rsplit_once('\n').unwrap();
    let mut end = serde_json::from_str::<Value>(end).unwrap();
    let (_, lines) = rows.split_once('\n').unwrap();
    let digest = Sha256::digest(format!("{lines}\n"));
    let hex = digest.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>();
    end["end"]["sha256"] = hex.concat().into();
    std::fs::write(archive, format!("{rows}\n{end}\n")).unwrap();
}

#[tokio::test]
async fn what_is_older_than_it_is_kept_is_erased_after_a_start() {
    let data = TempDir::new().unwrap();
    let settings = [("PARLANCE_RETENTION_TEXT_DAYS", "2"), ("PARLANCE_RETENTION_EVENT_DAYS", "0")];
    let mut server = Server::start_on(data.path(), &settings).await;
    let ann = server.user("ann");
    let bot = ann.register(&server, "Bot").await;
    let chat = ann.create_chat().await;
    ann.add(&chat, &bot.id).await;
    let (old, young) = (ann.sent(&chat, "old", &[&bot.id]).await, ann.sent(&chat, "young", &[&bot.id]).await);
    server.terminate().await;

    let archive = data.path().join("archive");
    let done = |output: Output| assert!(output.status.success(), "{output:?}");
    done(server.command().args(["export", "--to"]).arg(&archive).output().unwrap());
    with_id(&archive, &old, "0190a000-0000-7000-8000-000000000001");
    for file in ["parlance.db", "parlance.db-wal", "parlance.db-shm"] {
        let _ = std::fs::remove_file(data.path().join(file));
    }
    done(server.command().args(["import", "--from"]).arg(&archive).output().unwrap());

    server.run().await;
    until("one message is left", async || ann.history(&chat).await.len() == 1).await;
    let left = ann.history(&chat).await;
    let left = left.iter().map(|message| message["id"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(left, [&young], "{}", server.log());
    assert_eq!(bot.next(&chat).await, Some(young));
}

#[tokio::test]
async fn the_version_is_told_to_everybody_with_all_that_old_clients_read() {
    let server = Server::start().await;
    for path in ["/version", "/api/version"] {
        let address = format!("http://{}{path}", server.address());
        let answer = reqwest::get(address).await.unwrap();
        assert_eq!(answer.status().as_u16(), 200);
        let body: serde_json::Value = answer.json().await.unwrap();
        for member in ["version", "commit", "built_at"] {
            assert!(body[member].as_str().is_some_and(|text| !text.is_empty()), "{member} of {body}");
        }
    }
}

/// The page with the API is found without the slash at its end.
#[tokio::test]
async fn the_page_with_the_api_needs_no_final_slash() {
    let server = Server::start().await;
    let page = reqwest::get(format!("http://{}/api/v1/docs", server.address())).await.unwrap();
    assert_eq!((page.status().as_u16(), page.url().path()), (200, "/api/v1/docs/"));
    assert!(page.text().await.unwrap().contains("swagger-ui"));
}

/// A command that opens and closes the store beside the server takes nothing from it.
#[tokio::test]
async fn commands_beside_the_server_cost_no_message() {
    let mut server = Server::start().await;
    let human = server.user("ann");
    let room = human.create_chat().await;
    let mut accepted = Vec::new();
    for number in 0..5 {
        accepted.push(human.sent(&room, &format!("before user {number}"), &[]).await);
        let created = server.user(&format!("user-{number}"));
        assert_eq!(created.get("/agents").await.status, 200);
        accepted.push(human.sent(&room, &format!("after user {number}"), &[]).await);
    }
    server.crash().await;
    let mut found = human.history(&room).await;
    found.reverse();
    let found = found.iter().map(|message| message["id"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(found, accepted);
}
