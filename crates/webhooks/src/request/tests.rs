use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use domain::id::ParticipantId;
use domain::webhook::{WebhookRoom, WebhookUrl};
use rcgen::KeyPair;
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use testkit::{World, until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;

/// The address that requests may go to in these tests.
const ALLOWED: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Another address of this machine, to which they may not.
const REFUSED: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// Answers each question with the next list of addresses, as a name does that is rebound.
pub(crate) struct Rebinding(Mutex<Vec<Vec<IpAddr>>>);

impl Rebinding {
    pub(crate) fn to(lists: &[&[IpAddr]]) -> Arc<Self> {
        Arc::new(Self(Mutex::new(lists.iter().rev().map(|list| list.to_vec()).collect())))
    }

    fn left(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

#[async_trait]
impl Resolve for Rebinding {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        self.0.lock().unwrap().pop().ok_or_else(|| io::Error::other("asked again"))
    }
}

/// A server that counts connections, and answers each with the same bytes.
struct Receiver {
    port: u16,
    connections: Arc<AtomicUsize>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Receiver {
    async fn on(address: IpAddr, port: u16, answer: impl Into<String>) -> Self {
        let listener = TcpListener::bind((address, port)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (connections, heads) = (Arc::<AtomicUsize>::default(), Arc::<Mutex<Vec<String>>>::default());
        let (count, kept, answer) = (connections.clone(), heads.clone(), answer.into());
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                let head = read_head(&mut stream).await;
                kept.lock().unwrap().push(head);
                // A client that reads no more closes the connection.
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self { port, connections, heads }
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Reads a request, and returns its head.
async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            if body.len() >= length.parse::<usize>().unwrap() {
                return head.to_owned();
            }
        }
        assert!(stream.read_buf(&mut bytes).await.unwrap() > 0, "the request ends early: {text}");
    }
}

fn response(status: u16, head: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n{head}\r\n{body}", body.len())
}

/// A delivery to this URL.
pub(crate) async fn due(url: &str) -> DueDelivery {
    let world = World::new();
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    world.webhooks.set_url(ann.id.into(), ann.id, bot.id, "https://receiver.example/").await.unwrap();
    world.send(ann.caller, chat, "hello", &[ParticipantId::Agent(bot.id)]).await;
    let mut due = *world.webhooks.take(WebhookRoom { agent: bot.id, chat }).await.unwrap().unwrap();
    due.webhook.url = WebhookUrl::checked(url.to_owned());
    due
}

fn client(resolver: Arc<Rebinding>) -> Client {
    let allowed = Allowed::new(&[ALLOWED.to_string().parse().unwrap()]);
    Client::trusting(RootCertStore::empty(), resolver, allowed).unwrap()
}

async fn send(client: &Client, url: &str) -> Reply {
    let due = due(url).await;
    client.send(&due, due.delivery.created_at).await
}

const fn answered(status: u16) -> Reply {
    Reply::Answered { status, retry_after: None }
}

/// The name is resolved once, and the connection made to an address that was judged, whatever the name says next.
#[tokio::test]
async fn a_request_goes_to_the_address_that_was_judged() {
    let receiver = Receiver::on(ALLOWED, 0, response(200, "", "")).await;
    let trap = Receiver::on(REFUSED, receiver.port, response(200, "", "")).await;
    let resolver = Rebinding::to(&[&[REFUSED, ALLOWED], &[REFUSED], &[]]);
    let client = client(resolver.clone());
    let url = format!("http://receiver.example:{}/in?key=1", receiver.port);
    assert_eq!(send(&client, &url).await, answered(200));
    assert_eq!((resolver.left(), receiver.connections()), (2, 1));
    let head = receiver.heads.lock().unwrap().remove(0);
    assert!(head.starts_with("POST /in?key=1 HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("host: receiver.example:{}\r\n", receiver.port)), "{head}");
    let errors = [send(&client, &url).await, send(&client, &url).await, send(&client, &url).await];
    assert!(matches!(&errors[0], Reply::Unanswered { .. }), "{errors:?}");
    assert_eq!(errors[1..], [errors[0].clone(), errors[0].clone()], "the reason is not told");
    assert_eq!((receiver.connections(), trap.connections()), (1, 0));
}

/// Whether they are stored as such, or a name leads there.
#[tokio::test]
async fn nothing_connects_to_refused_addresses() {
    let trap = Receiver::on(REFUSED, 0, response(200, "", "")).await;
    let port = trap.port;
    for address in ["127.0.0.2", "::ffff:127.0.0.2", "64:ff9b::7f00:2", "2002:7f00:2::1"] {
        let address = address.parse::<IpAddr>().unwrap();
        for scheme in ["http", "https"] {
            let client = client(Rebinding::to(&[&[address]]));
            let reply = send(&client, &format!("{scheme}://receiver.example:{port}/")).await;
            assert!(matches!(reply, Reply::Unanswered { .. }), "{address}: {reply:?}");
        }
    }
    for url in [
        format!("http://127.0.0.2:{port}/"),
        format!("http://2130706434:{port}/"),
        format!("http://0x7f.2:{port}/"),
        format!("http://0177.0.0.2:{port}/"),
        format!("http://[::ffff:7f00:2]:{port}/"),
        format!("http://user:word@127.0.0.2:{port}/"),
        format!("http://127.0.0.1@127.0.0.2:{port}/"),
    ] {
        let reply = send(&client(Rebinding::to(&[])), &url).await;
        assert!(matches!(reply, Reply::Unanswered { .. }), "{url}: {reply:?}");
    }
    assert_eq!(trap.connections(), 0);
}

/// Not even to a place that requests may go to.
#[tokio::test]
async fn no_redirect_is_followed() {
    let other = Receiver::on(ALLOWED, 0, response(200, "", "")).await;
    for status in [301, 302, 303, 307, 308] {
        let location = format!("location: http://127.0.0.1:{}/\r\n", other.port);
        let receiver = Receiver::on(ALLOWED, 0, response(status, &location, "")).await;
        let reply = send(&client(Rebinding::to(&[])), &format!("http://127.0.0.1:{}/", receiver.port)).await;
        assert_eq!((reply, receiver.connections()), (answered(status), 1));
    }
    assert_eq!(other.connections(), 0);
}

/// What a receiver may send is bounded: a long head is refused, and of a body without end only the beginning is read.
#[tokio::test]
async fn a_receiver_cannot_send_without_end() {
    let long = format!("x-long: {}\r\n", "x".repeat(64 * 1024));
    let receiver = Receiver::on(ALLOWED, 0, response(200, &long, "")).await;
    let url = |port| format!("http://127.0.0.1:{port}/");
    let reply = send(&client(Rebinding::to(&[])), &url(receiver.port)).await;
    assert!(matches!(reply, Reply::Unanswered { .. }), "{reply:?}");

    let listener = TcpListener::bind((ALLOWED, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let sending = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 X\r\n\r\n").await.unwrap();
        let mut sent = 0_u64;
        while stream.write_all(&[b'x'; 1024]).await.is_ok() {
            sent += 1024;
        }
        sent
    });
    assert_eq!(send(&client(Rebinding::to(&[])), &url(port)).await, answered(200));
    let sent = sending.await.unwrap();
    assert!(sent < 64 * 1024 * 1024, "{sent} bytes were taken, more than buffers hold");
}

/// Heads that announce others are bounded together.
#[tokio::test]
async fn a_receiver_cannot_announce_without_end() {
    let announced = "HTTP/1.1 100 Continue\r\n\r\n".repeat(10_000);
    let receiver = Receiver::on(ALLOWED, 0, announced + &response(200, "", "")).await;
    let url = format!("http://127.0.0.1:{}/", receiver.port);
    let reply = send(&client(Rebinding::to(&[])), &url).await;
    assert!(matches!(reply, Reply::Unanswered { .. }), "{reply:?}");
}

/// What receivers hold is bounded together; small requests are sent whatever others hold.
#[tokio::test]
async fn large_requests_have_a_limit_together() {
    let client = client(Rebinding::to(&[]));
    let whole = client.space(LARGE_KIB as u64 * 1024).unwrap();
    assert!(client.space(SMALL_BYTES as u64 + 1).is_err());
    assert!(client.space(SMALL_BYTES as u64).is_ok_and(|space| space.is_none()));
    drop(whole);
    assert!(client.space(SMALL_BYTES as u64 + 1).is_ok_and(|space| space.is_some()));
}

#[tokio::test]
async fn a_lost_connection_is_no_answer() {
    let listener = TcpListener::bind((ALLOWED, 0)).await.unwrap();
    let url = format!("http://127.0.0.1:{}/", listener.local_addr().unwrap().port());
    let closing = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_head(&mut stream).await;
    });
    let reply = send(&client(Rebinding::to(&[])), &url).await;
    assert!(matches!(reply, Reply::Unanswered { .. }), "{reply:?}");
    closing.await.unwrap();
    let reply = send(&client(Rebinding::to(&[])), &url).await;
    let Reply::Unanswered { error } = reply else { panic!("{reply:?}") };
    assert!(error.starts_with("cannot connect: "), "{error}");
}

/// The certificate must be of the host in the URL, whatever address the host has.
#[tokio::test]
async fn a_receiver_proves_that_it_is_the_host() {
    let key = KeyPair::generate().unwrap();
    let made = |name: &str| rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap().self_signed(&key);
    for (name, is_trusted, expected) in
        [("receiver.example", true, true), ("receiver.example", false, false), ("other.example", true, false)]
    {
        let certificate = CertificateDer::from(made(name).unwrap().der().to_vec());
        let private = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], private)
            .unwrap();
        let listener = TcpListener::bind((ALLOWED, 0)).await.unwrap();
        let url = format!("https://receiver.example:{}/", listener.local_addr().unwrap().port());
        let heads = Arc::<AtomicUsize>::default();
        let count = heads.clone();
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = TlsAcceptor::from(Arc::new(config)).accept(stream).await else { return };
            read_head(&mut stream).await;
            count.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(response(204, "", "").as_bytes()).await;
        });
        let mut roots = RootCertStore::empty();
        if is_trusted {
            roots.add(certificate).unwrap();
        }
        let allowed = Allowed::new(&[ALLOWED.to_string().parse().unwrap()]);
        let client = Client::trusting(roots, Rebinding::to(&[&[ALLOWED]]), allowed).unwrap();
        let reply = send(&client, &url).await;
        assert_eq!(reply == answered(204), expected, "{name}: {reply:?}");
        if expected {
            until("the request is read", async || heads.load(Ordering::SeqCst) == 1).await;
        } else {
            assert_eq!(heads.load(Ordering::SeqCst), 0, "the message is not shown to another host");
        }
    }
}

#[test]
fn both_forms_of_retry_after_are_read() {
    let now = Timestamp::parse("2026-07-01T10:00:00Z").unwrap();
    for (asked, seconds) in [
        ("0", Some(0)),
        (" 120 ", Some(120)),
        ("Wed, 01 Jul 2026 10:01:30 GMT", Some(90)),
        ("Wed, 01 Jul 2026 09:00:00 GMT", Some(0)),
        ("-5", None),
        ("soon", None),
        ("", None),
    ] {
        assert_eq!(pause(asked, now), seconds.map(Duration::from_secs), "{asked}");
    }
}
