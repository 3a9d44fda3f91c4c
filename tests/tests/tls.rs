//! The server's own TLS: requests and sockets, renewed certificates, and clients that never complete their handshake.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use e2e::{Server, free_port, isolated, pace, program, until};
use futures_util::{SinkExt, StreamExt};
use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ProtocolVersion, RootCertStore, SupportedProtocolVersion, version};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

/// The maximum wait for something that must happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// Certificates that a client trusts, and the files of the one that is served.
struct Place {
    directory: TempDir,
    made: Vec<Made>,
}

/// A certificate and its key, PEM.
#[derive(Clone)]
struct Made {
    certificate: String,
    key: String,
}

fn made(days: u64) -> Made {
    let mut parameters = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs() / 86_400;
    let date = |days: u64| rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(days * 86_400);
    (parameters.not_before, parameters.not_after) = (date(now - 10), date(now + days));
    let key = KeyPair::generate().unwrap();
    Made { certificate: parameters.self_signed(&key).unwrap().pem(), key: key.serialize_pem() }
}

impl Place {
    fn new() -> Self {
        let place = Self { directory: TempDir::new().unwrap(), made: (0..4).map(|_| made(90)).collect() };
        place.put(&place.made[0]);
        place
    }

    fn certificate(&self) -> PathBuf {
        self.directory.path().join("chain.pem")
    }

    fn key(&self) -> PathBuf {
        self.directory.path().join("key.pem")
    }

    /// Puts other files in the place of those that are there, one after the other.
    fn put(&self, Made { certificate, key }: &Made) {
        for (path, text) in [(self.certificate(), certificate), (self.key(), key)] {
            let draft = path.with_extension("draft");
            std::fs::write(&draft, text).unwrap();
            std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o600)).unwrap();
            std::fs::rename(draft, path).unwrap();
        }
    }

    fn settings(&self) -> [(&'static str, String); 2] {
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        [("PARLANCE_TLS_CERTIFICATE", text(self.certificate())), ("PARLANCE_TLS_KEY", text(self.key()))]
    }

    async fn server(&self, more: &[(&str, &str)]) -> Server {
        let own = self.settings();
        let own = own.iter().map(|(name, value)| (*name, value.as_str()));
        Server::start_with(&own.chain(more.iter().copied()).collect::<Vec<_>>()).await
    }

    /// A client that trusts only these certificates, for `localhost`.
    fn client(&self, versions: &[&'static SupportedProtocolVersion]) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        for Made { certificate, .. } in &self.made {
            roots.add(CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()).unwrap();
        }
        let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        // So that each connection is shown the certificate.
        config.resumption = rustls::client::Resumption::disabled();
        TlsConnector::from(Arc::new(config))
    }
}

/// A connection that is encrypted.
struct Https(TlsStream<TcpStream>);

impl Https {
    async fn connect(server: &str, client: &TlsConnector) -> std::io::Result<Self> {
        let stream = TcpStream::connect(server).await?;
        Ok(Self(client.connect(ServerName::try_from("localhost").unwrap(), stream).await?))
    }

    /// The certificate that the server showed.
    fn shown(&self) -> Vec<u8> {
        self.0.get_ref().1.peer_certificates().unwrap()[0].to_vec()
    }

    /// One request; the status and the body of its answer.
    async fn ask(&mut self, head: &str, body: &str) -> std::io::Result<(u16, String)> {
        let length = body.len();
        let request = format!("{head}host: localhost\r\ncontent-length: {length}\r\n\r\n{body}");
        self.0.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        loop {
            let text = String::from_utf8_lossy(&answer).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
                if body.len() == length.parse::<usize>().unwrap() {
                    return Ok((head[9..12].parse().unwrap(), body.to_owned()));
                }
            }
            let mut part = [0; 4096];
            match self.0.read(&mut part).await? {
                0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                count => answer.extend_from_slice(&part[..count]),
            }
        }
    }
}

const HEALTH: &str = "GET /health HTTP/1.1\r\n";

