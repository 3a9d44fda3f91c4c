//! Web Push: a message to a browser, encrypted for it (RFC 8291) and with the server's signature (VAPID, RFC 8292).

use std::time::Duration;

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{ECDH_P256, PrivateKey, UnparsedPublicKey, agree};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};
use aws_lc_rs::rand::{SystemRandom, fill};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use domain::notification::{Prepared, WebPushKeys};
use domain::secret::Secret;
use domain::time::Timestamp;
use domain::webhook::WebhookUrl;
use serde::Serialize;
use webhooks::Outgoing;

/// How long a push service keeps a message for a browser that is not connected.
const KEPT_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a signature is valid: less than a day, as push services require.
const SIGNED_FOR: Duration = Duration::from_secs(12 * 60 * 60);

/// The size of a record, which a message does not reach.
const RECORD_BYTES: u32 = 4096;

/// The maximum number of bytes of a message.
const MESSAGE_BYTES: usize = 3_000;

/// The key with which a server signs its messages, and whom push services may ask about them.
pub struct Vapid {
    key: EcdsaKeyPair,
    public: Vec<u8>,
    subject: String,
}

impl Vapid {
    /// The key of a secret of the store. `None` if the secret is no key, which is true of one in billions.
    pub fn new(secret: &Secret, subject: String) -> Option<Self> {
        let public = PrivateKey::from_private_key(&ECDH_P256, &secret.0).ok()?.compute_public_key().ok()?;
        let public = public.as_ref().to_vec();
        let signing = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let key = EcdsaKeyPair::from_private_key_and_public_key(signing, &secret.0, &public).ok()?;
        Some(Self { key, public, subject })
    }

    /// The public key, as browsers take it.
    pub fn public_key(&self) -> String {
        BASE64.encode(&self.public)
    }

    /// The value of `Authorization` for a push service.
    fn authorization(&self, url: &WebhookUrl, now: Timestamp) -> Result<String, Unspecified> {
        #[derive(Serialize)]
        struct Claims<'a> {
            aud: &'a str,
            exp: u64,
            sub: &'a str,
        }
        let exp = now.plus(SIGNED_FOR).unix_millis() / 1000;
        let claims = Claims { aud: url.origin(), exp, sub: &self.subject };
        let claims = serde_json::to_vec(&claims).map_err(|_| Unspecified)?;
        let signed = format!("{}.{}", BASE64.encode(r#"{"typ":"JWT","alg":"ES256"}"#), BASE64.encode(claims));
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes())?;
        Ok(format!("vapid t={signed}.{}, k={}", BASE64.encode(signature), self.public_key()))
    }

    /// The request for a notification; `None` if the keys of the browser cannot be used.
    pub(crate) fn request<'u>(
        &self,
        url: &'u WebhookUrl,
        keys: &WebPushKeys,
        prepared: &Prepared,
        time_limit: Duration,
        now: Timestamp,
    ) -> Option<Outgoing<'u>> {
        let [mut private, mut salt] = [vec![0; 32], vec![0; 16]];
        fill(&mut salt).ok()?;
        // Nearly every number is a key.
        let private = loop {
            fill(&mut private).ok()?;
            if let Ok(key) = PrivateKey::from_private_key(&ECDH_P256, &private) {
                break key;
            }
        };
        let body = encrypt(keys, &private, &salt, &message(prepared)).ok()?;
        let headers = vec![
            ("authorization", self.authorization(url, now).ok()?),
            ("content-encoding", "aes128gcm".to_owned()),
            ("ttl", KEPT_FOR.as_secs().to_string()),
            ("urgency", if prepared.notice.is_blocking() { "high" } else { "normal" }.to_owned()),
        ];
        Some(Outgoing { url, headers, content_type: "application/octet-stream", body, time_limit })
    }
}

/// What the console's service worker shows.
fn message(prepared: &Prepared) -> Vec<u8> {
    #[derive(Serialize)]
    struct Message<'a> {
        title: String,
        body: &'a str,
        tag: Option<String>,
    }
    let body = prepared.notice.lines().join("\n").chars().take(MESSAGE_BYTES / 4).collect::<String>();
    let tag = prepared.taken.subjects.first().map(|subject| subject.notification.id.to_string());
    // Texts always serialize. Escaped, a text can be longer.
    let message =
        |body| serde_json::to_vec(&Message { title: prepared.notice.title(), body, tag: tag.clone() });
    let whole = message(&body).unwrap_or_default();
    if whole.len() <= MESSAGE_BYTES { whole } else { message("").unwrap_or_default() }
}

