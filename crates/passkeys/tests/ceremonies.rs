//! Ceremonies with a device in software: what is accepted, and what is not.
#![expect(clippy::unwrap_used, reason = "a panic is the failure")]

use domain::account::User;
use domain::id::PasskeyId;
use domain::login::{Passkey, PasskeyCeremonies, PasskeyCredential, PasskeyName};
use domain::time::Timestamp;
use passkeys::RelyingParty;
use serde_json::{Value, json};
use testkit::{SoftwareDevice, World};

const ORIGIN: &str = "https://chat.example.org:8443";

async fn ann() -> User {
    let world = World::new();
    let ann = world.user("ann").await;
    world.stores.accounts.find_user(ann.id).await.unwrap().unwrap()
}

fn server() -> RelyingParty {
    RelyingParty::of("https://chat.example.org:8443/sub").unwrap()
}

fn stored(user: &User, credential: PasskeyCredential) -> Passkey {
    Passkey {
        id: PasskeyId::NIL,
        user: user.id,
        name: PasskeyName::new("Laptop").unwrap(),
        credential,
        created_at: Timestamp::from_micros(1),
        used_at: None,
    }
}

/// Adds the passkey of a device.
fn add(server: &RelyingParty, user: &User, device: &mut SoftwareDevice) -> Passkey {
    let begun = server.begin_adding(user, &[]).unwrap();
    let answer = device.create(&begun.options).to_string();
    let (whose, credential) = server.finish_adding(&begun.state, &answer).unwrap();
    assert_eq!(whose, user.id);
    stored(user, credential)
}

#[tokio::test]
async fn a_device_adds_a_passkey_and_logs_in() {
    let (server, ann) = (server(), ann().await);
    for (is_synced, sign_count) in [(false, 1), (true, 0)] {
        let mut device = SoftwareDevice::new(ORIGIN);
        (device.is_synced, device.sign_count) = (is_synced, sign_count);
        let passkey = add(&server, &ann, &mut device);
        assert_eq!(passkey.credential.id, device.id);
        assert_eq!((passkey.credential.is_synced, passkey.credential.sign_count), (is_synced, sign_count));

        let begun = server.begin_log_in().unwrap();
        let answer = device.get(&begun.options).to_string();
        assert_eq!(server.credential_of(&answer).unwrap(), device.id);
        assert_eq!(server.finish_log_in(&begun.state, &answer, &passkey).unwrap(), sign_count);
        device.sign_count += 6;
        let answer = device.get(&begun.options).to_string();
        assert_eq!(server.finish_log_in(&begun.state, &answer, &passkey).unwrap(), sign_count + 6);
    }
}

/// What the page gets: the device verifies its user, and refuses to add a second key for the same account.
#[tokio::test]
async fn the_options_require_a_verified_user() {
    let (server, ann) = (server(), ann().await);
    let passkey = add(&server, &ann, &mut SoftwareDevice::new(ORIGIN));
    let added = server.begin_adding(&ann, std::slice::from_ref(&passkey)).unwrap().options;
    assert_eq!(added["rp"]["id"], "chat.example.org");
    assert_eq!(added["user"]["name"], "ann");
    assert_eq!(added["authenticatorSelection"]["residentKey"], "required");
    assert_eq!(added["authenticatorSelection"]["userVerification"], "required");
    assert_eq!(added["excludeCredentials"].as_array().unwrap().len(), 1);
    // If it were set, browsers would refuse devices that do not support the extension.
    assert_eq!(added["extensions"].get("enforceCredentialProtectionPolicy"), None);
    let log_in = server.begin_log_in().unwrap();
    assert_eq!(log_in.options["userVerification"], "required");
    assert_eq!(
        (&log_in.options["rpId"], &log_in.options["allowCredentials"]),
        (&json!("chat.example.org"), &json!([]))
    );
    let other = server.begin_log_in().unwrap();
    assert_ne!(other.options["challenge"], log_in.options["challenge"]);
    assert_ne!(other.state, log_in.state);
}

/// Changes one thing of an answer.
type Change = fn(&mut Value);

fn flip(part: &mut Value) {
    let text = part.as_str().unwrap();
    // The last character may hold bits that are not used.
    let at = text.len() - 3;
    let other = if text.as_bytes()[at] == b'A' { "B" } else { "A" };
    *part = format!("{}{other}{}", &text[..at], &text[at + 1..]).into();
}

