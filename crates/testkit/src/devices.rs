//! Devices that hold passkeys: fakes for the domain, and one in software that answers as browsers and devices do.

use std::sync::atomic::{AtomicU64, Ordering};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::account::User;
use domain::id::UserId;
use domain::login::{BegunCeremony, CeremonyFault, Passkey, PasskeyCeremonies, PasskeyCredential};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Ceremonies without cryptography. The options name the state and the user; an answer is JSON with the state, the key, and
/// the signature counter.
#[derive(Default)]
pub struct FakeCeremonies(AtomicU64);

impl FakeCeremonies {
    fn begin(&self, what: &str, user: Option<&User>, known: &[Passkey]) -> BegunCeremony {
        let number = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        let user = user.map_or_else(String::new, |user| user.id.to_string());
        let state = format!("{what} {number} {user}");
        BegunCeremony { options: json!({"state": state, "user": user, "known": known.len()}), state }
    }

    /// The answer of a device with this key to these options.
    pub fn answer(options: &Value, key: &str, sign_count: u32) -> String {
        json!({"state": options["state"], "key": key, "sign_count": sign_count}).to_string()
    }
}

/// The parts of an answer.
fn parts(response: &str) -> Result<(String, Vec<u8>, u32), CeremonyFault> {
    let read = || {
        let answer = serde_json::from_str::<Value>(response).ok()?;
        let key = answer["key"].as_str()?.as_bytes().to_vec();
        Some((answer["state"].as_str()?.to_owned(), key, u32::try_from(answer["sign_count"].as_u64()?).ok()?))
    };
    read().ok_or_else(|| CeremonyFault("nonsense".to_owned()))
}

fn checked(state: &str, what: &str, response: &str) -> Result<(Vec<u8>, u32), CeremonyFault> {
    let (answered, key, sign_count) = parts(response)?;
    if answered != state || !state.starts_with(what) {
        return Err(CeremonyFault("another challenge".to_owned()));
    }
    Ok((key, sign_count))
}

impl PasskeyCeremonies for FakeCeremonies {
    fn begin_adding(&self, user: &User, known: &[Passkey]) -> Result<BegunCeremony, CeremonyFault> {
        Ok(self.begin("add", Some(user), known))
    }

    fn finish_adding(
        &self,
        state: &str,
        response: &str,
    ) -> Result<(UserId, PasskeyCredential), CeremonyFault> {
        let (id, sign_count) = checked(state, "add", response)?;
        let user = UserId::parse(state.rsplit(' ').next().unwrap()).unwrap();
        let public_key = [&b"public "[..], &id[..]].concat();
        Ok((user, PasskeyCredential { id, public_key, is_synced: sign_count == 0, sign_count }))
    }

    fn begin_log_in(&self) -> Result<BegunCeremony, CeremonyFault> {
        Ok(self.begin("log-in", None, &[]))
    }

    fn credential_of(&self, response: &str) -> Result<Vec<u8>, CeremonyFault> {
        Ok(parts(response)?.1)
    }

    fn finish_log_in(&self, state: &str, response: &str, passkey: &Passkey) -> Result<u32, CeremonyFault> {
        let (id, sign_count) = checked(state, "log-in", response)?;
        if passkey.credential.public_key != [&b"public "[..], &id[..]].concat() {
            return Err(CeremonyFault("another key".to_owned()));
        }
        Ok(sign_count)
    }
}

/// Flags of an authenticator's data.
const USER_PRESENT: u8 = 0x01;
const USER_VERIFIED: u8 = 0x04;
const BACKUP_ELIGIBLE: u8 = 0x08;
const BACKED_UP: u8 = 0x10;
const ATTESTED: u8 = 0x40;

/// A device in software with one key, together with the browser that it is used from.
pub struct SoftwareDevice {
    /// The origin of the page.
    pub origin: String,
    /// Whether it verifies its user.
    pub verifies_user: bool,
    /// Whether it copies its key to other devices.
    pub is_synced: bool,
    /// The signature counter of the next answer.
    pub sign_count: u32,
    /// The id of its key.
    pub id: Vec<u8>,
    key: EcdsaKeyPair,
    user: String,
}

impl SoftwareDevice {
    /// A device that is used from pages of this origin.
    pub fn new(origin: &str) -> Self {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
        let id = sha256(key.public_key().as_ref())[..16].to_vec();
        Self {
            origin: origin.to_owned(),
            verifies_user: true,
            is_synced: false,
            sign_count: 1,
            id,
            key,
            user: String::new(),
        }
    }

    /// Makes a passkey, and answers as `navigator.credentials.create` does.
    pub fn create(&mut self, options: &Value) -> Value {
        options["user"]["id"].as_str().unwrap().clone_into(&mut self.user);
        let client = self.client_data("webauthn.create", options);
        // The id and the public key, an elliptic curve point in COSE's form.
        let mut attested = vec![0; 16];
        attested.extend(u16::try_from(self.id.len()).unwrap().to_be_bytes());
        attested.extend(&self.id);
        let point = self.key.public_key().as_ref();
        attested.extend([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20]);
        attested.extend(&point[1..33]);
        attested.extend([0x22, 0x58, 0x20]);
        attested.extend(&point[33..65]);
        let rp_id = options["rp"]["id"].as_str().unwrap();
        let data = self.data(rp_id, ATTESTED, &attested);
        let mut object = vec![0xa3];
        object.extend(b"\x63fmt\x64none\x67attStmt\xa0\x68authData\x58");
        object.push(u8::try_from(data.len()).unwrap());
        object.extend(&data);
        let response =
            json!({"clientDataJSON": encoded(client.as_bytes()), "attestationObject": encoded(&object)});
        self.answer(&response)
    }

    /// Answers as `navigator.credentials.get` does.
    pub fn get(&self, options: &Value) -> Value {
        let client = self.client_data("webauthn.get", options);
        let data = self.data(options["rpId"].as_str().unwrap(), 0, &[]);
        let signed = [&data[..], &sha256(client.as_bytes())[..]].concat();
        let signature = self.key.sign(&SystemRandom::new(), &signed).unwrap();
        self.answer(&json!({
            "clientDataJSON": encoded(client.as_bytes()),
            "authenticatorData": encoded(&data),
            "signature": encoded(signature.as_ref()),
            "userHandle": self.user,
        }))
    }

    fn client_data(&self, kind: &str, options: &Value) -> String {
        let (challenge, origin) = (options["challenge"].as_str().unwrap(), &self.origin);
        format!(r#"{{"type":"{kind}","challenge":"{challenge}","origin":"{origin}","crossOrigin":false}}"#)
    }

    fn data(&self, rp_id: &str, flags: u8, rest: &[u8]) -> Vec<u8> {
        let mut flags = flags | USER_PRESENT;
        if self.verifies_user {
            flags |= USER_VERIFIED;
        }
        if self.is_synced {
            flags |= BACKUP_ELIGIBLE | BACKED_UP;
        }
        let mut data = sha256(rp_id.as_bytes()).to_vec();
        data.push(flags);
        data.extend(self.sign_count.to_be_bytes());
        data.extend(rest);
        data
    }

    fn answer(&self, response: &Value) -> Value {
        let id = encoded(&self.id);
        json!({
            "id": id,
            "rawId": id,
            "type": "public-key",
            "authenticatorAttachment": "platform",
            "clientExtensionResults": {},
            "response": response,
        })
    }
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