/// The length of what is derived.
struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn derive<const N: usize>(salt: &[u8], secret: &[u8], info: &[&[u8]]) -> Result<[u8; N], Unspecified> {
    let mut derived = [0; N];
    let extracted = Salt::new(HKDF_SHA256, salt).extract(secret);
    extracted.expand(info, Length(N))?.fill(&mut derived)?;
    Ok(derived)
}

/// A text encrypted for a browser, with the header that it needs (RFC 8188).
fn encrypt(keys: &WebPushKeys, own: &PrivateKey, salt: &[u8], text: &[u8]) -> Result<Vec<u8>, Unspecified> {
    let decode = |text: &str| BASE64.decode(text.trim_end_matches('=')).map_err(|_| Unspecified);
    let (browser, auth) = (decode(&keys.p256dh)?, decode(&keys.auth)?);
    let public = own.compute_public_key()?;
    let public = public.as_ref();
    let info: [&[u8]; 3] = [b"WebPush: info\0", &browser, public];
    let secret = agree(own, UnparsedPublicKey::new(&ECDH_P256, &browser), Unspecified, |shared| {
        derive::<32>(&auth, shared, &info)
    })?;
    let key = derive::<16>(salt, &secret, &[b"Content-Encoding: aes128gcm\0"])?;
    let nonce = derive::<12>(salt, &secret, &[b"Content-Encoding: nonce\0"])?;
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key)?);
    // The mark of the last record, without padding.
    let mut record = [text, &[2]].concat();
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut record)?;
    let length = u8::try_from(public.len()).map_err(|_| Unspecified)?;
    Ok([salt, &RECORD_BYTES.to_be_bytes(), &[length], public, &record].concat())
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey as Verifier};

    use super::*;

    /// The example of RFC 8291, appendix A.
    #[test]
    fn messages_are_encrypted_as_in_the_standard() {
        let private = BASE64.decode("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw").unwrap();
        let private = PrivateKey::from_private_key(&ECDH_P256, &private).unwrap();
        let keys = WebPushKeys {
            p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
                .to_owned(),
            auth: "BTBZMqHH6r4Tts7J_aSIgg".to_owned(),
        };
        let salt = BASE64.decode("DGv6ra1nlYgDCS1FRnbzlw").unwrap();
        let encrypted =
            encrypt(&keys, &private, &salt, b"When I grow up, I want to be a watermelon").unwrap();
        assert_eq!(
            BASE64.encode(encrypted),
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        );
        for (p256dh, auth) in [("", "BTBZMqHH6r4Tts7J_aSIgg"), (keys.p256dh.as_str(), "?"), ("AAAA", "AAAA")]
        {
            let wrong = WebPushKeys { p256dh: p256dh.to_owned(), auth: auth.to_owned() };
            assert!(encrypt(&wrong, &private, &salt, b"x").is_err(), "{p256dh} {auth}");
        }
    }

    #[test]
    fn requests_are_signed_for_their_push_service() {
        let vapid = Vapid::new(&Secret([7; 32]), "https://chat.example.org".to_owned()).unwrap();
        let url = WebhookUrl::checked("https://push.example:8443/send/1".to_owned());
        let now = Timestamp::parse("2026-01-10T12:00:00Z").unwrap();
        let value = vapid.authorization(&url, now).unwrap();
        let (token, key) = value.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
        assert_eq!(key, vapid.public_key());
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let public = BASE64.decode(key).unwrap();
        assert_eq!((public.len(), public[0]), (65, 4));
        let verifier = Verifier::new(&ECDSA_P256_SHA256_FIXED, public);
        verifier.verify(signed.as_bytes(), &BASE64.decode(signature).unwrap()).unwrap();
        let claims = BASE64.decode(signed.split_once('.').unwrap().1).unwrap();
        let claims = serde_json::from_slice::<serde_json::Value>(&claims).unwrap();
        let expected = serde_json::json!({
            "aud": "https://push.example:8443", "exp": 1_768_089_600, "sub": "https://chat.example.org"
        });
        assert_eq!(claims, expected);
        assert!(Vapid::new(&Secret([0xff; 32]), String::new()).is_none());
    }
}
