//! ntfy: a message to a topic, as JSON to the address of the server.

use std::time::Duration;

use domain::notification::{Notice, Prepared, PreparedLink, ntfy_topic};
use domain::push::PushSecret;
use domain::webhook::WebhookUrl;
use serde::Serialize;
use webhooks::Outgoing;

/// The priority of what somebody waits for, and of all else.
const PRIORITIES: (u8, u8) = (4, 3);

/// What ntfy shows if a message has no text.
const NO_TEXT: &str = "See the console.";

/// The maximum number of bytes of a message: ntfy refuses longer ones, or makes them files. They are counted as JSON, since the
/// request is limited too.
const MAX_BYTES: usize = 4096;

/// How many of these are left for a line that says how much is missing.
const MORE_BYTES: usize = 32;

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

/// The text, with as many lines of a digest as fit.
fn text(notice: &Notice) -> String {
    let mut lines = notice.lines();
    // The quotation marks stand for the line break.
    let size = |line: &String| serde_json::to_string(line).map_or(MAX_BYTES, |json| json.len());
    let mut left = MAX_BYTES - MORE_BYTES;
    let fitting = lines.iter().map_while(|line| {
        left = left.checked_sub(size(line))?;
        Some(())
    });
    let fitting = fitting.count();
    if fitting < lines.len() {
        let more = format!("and {} more", lines.len() - fitting);
        lines.truncate(fitting);
        lines.push(more);
    }
    if lines.is_empty() { NO_TEXT.to_owned() } else { lines.join("\n") }
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
    let body = Body {
        topic: ntfy_topic(url).map_or("", |(_, topic)| topic),
        title: notice.title(),
        message: text(notice),
        priority: if notice.is_blocking() { waiting } else { usual },
        click: prepared.console.as_deref(),
        actions: prepared.links.iter().map(button).collect(),
    };
    let authorization = token.map(|token| ("authorization", format!("Bearer {}", token.reveal())));
    // Texts and numbers always serialize.
    let body = serde_json::to_vec(&body).unwrap_or_default();
    Outgoing { headers: authorization.into_iter().collect(), time_limit, ..Outgoing::json(server, body) }
}

#[cfg(test)]
mod tests {
    use domain::id::NotificationId;
    use domain::notification::{NoticeItem, NotificationKind};

    use super::*;

    fn digest(number: usize, excerpt: &str) -> Notice {
        let item = NoticeItem {
            id: NotificationId::NIL,
            kind: NotificationKind::Mention,
            place: None,
            is_blocking: false,
            what: "You were mentioned",
            room: None,
            from: None,
            excerpt: Some(excerpt.to_owned()),
        };
        Notice { items: vec![item; number] }
    }

    #[test]
    fn a_long_digest_says_how_much_is_missing() {
        let short = text(&digest(50, "ä"));
        assert_eq!((short.lines().count(), short.contains("more")), (50, false), "{short}");
        for excerpt in ["ä".repeat(500), "\"".repeat(500)] {
            let cut = text(&digest(50, &excerpt));
            let kept = cut.lines().count() - 1;
            assert!((3..50).contains(&kept) && cut.ends_with(&format!("\nand {} more", 50 - kept)), "{cut}");
            assert!(serde_json::to_string(&cut).unwrap().len() <= MAX_BYTES);
        }
        assert_eq!(text(&Notice { items: Vec::new() }), NO_TEXT);
    }
}
