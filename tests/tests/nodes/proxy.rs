//! Two servers behind the proxy of `deploy/`.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use e2e::cast::Cast;
use e2e::{Closed, Server, Socket, free_port, pace, until};
use futures_util::future::join_all;
use tempfile::TempDir;
use tokio::time::{Instant, timeout_at};

use crate::several;

/// The column of a server's status in what the proxy tells of itself.
const STATUS: usize = 17;

/// The proxy of `deploy/`, before two servers.
struct Proxy {
    process: Child,
    address: String,
    directory: TempDir,
}

impl Proxy {
    fn before(servers: &[Server]) -> Self {
        let address = format!("127.0.0.1:{}", free_port());
        // The maximum number of connections.
        let config = include_str!("../../../deploy/haproxy.cfg").replace("maxconn 50000", "maxconn 200");
        let mut config = config.replace("bind :8080", &format!("bind {address}"));
        let directory = TempDir::new().unwrap();
        let admin = directory.path().join("admin");
        config =
            config.replacen("\nglobal\n", &format!("\nglobal\n    stats socket {}\n", admin.display()), 1);
        for (number, server) in (1..).zip(servers) {
            config = config.replace(&format!("node{number}:4000"), &server.address());
        }
        let path = directory.path().join("haproxy.cfg");
        std::fs::write(&path, config).unwrap();
        let mut command = Command::new("haproxy");
        command.arg("-db").arg("-f").arg(path).stdout(Stdio::null());
        Self { process: command.spawn().unwrap(), address, directory }
    }

    /// Returns whether so many servers are up in its eyes, and none is on its way down.
    fn uses(&self, servers: usize) -> bool {
        let mut admin = UnixStream::connect(self.directory.path().join("admin")).unwrap();
        admin.write_all(b"show stat\n").unwrap();
        let mut table = String::new();
        admin.read_to_string(&mut table).unwrap();
        let rows = table.lines().filter(|row| row.starts_with("nodes,node"));
        rows.filter(|row| row.split(',').nth(STATUS) == Some("UP")).count() == servers
    }

    /// A socket, with as many tries as are needed; how many that were.
    async fn socket(&self, key: &str) -> (Socket, u32) {
        for tries in 1..100 {
            let asked = Socket::connect_to(&self.address, "vsn=2.0.0", &[("x-api-key", key)]).await;
            match asked {
                Ok(socket) => return (socket, tries),
                Err(status) => assert_eq!(status, 503),
            }
            pace(Duration::from_millis(100)).await;
        }
        panic!("no server takes the socket")
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Requests are all answered, and whose socket is ended finds another server at the first try.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs haproxy; tests/deploy/check runs it"]
async fn behind_the_proxy_a_rolling_restart_is_hardly_noticed() {
    let mut fleet = several(2).await;
    let servers = &mut fleet.servers[..];
    let cast = Cast::on(&servers[0]).await;
    let proxy = Proxy::before(servers);
    let all = [&cast.u1, &cast.u2, &cast.a1, &cast.a2, &cast.a3];
    let ready = format!("http://{}/ready", proxy.address);
    let chats = format!("http://{}/api/v1/me/chats", proxy.address);
    let client = reqwest::Client::new();
    let is_ready = async || reqwest::get(&ready).await.is_ok_and(|answer| answer.status() == 200);
    until("the proxy finds a server", is_ready).await;
    let mut sockets = Vec::new();
    for who in all {
        sockets.push((proxy.socket(&who.key).await.0, who.key.clone()));
    }
    let goes_on = Arc::new(AtomicBool::new(true));
    let asking = tokio::spawn({
        let (goes_on, key) = (goes_on.clone(), cast.u1.key.clone());
        async move {
            let mut answered = 0;
            while goes_on.load(Ordering::SeqCst) {
                let answer = client.get(&chats).header("x-api-key", &key).send().await.unwrap();
                assert_eq!(answer.status(), 200, "after {answered}");
                answered += 1;
                pace(Duration::from_millis(10)).await;
            }
            answered
        }
    });
    for server in servers {
        server.signal("-TERM");
        let moving = sockets.into_iter().map(|(socket, key)| stay(socket, key, &proxy));
        let (moved, _) = futures_util::future::join(join_all(moving), server.ended()).await;
        assert!(moved.iter().any(|(_, _, ends)| *ends > 0), "some were on this one");
        assert!(moved.iter().all(|(_, _, ends)| *ends <= 1), "nobody is sent away twice");
        sockets = moved.into_iter().map(|(socket, key, _)| (socket, key)).collect();
        server.run().await;
        until("the proxy does not use the server again", async || proxy.uses(2)).await;
    }
    goes_on.store(false, Ordering::SeqCst);
    assert!(asking.await.unwrap() > 100);
}

/// Stays connected for as long as a server takes to stop; how often it was sent away.
async fn stay(mut socket: Socket, key: String, proxy: &Proxy) -> (Socket, String, u32) {
    let (until, mut ends) = (Instant::now() + Duration::from_secs(4), 0);
    while let Ok(closed) = timeout_at(until, socket.closed()).await {
        assert_eq!(closed, Closed::Code(1012));
        let (newer, tries) = proxy.socket(&key).await;
        assert_eq!(tries, 1, "a server that stops passes nobody on");
        (socket, ends) = (newer, ends + 1);
    }
    (socket, key, ends)
}