#[tokio::test]
async fn an_altered_answer_does_not_log_in() {
    let (server, ann) = (server(), ann().await);
    let mut device = SoftwareDevice::new(ORIGIN);
    let passkey = add(&server, &ann, &mut device);
    let begun = server.begin_log_in().unwrap();
    let good = device.get(&begun.options);
    let refused = |state: &str, answer: &Value, why: &str| {
        let verdict = server.finish_log_in(state, &answer.to_string(), &passkey);
        assert!(verdict.is_err(), "{why}");
    };
    let changes: [(&str, Change); 7] = [
        ("signature", |answer| flip(&mut answer["response"]["signature"])),
        ("data", |answer| flip(&mut answer["response"]["authenticatorData"])),
        ("client data", |answer| flip(&mut answer["response"]["clientDataJSON"])),
        ("user", |answer| flip(&mut answer["response"]["userHandle"])),
        ("no user", |answer| answer["response"]["userHandle"] = Value::Null),
        ("id", |answer| {
            flip(&mut answer["id"]);
            answer["rawId"] = answer["id"].clone();
        }),
        ("type", |answer| answer["type"] = "password".into()),
    ];
    for (why, change) in changes {
        let mut bad = good.clone();
        change(&mut bad);
        refused(&begun.state, &bad, why);
    }
    refused(&server.begin_log_in().unwrap().state, &good, "another challenge");
    refused("", &good, "no state");
    refused("!", &good, "nonsense as state");
    refused(&server.begin_adding(&ann, &[]).unwrap().state, &good, "the state of adding");
    for nonsense in ["", "{}", "[]", "null", "\u{1}"] {
        assert!(server.finish_log_in(&begun.state, nonsense, &passkey).is_err(), "{nonsense}");
        assert!(server.credential_of(nonsense).is_err(), "{nonsense}");
    }
    device.verifies_user = false;
    refused(&begun.state, &device.get(&begun.options), "nobody was verified");
    device.verifies_user = true;
    for origin in ["https://chat.example.org", "https://evil.example", "http://chat.example.org:8443"] {
        device.origin = origin.to_owned();
        refused(&begun.state, &device.get(&begun.options), origin);
    }
    ORIGIN.clone_into(&mut device.origin);
    let mut elsewhere = begun.options.clone();
    elsewhere["rpId"] = "example.org".into();
    refused(&begun.state, &device.get(&elsewhere), "another host");
    device.is_synced = true;
    refused(&begun.state, &device.get(&begun.options), "a key that became able to be copied");
    let mut other = SoftwareDevice::new(ORIGIN);
    other.id.clone_from(&device.id);
    let mut forged = other.get(&begun.options);
    forged["response"]["userHandle"] = good["response"]["userHandle"].clone();
    refused(&begun.state, &forged, "another key");
}

#[tokio::test]
async fn an_altered_answer_adds_nothing() {
    let (server, ann) = (server(), ann().await);
    let mut device = SoftwareDevice::new(ORIGIN);
    let begun = server.begin_adding(&ann, &[]).unwrap();
    let good = device.create(&begun.options);
    let refused = |state: &str, answer: &Value, why: &str| {
        assert!(server.finish_adding(state, &answer.to_string()).is_err(), "{why}");
    };
    let changes: [(&str, Change); 2] = [
        ("client data", |answer| flip(&mut answer["response"]["clientDataJSON"])),
        ("object", |answer| answer["response"]["attestationObject"] = "oA".into()),
    ];
    for (why, change) in changes {
        let mut bad = good.clone();
        change(&mut bad);
        refused(&begun.state, &bad, why);
    }
    refused(&server.begin_adding(&ann, &[]).unwrap().state, &good, "another challenge");
    refused(&server.begin_log_in().unwrap().state, &good, "the state of a log-in");
    device.verifies_user = false;
    refused(&begun.state, &device.create(&begun.options), "nobody was verified");
    device.verifies_user = true;
    "https://evil.example".clone_into(&mut device.origin);
    refused(&begun.state, &device.create(&begun.options), "another origin");
    assert!(server.finish_adding(&begun.state, &good.to_string()).is_ok());
}
