//! The requests that receivers of webhooks get.

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
pub(crate) use e2e::receiver::{Answer, Received, Receiver};

/// What a request to a webhook brings.
pub(crate) trait Delivery {
    /// The message.
    fn message(&self) -> String;
    /// Its room.
    fn room(&self) -> String;
    /// The id of the delivery.
    fn id(&self) -> &str;
    /// Whether one of the signatures is that of the secret.
    fn is_signed_with(&self, secret: &str) -> bool;
}

impl Delivery for Received {
    fn message(&self) -> String {
        self.json()["payload"]["id"].as_str().unwrap().to_owned()
    }

    fn room(&self) -> String {
        self.json()["room_id"].as_str().unwrap().to_owned()
    }

    fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }

    fn is_signed_with(&self, secret: &str) -> bool {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let signed = format!("{}.{}.{}", self.id(), self.headers["webhook-timestamp"], self.body);
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), signed.as_bytes());
        let signature = format!("v1,{}", STANDARD.encode(tag));
        self.headers["webhook-signature"].split(' ').any(|one| one == signature)
    }
}
