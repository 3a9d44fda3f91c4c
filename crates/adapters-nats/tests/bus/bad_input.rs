//! Refused credentials, unusable files, and forged or malformed messages.

use std::io::Write;
use std::sync::Mutex;

use adapters_nats::{ConnectFault, Settings};
use domain::bus::{Interest, RunningBus};
use domain::ports::EventPublisher;
use domain::secret::Secret;
use testkit::nats::Nats;

use crate::nodes::{Node, SECRET, acquainted, room, settings, text, until};

async fn refused(settings: &Settings) -> ConnectFault {
    match Node::with(settings, SECRET).await {
        Ok(_) => panic!("it is let in"),
        Err(fault) => fault,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_credentials_are_named_and_not_shown() {
    let nats = Nats::start_with(&["--user", "ann", "--pass", "secret"]);
    for login in ["ann:wrong", "eve:secret", "token"] {
        let url = format!("nats://{login}@127.0.0.1:{}", nats.port());
        let fault = refused(&settings(&url)).await;
        assert!(matches!(fault, ConnectFault::Refused { .. }), "{fault:?}");
        let said = fault.to_string();
        assert!(said.contains(&nats.port().to_string()) && said.contains("refuses"), "{said}");
        assert!(!said.contains("wrong") && !said.contains("secret") && !said.contains("token"), "{said}");
    }
    assert!(matches!(refused(&settings(&nats.url())).await, ConnectFault::Refused { .. }));
    let url = format!("nats://ann:secret@127.0.0.1:{}", nats.port());
    assert!(Node::at(&url).await.bus.is_connected());
}

/// What is logged by this process.
static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOG.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// How many lines say it.
fn logged(what: &str) -> usize {
    let log = LOG.lock().unwrap();
    String::from_utf8_lossy(&log).lines().filter(|line| line.contains(what)).count()
}

/// A NATS that does not know this server any more is tried again and again, and that is said once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_that_are_refused_later_are_said_once() {
    let lines = tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_ansi(false);
    lines.with_writer(|| Log).init();
    let before = ["--user", "ann", "--pass", "before"];
    let mut nats = Nats::start_with(&before);
    let node = Node::at(&format!("nats://ann:before@127.0.0.1:{}", nats.port())).await;
    acquainted(&[&node]).await;
    for refused in 1..=2 {
        let attempts = logged("authorization violation");
        nats.kill();
        nats.run_with(&["--user", "ann", "--pass", "after"]);
        // This is what the client says at each attempt.
        let tried = || logged("authorization violation") >= attempts + 4;
        until(tried, || "it is not tried again".to_owned()).await;
        assert_eq!(logged("NATS refuses the credentials"), refused);
        assert!(!node.bus.is_connected());
        nats.kill();
        nats.run_with(&before);
        acquainted(&[&node]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_cannot_be_used_are_named() {
    let nats = Nats::start();
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("nobody.creds");
    let garbage = directory.path().join("garbage");
    std::fs::File::create(&garbage).unwrap().write_all(b"no keys in here").unwrap();
    for file in [&missing, &garbage] {
        let name = file.display().to_string();
        let credentials = Some(file.clone());
        let fault = refused(&Settings { credentials, ..settings(&nats.url()) }).await;
        assert!(
            matches!(fault, ConnectFault::Credentials { .. }) && fault.to_string().contains(&name),
            "{fault}"
        );
        let fault = refused(&Settings { ca: Some(file.clone()), ..settings(&nats.url()) }).await;
        assert!(
            matches!(fault, ConnectFault::Encryption { .. }) && fault.to_string().contains(&name),
            "{fault}"
        );
    }
}

/// Others may use the same NATS.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_forged_malformed_or_altered_is_told_to_nobody() {
    let nats = Nats::start();
    let spy = nats.spy();
    let [one, two] = [Node::at(&nats.url()).await, Node::at(&nats.url()).await];
    let stranger = Node::with(&settings(&nats.url()), Secret([8; 32])).await.unwrap();
    two.listen(&[1, 2].map(|number| Interest::Room(room(number)))).await;
    stranger.listen(&[Interest::Room(room(1))]).await;
    acquainted(&[&one, &two]).await;
    spy.heard("");
    one.events.publish(text(room(1), "true"));
    two.hears(&["true"]).await;
    let sent = std::cell::RefCell::new(Vec::new());
    let is_there = || {
        sent.borrow_mut().extend(spy.heard("test.chat.t.room."));
        !sent.borrow().is_empty()
    };
    until(is_there, || "nothing was sent".to_owned()).await;
    let (subject, message) = sent.take().pop().unwrap();

    // Of another secret; the same once more; on another subject; altered; cut; of a later version; anything.
    stranger.events.publish(text(room(1), "forged"));
    nats.publish(&subject, &message);
    nats.publish(&format!("test.chat.t.room.{}", room(2)), &message);
    for index in [2, 20, 40, message.len() - 1] {
        let mut altered = message.clone();
        altered[index] ^= 1;
        nats.publish(&subject, &altered);
    }
    let mut later = message.clone();
    later[1] = 2;
    nats.publish(&subject, &later);
    for length in [0, 1, 34, 66, message.len() - 1] {
        nats.publish(&subject, &message[..length]);
    }
    nats.publish(&subject, &vec![b'P'; 900_000]);
    nats.publish("test.chat.nodes", b"{\"gone\":true}");
    nats.publish("test.chat.nodes", &message);
    nats.publish("test.chat.all", &message);
    one.events.publish(text(room(1), "the end"));
    two.hears(&["true", "the end"]).await;
    assert!(stranger.published.contents().is_empty(), "nor do they hear what is ours");
}
