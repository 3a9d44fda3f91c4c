//! The body of a notification to a webhook, in the form that Standard Webhooks recommends.

use domain::notification::{NoticeItem, Prepared};
use domain::time::Timestamp;
use serde::Serialize;

#[derive(Serialize)]
struct Event<'a> {
    r#type: &'static str,
    timestamp: String,
    data: Data<'a>,
}

#[derive(Serialize)]
struct Data<'a> {
    title: String,
    items: Vec<Item<'a>>,
    links: Vec<Link<'a>>,
    console_url: Option<&'a str>,
}

#[derive(Serialize)]
struct Item<'a> {
    id: String,
    kind: &'static str,
    blocking: bool,
    summary: &'static str,
    chat_room_id: Option<String>,
    message_id: Option<String>,
    room_title: Option<&'a str>,
    from: Option<&'a str>,
    excerpt: Option<&'a str>,
}

#[derive(Serialize)]
struct Link<'a> {
    action: &'static str,
    label: &'static str,
    url: &'a str,
}

/// The body.
pub(crate) fn body(prepared: &Prepared, now: Timestamp) -> String {
    let event = Event {
        r#type: "notification",
        timestamp: now.to_string(),
        data: Data {
            title: prepared.notice.title(),
            items: prepared.notice.items.iter().map(item).collect(),
            links: prepared
                .links
                .iter()
                .map(|link| Link { action: link.action.as_str(), label: link.action.label(), url: &link.url })
                .collect(),
            console_url: prepared.console.as_deref(),
        },
    };
    // Texts and flags always serialize.
    serde_json::to_string(&event).unwrap_or_default()
}

fn item(item: &NoticeItem) -> Item<'_> {
    let (chat, message) = item.place.unzip();
    Item {
        id: item.id.to_string(),
        kind: item.kind.as_str(),
        blocking: item.is_blocking,
        summary: item.what,
        chat_room_id: chat.map(|chat| chat.to_string()),
        message_id: message.map(|message| message.to_string()),
        room_title: item.room.as_deref(),
        from: item.from.as_deref(),
        excerpt: item.excerpt.as_deref(),
    }
}
