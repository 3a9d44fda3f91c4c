//! The settings of webhooks.

use http_wire::limit::Network;

use super::key::Key;
use super::parse;
use super::values::Values;

/// The settings of webhooks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WebhooksConfig {
    /// Whether requests are sent.
    pub is_on: bool,
    /// The private networks to which they may go, also without encryption.
    pub allow_private: Vec<Network>,
}

pub(super) fn read(values: &mut Values) -> WebhooksConfig {
    values.section("Webhooks");
    let is_on = Key::switch(
        "webhooks",
        "true",
        "Whether owners may give their agents webhooks, and the server sends requests to them; see \
         [webhooks.md](webhooks.md).",
    );
    let allow_private = Key::list(
        "webhooks_allow_private",
        "ADDRESSES",
        "Comma-separated private or loopback addresses and networks that webhooks may reach, including over \
         `http://`; see [security.md](security.md#webhooks).",
    );
    let network = |text: &str| text.parse::<Network>();
    WebhooksConfig {
        is_on: values.read(is_on, parse::switch),
        allow_private: values.optional(allow_private, parse::list(network)).unwrap_or_default(),
    }
}
