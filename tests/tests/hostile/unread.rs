//! Clients that do not read their answers.

use std::net::SocketAddr;
use std::time::Duration;

use e2e::cast::Cast;
use e2e::{Server, is_full, p99, pace, until_or};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::Instant;

/// The maximum growth of the server's memory half a minute after the attack, in MiB.
const KEPT_MIB: u64 = 25;

/// The resident memory of the server, in MiB.
fn resident_mib(server: &Server) -> u64 {
    server.resident_bytes() / (1024 * 1024)
}

/// So many connections from so many addresses that send `bytes` and read nothing.
async fn deaf(server: &Server, addresses: u8, connections: usize, bytes: &[u8]) -> Vec<TcpStream> {
    let mut open = Vec::new();
    for address in 1..=addresses {
        for _ in 0..connections {
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind(SocketAddr::from(([127, 0, 0, address], 0))).unwrap();
            let stream = socket.connect(server.address().parse().unwrap()).await.unwrap();
            // What does not fit at once is not sent.
            let _ = stream.writable().await.map(|()| stream.try_write(bytes));
            open.push(stream);
        }
    }
    open
}

/// Many connections ask for static documents over and over and read nothing: neither what is answered nor what was
/// sent ahead takes memory, and others have their answers. With `--nocapture` the figures are printed.
#[tokio::test]
async fn answers_that_nobody_reads_take_little_memory() {
    let (addresses, connections) = if is_full() { (3, 1_900) } else { (1, 300) };
    // The target is the shipped build's.
    let longest = Duration::from_millis(if is_full() { 200 } else { 10_000 });
    // Without the limits it is the budget alone that holds.
    for limits in ["true", "false"] {
        let server = Server::start_alone(&[("PARLANCE_RATE_LIMITS", limits), ("PARLANCE_LOG", "info")]).await;
        let cast = Cast::on(&server).await;
        let before = resident_mib(&server);
        // A text that a decoder takes apart into thousands of requests, if it is given all of it.
        let tiny = "GET / HTTP/1.1\r\nhost:x\r\n\r\n".repeat(5_000);
        let mut open = Vec::new();
        for path in ["/api/v1/openapi.json", "/api/v1/docs/swagger-ui-bundle.js"] {
            let asks = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").repeat(16);
            open.push(deaf(&server, addresses, connections / 2, asks.as_bytes()).await);
        }
        open.push(deaf(&server, 1, 100, tiny.as_bytes()).await);
        let (mut most, mut times) = (0, Vec::new());
        for _ in 0..if is_full() { 500 } else { 20 } {
            let asked = Instant::now();
            assert_eq!(cast.u1.get("/chats").await.status, 200);
            times.push(asked.elapsed());
            most = most.max(resident_mib(&server));
            pace(Duration::from_millis(50)).await;
        }
        let (p99, worst) = (p99(&mut times), times.iter().max().unwrap());
        println!("limits {limits}: {before} to {most} MiB; GET p99 {p99:?}, worst {worst:?}");
        assert!(p99 < longest && worst < &Duration::from_secs(10), "p99 {p99:?}, worst {worst:?}");
        let bound = if is_full() { 150 } else { before + 50 };
        assert!(most < bound, "{before} MiB before, {most} MiB then, limits {limits}");
        drop(open);
        let ended = Instant::now();
        let otherwise = || {
            let kept = resident_mib(&server);
            format!("{before} MiB before, {most} MiB at most, {kept} MiB in the end")
        };
        until_or(otherwise, async || resident_mib(&server) < before + KEPT_MIB).await;
        println!("{} MiB after {:?}", resident_mib(&server), ended.elapsed());
        assert!(server.logged().lines().count() < 500, "no line for each of them");
    }
}
