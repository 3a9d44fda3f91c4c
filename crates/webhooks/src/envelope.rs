//! The bodies of requests: what published agents without a socket take, and the events of organizations.

use domain::audit::AuditRecord;
use domain::id::{AgentId, ChatId};
use domain::message::Message;
use domain::time::Timestamp;
use http_wire::view::{AuditEntryView, MessageView, Shown};
use serde::Serialize;

#[derive(Serialize)]
struct Envelope<'a> {
    event_type: &'static str,
    agent_id: Shown<AgentId>,
    room_id: Shown<ChatId>,
    payload: MessageView<'a>,
    /// Clients expect the event as it came, which is the same.
    raw: MessageView<'a>,
    forwarded_at: Shown<Timestamp>,
}

/// The body for a message to an agent: the payload is that of the socket's event.
pub(crate) fn envelope(message: &Message, agent: AgentId, now: Timestamp) -> String {
    let envelope = Envelope {
        event_type: "message_created",
        agent_id: Shown(agent),
        room_id: Shown(message.chat_id),
        payload: MessageView::for_agent(message, agent),
        raw: MessageView::for_agent(message, agent),
        forwarded_at: Shown(now),
    };
    // Views hold text and numbers only, which always serialize.
    serde_json::to_string(&envelope).unwrap_or_default()
}

/// An event in the form that Standard Webhooks recommends.
#[derive(Serialize)]
struct Event<'a> {
    r#type: &'static str,
    timestamp: Shown<Timestamp>,
    data: AuditEntryView<'a>,
}

/// The body for an entry of the audit log, which is shown as in the list of entries.
pub(crate) fn event(record: &AuditRecord) -> String {
    let event = Event {
        r#type: record.action.as_str(),
        timestamp: Shown(record.at),
        data: AuditEntryView::new(record),
    };
    // As above.
    serde_json::to_string(&event).unwrap_or_default()
}