#[tokio::test]
async fn requests_and_sockets_are_encrypted() {
    let place = Place::new();
    let server = place.server(&[]).await;
    assert!(server.printed().contains(&format!("https://{}/api", server.address())), "{}", server.printed());
    let ann = server.user("ann");
    for (version, expected) in
        [(&version::TLS13, ProtocolVersion::TLSv1_3), (&version::TLS12, ProtocolVersion::TLSv1_2)]
    {
        let client = place.client(&[version]);
        let mut https = Https::connect(&server.address(), &client).await.unwrap();
        let session = https.0.get_ref().1;
        assert_eq!(session.protocol_version(), Some(expected));
        assert_eq!(session.alpn_protocol(), Some(&b"http/1.1"[..]), "sockets need it");
        let post = format!(
            "POST /api/v1/me/chats HTTP/1.1\r\nx-api-key: {}\r\ncontent-type: application/json\r\n",
            ann.key
        );
        let (status, body) = https.ask(&post, r#"{"chat":{}}"#).await.unwrap();
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(status, 201, "{body}");

        let url = format!("ws://{}/api/v1/socket/websocket?vsn=2.0.0", server.address());
        let mut request = url.into_client_request().unwrap();
        request.headers_mut().insert("x-api-key", ann.key.parse().unwrap());
        let stream = Https::connect(&server.address(), &client).await.unwrap().0;
        let (mut socket, _) = client_async(request, stream).await.unwrap();
        let topic = format!("chat_room:{}", body["data"]["id"].as_str().unwrap());
        socket.send(Message::text(json!(["1", "1", topic, "phx_join", {}]).to_string())).await.unwrap();
        let reply = timeout(PATIENCE, socket.next()).await.unwrap().unwrap().unwrap();
        assert!(reply.to_text().unwrap().contains(r#""status":"ok""#), "{reply}");
    }
}

/// Asks on new connections, again and again; how often, and which certificates it was shown.
async fn ask_always(server: String, client: TlsConnector, stop: Arc<AtomicBool>) -> (u32, Vec<Vec<u8>>) {
    let (mut count, mut shown) = (0, Vec::new());
    while !stop.load(Ordering::SeqCst) {
        let mut https = Https::connect(&server, &client).await.expect("a connection");
        assert_eq!(https.ask(HEALTH, "").await.expect("an answer").0, 200);
        if shown.last() != Some(&https.shown()) {
            shown.push(https.shown());
        }
        count += 1;
        pace(Duration::from_millis(5)).await;
    }
    (count, shown)
}

async fn until_shown(server: &Server, client: &TlsConnector, made: &Made) {
    let expected = CertificateDer::from_pem_slice(made.certificate.as_bytes()).unwrap();
    until("the certificate is shown", async || {
        Https::connect(&server.address(), client).await.unwrap().shown() == expected.as_ref()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewed_certificate_is_taken_up_and_no_request_fails() {
    let place = Place::new();
    let server = place.server(&[("PARLANCE_HTTP_IDLE_TIMEOUT_MS", "600000")]).await;
    let client = place.client(rustls::ALL_VERSIONS);
    let stop = Arc::new(AtomicBool::new(false));
    let ask = || tokio::spawn(ask_always(server.address(), client.clone(), stop.clone()));
    let asking = [ask(), ask()];
    let mut kept = Https::connect(&server.address(), &client).await.unwrap();
    for made in &place.made[1..] {
        place.put(made);
        until_shown(&server, &client, made).await;
        assert_eq!(kept.ask(HEALTH, "").await.unwrap().0, 200, "who was there goes on");
    }
    stop.store(true, Ordering::SeqCst);
    for asked in asking {
        let (count, shown) = asked.await.unwrap();
        assert!(count > 20 && shown.len() > 1, "{count} requests, {} certificates", shown.len());
    }
    let log = server.logged();
    assert_eq!(log.matches("TLS certificate reloaded").count(), 3, "{log}");
    assert!(!log.contains("cannot be used"), "the moment between two files is no fault: {log}");
}

#[tokio::test]
async fn a_broken_renewal_leaves_the_certificate_from_before() {
    let place = Place::new();
    let server = place.server(&[]).await;
    let client = place.client(rustls::ALL_VERSIONS);
    let good = &place.made[0];
    let stranger = Made { key: place.made[1].key.clone(), ..good.clone() };
    let damaged = Made { certificate: good.certificate.replace("MII", "XII"), ..good.clone() };
    for (number, broken) in [stranger, damaged].iter().enumerate() {
        place.put(broken);
        let deadline = Instant::now() + PATIENCE;
        while server.logged().matches("changed TLS files cannot be used").count() <= number {
            assert!(Instant::now() < deadline, "the fault is told: {}", server.logged());
            let mut https = Https::connect(&server.address(), &client).await.unwrap();
            assert_eq!(https.ask(HEALTH, "").await.unwrap().0, 200);
            pace(Duration::from_millis(100)).await;
        }
    }
    std::fs::remove_file(place.key()).unwrap();
    place.put(&place.made[2]);
    until_shown(&server, &client, &place.made[2]).await;
    let log = server.logged();
    assert_eq!(log.matches("changed TLS files cannot be used").count(), 2, "once each: {log}");
    assert!(!log.contains("PRIVATE KEY") && log.contains("not the key of the first certificate"), "{log}");
}

#[tokio::test]
async fn who_does_not_encrypt_is_told_so() {
    let place = Place::new();
    let server = place.server(&[]).await;
    let answer = reqwest::get(format!("http://{}/health", server.address())).await.unwrap();
    assert_eq!(answer.status(), 400);
    assert_eq!(answer.headers()["content-type"], "application/json");
    let id = answer.headers()["x-request-id"].to_str().unwrap().to_owned();
    let body = answer.json::<serde_json::Value>().await.unwrap();
    assert_eq!(body["error"]["code"], "bad_request");
    assert!(body["error"]["message"].as_str().unwrap().contains("https://"));
    assert_eq!(body["error"]["request_id"], id);
}

/// Everything until the server closes the connection, and how long that took.
async fn until_closed(stream: &mut TcpStream) -> (Vec<u8>, Duration) {
    let (started, mut answer) = (Instant::now(), Vec::new());
    let read = timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("the server closes");
    if let Err(error) = read {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }
    (answer, started.elapsed())
}

#[tokio::test]
async fn who_never_ends_the_handshake_is_closed() {
    let settings = [("PARLANCE_HEADER_TIMEOUT_MS", "1000"), ("PARLANCE_HTTP_IDLE_TIMEOUT_MS", "1000")];
    let place = Place::new();
    let server = place.server(&settings).await;
    let bound = Duration::from_secs(15);
    let silent = async {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        assert!(until_closed(&mut stream).await.1 < bound, "who says nothing");
    };
    let slow = async {
        let (mut reads, mut writes) = TcpStream::connect(server.address()).await.unwrap().into_split();
        // A record of 16 KiB is announced, and comes a byte at a time.
        let dripping = tokio::spawn(async move {
            writes.write_all(&[22, 3, 1, 0x40, 0]).await.unwrap();
            while writes.write_all(&[1]).await.is_ok() {
                pace(Duration::from_millis(50)).await;
            }
        });
        let started = Instant::now();
        // An end or a reset, as it comes.
        let _ = timeout(PATIENCE, reads.read_to_end(&mut Vec::new())).await.expect("the server closes");
        assert!(started.elapsed() < bound, "who shakes hands a byte at a time");
        dripping.await.unwrap();
    };
    let later = async {
        let client = place.client(rustls::ALL_VERSIONS);
        let mut https = Https::connect(&server.address(), &client).await.unwrap();
        assert_eq!(https.ask(HEALTH, "").await.unwrap().0, 200);
        let started = Instant::now();
        while https.0.write_all(b"G").await.is_ok() {
            assert!(started.elapsed() < bound, "who never ends the second head");
            pace(Duration::from_millis(50)).await;
        }
    };
    tokio::join!(silent, slow, later);
}

/// The number of connections that the server has not closed.
fn open_connections(server: &Server) -> usize {
    let port = server.address().rsplit_once(':').unwrap().1.parse::<u16>().unwrap();
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let rows = table.lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>());
    // Established, or closed by the client only.
    let is_open =
        |row: &Vec<&str>| row[1].ends_with(&format!(":{port:04X}")) && ["01", "08"].contains(&row[3]);
    rows.filter(is_open).count()
}

/// Connections count before their first byte.
#[tokio::test]
async fn handshakes_count_for_the_limit_of_an_address() {
    let place = Place::new();
    let settings = [("PARLANCE_MAX_CONNECTIONS_PER_ADDRESS", "3"), ("PARLANCE_HEADER_TIMEOUT_MS", "60000")];
    let server = place.server(&settings).await;
    until("the connections of the start are gone", async || open_connections(&server) == 0).await;
    // Which of them are taken in is chance; there are several threads.
    let mut silent = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        silent.spawn(async move { stream.read(&mut [0]).await });
    }
    for _ in 0..3 {
        let ended = timeout(PATIENCE, silent.join_next()).await.expect("three are too many");
        assert!(ended.unwrap().unwrap().is_ok_and(|count| count == 0), "without a word");
    }
    assert!(timeout(Duration::from_secs(1), silent.join_next()).await.is_err(), "three are not");
    silent.shutdown().await;
    let client = place.client(rustls::ALL_VERSIONS);
    until("places that were given up are free", async || {
        Https::connect(&server.address(), &client).await.is_ok()
    })
    .await;
}

/// Returns whether a command accepts a configuration with these files, and its output.
fn said(place: &Place, command: &[&str], certificate: bool, key: bool) -> (bool, String) {
    let [(certificate_name, certificate_path), (key_name, key_path)] = place.settings();
    let data = place.directory.path().join("data");
    let mut program = isolated(program());
    program.args(command).current_dir(place.directory.path());
    program.env("PARLANCE_DATA_DIR", data).env("PARLANCE_LISTEN", format!("127.0.0.1:{}", free_port()));
    program.envs(certificate.then_some((certificate_name, certificate_path)));
    program.envs(key.then_some((key_name, key_path)));
    let output = program.output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (output.status.success(), text)
}

#[test]
fn wrong_files_are_named_before_they_are_needed() {
    let place = Place::new();
    let check = |certificate, key| said(&place, &["config", "check"], certificate, key);
    assert!(check(true, true).0 && check(false, false).0);
    let (well, text) = check(true, false);
    assert!(!well && text.contains("tls_certificate: has no tls_key"), "{text}");
    let (well, text) = check(false, true);
    assert!(!well && text.contains("tls_key: has no tls_certificate"), "{text}");

    place.put(&Made { key: place.made[1].key.clone(), ..place.made[0].clone() });
    let expected = format!("tls_key: {} cannot be used", place.key().display());
    for command in [&["config", "check"][..], &["serve"], &["doctor"]] {
        let (well, text) = said(&place, command, true, true);
        assert!(!well && text.contains(&expected) && text.contains("not the key"), "{command:?}: {text}");
    }
    let create = ["user", "create", "--handle", "ann", "--email", "a@example.org", "--name", "Ann"];
    assert!(said(&place, &["migrate"], true, true).0, "nor the making of a store");
    let (well, text) = said(&place, &create, true, true);
    assert!(well, "a broken certificate stops no other command: {text}");
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn the_doctor_looks_at_the_certificate() {
    let place = Place::new();
    assert!(said(&place, &["migrate"], true, true).0);
    let doctor = || said(&place, &["doctor"], true, true);
    let (well, text) = doctor();
    assert!(
        well && text.contains("is valid until") && text.contains("key.pem is not accessible to others"),
        "{text}"
    );
    mode(&place.key(), 0o640);
    assert!(doctor().0, "a group may read it");
    mode(&place.key(), 0o644);
    let (well, text) = doctor();
    assert!(!well && text.contains("chmod 600"), "{text}");

    place.put(&made(5));
    let (well, text) = doctor();
    assert!(well && text.contains("warning") && text.contains("expires soon"), "{text}");
    let ended = {
        let mut parameters = CertificateParams::new(["localhost".to_owned()]).unwrap();
        parameters.not_after = rcgen::date_time_ymd(2020, 1, 1);
        let key = KeyPair::generate().unwrap();
        Made { certificate: parameters.self_signed(&key).unwrap().pem(), key: key.serialize_pem() }
    };
    place.put(&ended);
    let (well, text) = doctor();
    assert!(!well && text.contains("expired at 2020-01-01"), "{text}");

    place.put(&place.made[0]);
    let server = place.server(&[]).await;
    let output = server.command().arg("doctor").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("is used by the server of this store") || text.contains("a Parlance server answers at"),
        "{text}"
    );
}
