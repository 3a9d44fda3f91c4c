//! ntfy: a message to a topic, as JSON to the address of the server.

use std::time::Duration;

use domain::notification::{Prepared, PreparedLink, ntfy_topic};
use domain::push::PushSecret;
use domain::webhook::WebhookUrl;
use serde::Serialize;
use webhooks::Outgoing;

/// The priority of what somebody waits for, and of all else.
const PRIORITIES: (u8, u8) = (4, 3);

/// What ntfy shows if a message has no text.
const NO_TEXT: &str = "See the console.";

#[derive(Serialize)]
struct Body<'a> {
    topic: &'a str,
    title: String,
    message: String,
    priority: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    click: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    actions: Vec<Button<'a>>,
}

/// A button. Only a POST decides anything, so that nothing that looks at the URL does.
#[derive(Serialize)]
struct Button<'a> {
    action: &'static str,
    label: &'static str,
    url: &'a str,
    method: &'static str,
    clear: bool,
}

fn button(PreparedLink { action, url }: &PreparedLink) -> Button<'_> {
    Button { action: "http", label: action.label(), url, method: "POST", clear: true }
}

/// The address of the server of a topic, which takes JSON.
pub(crate) fn server(url: &WebhookUrl) -> Option<WebhookUrl> {
    ntfy_topic(url).map(|(server, _)| WebhookUrl::checked(format!("{server}/")))
}

/// The request to `server`.
pub(crate) fn request<'s>(
    server: &'s WebhookUrl,
    url: &WebhookUrl,
    token: Option<&PushSecret>,
    prepared: &Prepared,
    time_limit: Duration,
) -> Outgoing<'s> {
    let (notice, (waiting, usual)) = (&prepared.notice, PRIORITIES);
    let text = notice.lines().join("\n");
    let body = Body {
        topic: ntfy_topic(url).map_or("", |(_, topic)| topic),
        title: notice.title(),
        message: if text.is_empty() { NO_TEXT.to_owned() } else { text },
        priority: if notice.is_blocking() { waiting } else { usual },
        click: prepared.console.as_deref(),
        actions: prepared.links.iter().map(button).collect(),
    };
    let authorization = token.map(|token| ("authorization", format!("Bearer {}", token.reveal())));
    // Texts and numbers always serialize.
    let body = serde_json::to_vec(&body).unwrap_or_default();
    Outgoing { headers: authorization.into_iter().collect(), time_limit, ..Outgoing::json(server, body) }
}
