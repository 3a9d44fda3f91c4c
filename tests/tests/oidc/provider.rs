//! An identity provider that a test can make lie.

use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use e2e::Server;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The client that tokens are made for.
pub(crate) const CLIENT: &str = "parlance";

/// The secret of the client.
pub(crate) const SECRET: &str = "a client's secret";

/// How a token is signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Signature {
    /// With the key.
    Good,
    /// With a key that nobody knows, under the id of the known one.
    OtherKey,
    /// Not at all, and says so.
    None,
    /// With HMAC and the public key as its secret.
    PublicKey,
    /// With HMAC and the secret of the client.
    ClientSecret,
}

/// What the provider answers.
pub(crate) struct State {
    pub(crate) issuer: String,
    /// The nonce of the last log-in.
    pub(crate) nonce: String,
    /// The challenge of the last log-in.
    pub(crate) challenge: String,
    /// Changes of the claims of the ID token; null removes one.
    pub(crate) claims: Value,
    /// What the page of the person says.
    pub(crate) person: Value,
    pub(crate) signature: Signature,
    /// Instead of the answer at a path: the status, the type, and the body.
    pub(crate) instead: Vec<(&'static str, u16, &'static str, String)>,
    /// The path that is never answered.
    pub(crate) silent: &'static str,
    /// The requests so far.
    pub(crate) requests: Vec<(String, String)>,
    key: Arc<EcdsaKeyPair>,
    kid: String,
}

/// An identity provider.
#[derive(Clone)]
pub(crate) struct Provider(pub(crate) Arc<Mutex<State>>);

fn new_key() -> Arc<EcdsaKeyPair> {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    Arc::new(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref()).unwrap())
}

pub(crate) fn now() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the server under test uses the real clock")]
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

impl Provider {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let provider = Self(Arc::new(Mutex::new(State {
            issuer,
            nonce: String::new(),
            challenge: String::new(),
            claims: json!({}),
            person: json!({}),
            signature: Signature::Good,
            instead: Vec::new(),
            silent: "",
            requests: Vec::new(),
            key: new_key(),
            kid: "first".to_owned(),
        })));
        let serving = provider.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serving.clone().serve(stream));
            }
        });
        provider
    }

    /// Changes what it does.
    pub(crate) fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.lock().unwrap());
    }

    /// Does as it should again.
    pub(crate) fn behave(&self) {
        self.set(|state| {
            (state.claims, state.signature, state.silent) = (json!({}), Signature::Good, "");
            state.instead.clear();
        });
    }

    pub(crate) fn issuer(&self) -> String {
        self.0.lock().unwrap().issuer.clone()
    }

    /// The number of requests for a path.
    pub(crate) fn asked(&self, path: &str) -> usize {
        self.0.lock().unwrap().requests.iter().filter(|(asked, _)| asked == path).count()
    }

    /// Replaces the key.
    pub(crate) fn rotate(&self, kid: &str) {
        self.set(|state| (state.key, state.kid) = (new_key(), kid.to_owned()));
    }

    async fn serve(self, mut stream: TcpStream) {
        let Some((path, body)) = read(&mut stream).await else { return };
        let (is_silent, instead) = {
            let mut state = self.0.lock().unwrap();
            state.requests.push((path.clone(), body.clone()));
            let instead = state.instead.iter().find(|(at, ..)| *at == path).cloned();
            (state.silent == path, instead)
        };
        if is_silent {
            std::future::pending::<()>().await;
        }
        let (status, kind, body) = match instead {
            Some((_, status, kind, body)) => (status, kind, body),
            None => (200, "application/json", self.answer(&path, &body).to_string()),
        };
        let head = if status == 302 { format!("location: {body}\r\n") } else { String::new() };
        let text = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\n{head}content-length: {}\r\n\r\n{body}",
            body.len()
        );
        let _ = stream.write_all(text.as_bytes()).await;
    }

    fn answer(&self, path: &str, body: &str) -> Value {
        let state = self.0.lock().unwrap();
        let at = |path: &str| format!("{}{path}", state.issuer);
        match path {
            "/.well-known/openid-configuration" => json!({
                "issuer": state.issuer,
                "authorization_endpoint": at("/auth"),
                "token_endpoint": at("/token"),
                "userinfo_endpoint": at("/me"),
                "jwks_uri": at("/keys"),
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["ES256", "HS256", "none"],
            }),
            "/keys" => json!({ "keys": [jwk(&state.key, &state.kid)] }),
            "/token" => {
                // PKCE: the digest of the verifier is the challenge of the log-in.
                let verifier = body.split('&').find_map(|part| part.strip_prefix("code_verifier=")).unwrap();
                let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, verifier.as_bytes());
                assert_eq!(URL_SAFE_NO_PAD.encode(digest), state.challenge);
                let claims =
                    json!({"nonce": state.nonce, "email": "dana@example.org", "email_verified": true});
                let token = state.token("JWT", &joined(claims, &state.claims));
                json!({"access_token": "access", "token_type": "Bearer", "expires_in": 60, "id_token": token})
            }
            "/me" => merged(json!({"sub": "248289761001"}), &state.person),
            other => panic!("{other}"),
        }
    }

    /// A logout token with these claims instead of the usual ones.
    pub(crate) fn logout_token(&self, changes: &Value) -> String {
        let state = self.0.lock().unwrap();
        let events = json!({"http://schemas.openid.net/event/backchannel-logout": {}});
        state.token("logout+jwt", &joined(json!({"jti": "1", "events": events}), changes))
    }
}

