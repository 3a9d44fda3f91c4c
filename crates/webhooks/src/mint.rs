//! Checks what owners enter, and makes secrets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::webhook::{WebhookMint, WebhookSecret, WebhookUrl, WebhookUrlFault};

use crate::address::Allowed;
use crate::target;

/// The port of the domain.
pub struct Mint {
    allowed: Allowed,
    random: fn() -> [u8; 32],
}

impl Mint {
    /// URLs may name addresses in the `allowed` networks. `random` gives random bytes.
    pub const fn new(allowed: Allowed, random: fn() -> [u8; 32]) -> Self {
        Self { allowed, random }
    }
}

impl WebhookMint for Mint {
    fn url(&self, text: &str) -> Result<WebhookUrl, WebhookUrlFault> {
        target::read(text, &self.allowed).map(|(_, url)| url)
    }

    fn secret(&self) -> WebhookSecret {
        WebhookSecret::new(format!("whsec_{}", STANDARD.encode((self.random)())))
    }
}
