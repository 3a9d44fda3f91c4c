//! Connecting over TLS, and with a file of credentials.

use std::path::{Path, PathBuf};

use adapters_nats::{ConnectFault, Settings};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::bus::{Interest, RunningBus};
use domain::ports::EventPublisher;
use nkeys::KeyPair;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::nats::Nats;

use crate::nodes::{Node, SECRET, acquainted, room, settings, text};

/// Two nodes that are let in so hear each other.
async fn hear_each_other(settings: &Settings) {
    let node = async || Node::with(settings, SECRET).await.unwrap();
    let [one, two] = [node().await, node().await];
    two.listen(&[Interest::Room(room(1))]).await;
    acquainted(&[&one, &two]).await;
    one.events.publish(text(room(1), "heard"));
    two.hears(&["heard"]).await;
}

async fn refused(settings: &Settings) -> ConnectFault {
    Node::with(settings, SECRET).await.err().expect("it is let in")
}

fn written(directory: &TempDir, name: &str, text: &str) -> PathBuf {
    let file = directory.path().join(name);
    std::fs::write(&file, text).unwrap();
    file
}

fn path(file: &Path) -> &str {
    file.to_str().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_link_is_encrypted_where_the_authority_is_trusted() {
    let directory = tempfile::tempdir().unwrap();
    let certificate = |file: &str| {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = written(&directory, &format!("{file}.key"), &made.signing_key.serialize_pem());
        (written(&directory, file, &made.cert.pem()), key)
    };
    let ((own, key), (other, _)) = (certificate("own"), certificate("other"));
    let nats = Nats::start_with(&["--tls", "--tlscert", path(&own), "--tlskey", path(&key)]);
    for scheme in ["tls", "nats"] {
        let settings = settings(&format!("{scheme}://localhost:{}", nats.port()));
        hear_each_other(&Settings { ca: Some(own.clone()), ..settings.clone() }).await;
        for ca in [Some(other.clone()), None] {
            let fault = refused(&Settings { ca, ..settings.clone() }).await;
            assert!(matches!(fault, ConnectFault::Encryption { .. }), "{scheme}: {fault:?}");
        }
    }
    // The certificate is for another name.
    let elsewhere = Settings { ca: Some(own), ..settings(&format!("tls://127.0.0.1:{}", nats.port())) };
    assert!(matches!(refused(&elsewhere).await, ConnectFault::Encryption { .. }));

    // Nothing is said in the clear to a server that does not encrypt.
    let plain = Nats::start();
    let tls = settings(&format!("tls://localhost:{}", plain.port()));
    for ca in [Some(other), None] {
        assert!(
            !Node::with(&Settings { ca, ..tls.clone() }, SECRET)
                .await
                .is_ok_and(|node| node.bus.is_connected())
        );
    }
}

/// As `nsc` makes them: signed by the operator for the account, and by the account for the user.
struct Operator {
    account: KeyPair,
    configuration: String,
}

impl Operator {
    fn new() -> Self {
        let (operator, account) = (KeyPair::new_operator(), KeyPair::new_account());
        let itself = token(&operator, &operator.public_key(), json!({ "type": "operator", "version": 2 }));
        let limits = ["subs", "data", "payload", "imports", "exports", "conn", "leaf"];
        let mut limits = limits.map(|name| (name.to_owned(), json!(-1))).into_iter().collect::<Value>();
        limits["wildcards"] = json!(true);
        let of_account = json!({ "type": "account", "version": 2, "limits": limits });
        let name = account.public_key();
        let token = token(&operator, &name, of_account);
        let configuration = format!(
            "operator: \"{itself}\"\nresolver: MEMORY\nresolver_preload: {{ {name}: \"{token}\" }}\n"
        );
        Self { account, configuration }
    }

    /// Of a user that may do what a server has to do, and no more.
    fn credentials(&self) -> String {
        let user = KeyPair::new_user();
        let may = json!({ "allow": ["test.chat.>", "_INBOX.>"] });
        let unlimited = json!({
            "type": "user", "version": 2, "pub": may, "sub": may, "subs": -1, "data": -1, "payload": -1,
        });
        let token = token(&self.account, &user.public_key(), unlimited);
        let seed = user.seed().unwrap();
        format!(
            "-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
        )
    }
}

fn token(issuer: &KeyPair, subject: &str, nats: Value) -> String {
    let coded = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let head = coded(json!({ "typ": "JWT", "alg": "ed25519-nkey" }));
    let claims = json!({
        "jti": "none", "iat": 1_700_000_000, "iss": issuer.public_key(), "name": "test", "sub": subject,
        "nats": nats,
    });
    let signed = format!("{head}.{}", coded(claims));
    let signature = URL_SAFE_NO_PAD.encode(issuer.sign(signed.as_bytes()).unwrap());
    format!("{signed}.{signature}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_has_a_file_of_credentials_is_let_in() {
    let directory = tempfile::tempdir().unwrap();
    let (ours, theirs) = (Operator::new(), Operator::new());
    let configuration = written(&directory, "nats.conf", &ours.configuration);
    let nats = Nats::start_with(&["--config", path(&configuration)]);
    let with = |credentials| Settings { credentials, ..settings(&nats.url()) };
    let ours = written(&directory, "ours.creds", &ours.credentials());
    hear_each_other(&with(Some(ours))).await;
    let theirs = written(&directory, "theirs.creds", &theirs.credentials());
    for credentials in [Some(theirs), None] {
        let fault = refused(&with(credentials)).await;
        assert!(matches!(fault, ConnectFault::Refused { .. }), "{fault:?}");
    }
}