impl State {
    /// A signed token for the client, of now; `changes` are claims that are added, or removed by null.
    fn token(&self, kind: &str, changes: &Value) -> String {
        let usual = json!({
            "iss": self.issuer, "aud": CLIENT, "sub": "248289761001", "iat": now(), "exp": now() + 60,
        });
        let claims = merged(usual, changes);
        let algorithm = match self.signature {
            Signature::Good | Signature::OtherKey => "ES256",
            Signature::None => "none",
            Signature::PublicKey | Signature::ClientSecret => "HS256",
        };
        let header = json!({"alg": algorithm, "kid": self.kid, "typ": kind});
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(&claims));
        let mac = |secret: &[u8]| {
            hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes()).as_ref().to_vec()
        };
        let by =
            |key: &EcdsaKeyPair| key.sign(&SystemRandom::new(), signed.as_bytes()).unwrap().as_ref().to_vec();
        let signature = match self.signature {
            Signature::Good => by(&self.key),
            Signature::OtherKey => by(&new_key()),
            Signature::None => Vec::new(),
            Signature::PublicKey => mac(self.key.public_key().as_ref()),
            Signature::ClientSecret => mac(SECRET.as_bytes()),
        };
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// The public key, with its id.
fn jwk(key: &EcdsaKeyPair, kid: &str) -> Value {
    // The two coordinates follow the mark of an uncompressed point.
    let point = key.public_key().as_ref();
    let (x, y) = (URL_SAFE_NO_PAD.encode(&point[1..33]), URL_SAFE_NO_PAD.encode(&point[33..65]));
    json!({"kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": kid, "use": "sig", "alg": "ES256"})
}

fn joined(mut base: Value, changes: &Value) -> Value {
    let object: &mut Map<String, Value> = base.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        object.insert(name.clone(), value.clone());
    }
    base
}

/// The same without what is null.
fn merged(base: Value, changes: &Value) -> Value {
    let mut all = joined(base, changes);
    all.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    all
}

/// The path and the body of a request.
async fn read(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    loop {
        let mut part = [0; 4096];
        let count = stream.read(&mut part).await.ok().filter(|count| *count > 0)?;
        bytes.extend(&part[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let lower = head.to_ascii_lowercase();
        let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
            let path = head.split(' ').nth(1).unwrap_or_default().split('?').next().unwrap_or_default();
            return Some((path.to_owned(), body.to_owned()));
        }
    }
}

/// The outcome and the words of `parlance doctor` about the first provider, which answers meanwhile.
pub(crate) async fn doctor(server: &Server) -> (String, String) {
    let mut command = server.command();
    command.args(["doctor", "--json"]);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let finding =
        found["findings"].as_array().unwrap().iter().find(|one| one["check"] == "provider").unwrap();
    let text = |name: &str| finding[name].as_str().unwrap().to_owned();
    (text("outcome"), text("found"))
}
