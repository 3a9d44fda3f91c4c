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
        "Whether agents can have webhooks. Also applies to push notifications: if `false`, the server sends neither. See \
         [webhooks.md](webhooks.md) and [a2a.md](a2a.md#push-notifications).",
    );
    let allow_private = Key::list(
        "webhooks_allow_private",
        "ADDRESSES",
        "Comma-separated private or loopback addresses and networks that webhooks may reach, including over `http://`. Also \
         applies to push notifications. See [security.md](security.md#webhooks).",
    );
    let network = |text: &str| text.parse::<Network>();
    WebhooksConfig {
        is_on: values.read(is_on, parse::switch),
        allow_private: values.optional(allow_private, parse::list(network)).unwrap_or_default(),
    }
}
