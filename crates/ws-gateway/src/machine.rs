//! The protocol of one connection, without sockets, tasks or stores.
//!
//! Frames and events go in, [`Action`]s come out; whoever drives the machine carries them out in
//! their order. A join of a room takes two steps: [`Action::Authorize`] asks, and the answer
//! comes back through [`Connection::authorized`] before the next frame is handed in.

use std::collections::HashMap;

use domain::account::{KeyScope, Reach};
use domain::caller::Caller;
use domain::id::ChatId;
use foldhash::fast::RandomState;

use crate::frame::{self, Frame, Head, Version};
pub use crate::inbox::Ticket;
use crate::payload::MAX_AGENT_BYTES;
use crate::topic::{Access, Named, Topic};

/// Why a join is refused that would be one topic too many.
pub(crate) const TOO_MANY_TOPICS: &str = "too many channels joined";

/// An empty answer.
const NOTHING: &str = "{}";

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Send this text.
    Send(String),
    /// Find out whether the caller takes part in the room, and come back with
    /// [`Connection::authorized`]. The socket must be listening to the topic already when the
    /// answer is looked up, so that nothing falls between the two.
    Authorize(PendingJoin),
    /// Stop listening to the topic.
    Unsubscribe(Topic, Ticket),
    /// The frame could not be read: end the connection.
    Unreadable,
}

/// A join that waits for its answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PendingJoin {
    /// The topic.
    pub topic: Topic,
    /// The room to take part in; `None` when the caller's own topics are concerned.
    pub room: Option<ChatId>,
    text: String,
    join_ref: Option<String>,
    reference: Option<String>,
}

/// How a join is answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Granted; the JSON is what the answer holds.
    Granted {
        /// The answer's content.
        response: String,
        /// Names the stay on the topic.
        ticket: Ticket,
    },
    /// Refused, with a reason.
    Refused(&'static str),
}

/// A topic that was joined.
#[derive(Clone, Debug)]
struct Joined {
    head: Head,
    ticket: Ticket,
}

/// One connection.
#[derive(Debug)]
pub struct Connection {
    version: Version,
    caller: Caller,
    scope: KeyScope,
    max_topics: usize,
    /// Revalidation up for each event. Its keys are ids of the server's, so that nobody chooses which collide.
    joined: HashMap<Topic, Joined, RandomState>,
}

impl Connection {
    /// A connection that has joined nothing.
    pub fn new(version: Version, caller: Caller, max_topics: usize) -> Self {
        Self { version, caller, scope: KeyScope::default(), max_topics, joined: HashMap::default() }
    }

    /// What it was opened with has these limits.
    pub fn limited_to(self, scope: KeyScope) -> Self {
        Self { scope, ..self }
    }

    /// Who is connected.
    pub fn caller(&self) -> Caller {
        self.caller
    }

    /// A text arrived.
    pub fn on_text(&mut self, text: &str) -> Vec<Action> {
        let Ok(frame) = frame::parse(self.version, text) else { return vec![Action::Unreadable] };
        match (frame.topic.as_str(), frame.event.as_str()) {
            ("phoenix", "heartbeat") => vec![self.reply(&frame, frame.join_ref.as_deref(), "ok", NOTHING)],
            (_, "phx_join") => self.on_join(frame),
            (_, "phx_leave") => self.on_leave(&frame),
            _ => self.on_other(&frame),
        }
    }

    fn on_join(&mut self, frame: Frame) -> Vec<Action> {
        let refused = |reason| vec![self.refuse(&frame, reason)];
        let topic = match Topic::parse(&frame.topic) {
            Named::Topic(topic) => topic,
            Named::Closed => return refused("unauthorized"),
            Named::Unmatched => return refused("unmatched topic"),
        };
        if !self.is_within_scope(topic) {
            return refused("unauthorized");
        }
        let room = match topic.access(self.caller) {
            Access::Denied => return refused("unauthorized"),
            Access::Granted => None,
            Access::Participant(chat) => Some(chat),
        };
        if self.joined.len() >= self.max_topics && !self.has_joined(topic) {
            return refused(TOO_MANY_TOPICS);
        }
        let Frame { join_ref, reference, topic: text, .. } = frame;
        vec![Action::Authorize(PendingJoin { topic, room, text, join_ref, reference })]
    }

    /// Whether what the connection was opened with reaches a topic. A key that may act as an agent reaches what the
    /// agent does.
    fn is_within_scope(&self, topic: Topic) -> bool {
        let reach = topic.room().map_or(Reach::Rest, Reach::Chat);
        matches!(self.caller, Caller::Agent(_)) || self.scope.permits(reach, false).is_ok()
    }

    /// The answer to a join. The new stay on the topic is answered before the old one is closed.
    pub fn authorized(&mut self, join: PendingJoin, verdict: Verdict) -> Vec<Action> {
        let PendingJoin { topic, text, join_ref, reference, .. } = join;
        let answer = |status, response: &str| {
            let payload = reply_payload(status, response);
            let join_ref = join_ref.as_deref();
            let frame =
                frame::write(self.version, join_ref, reference.as_deref(), &text, "phx_reply", &payload);
            Action::Send(frame)
        };
        let (response, ticket) = match verdict {
            Verdict::Granted { response, ticket } => (response, ticket),
            Verdict::Refused(reason) => {
                let mut actions = vec![answer("error", &reason_payload(reason))];
                // Who may no longer join may no longer listen either.
                actions.extend(self.joined.remove(&topic).map(|before| self.close_frame(&before)));
                return actions;
            }
        };
        let mut actions = vec![answer("ok", &response)];
        let joined = Joined { head: Head::new(self.version, join_ref.as_deref(), &text), ticket };
        if let Some(before) = self.joined.insert(topic, joined) {
            actions.push(self.close_frame(&before));
        }
        actions
    }

    fn on_leave(&mut self, frame: &Frame) -> Vec<Action> {
        let Named::Topic(topic) = Topic::parse(&frame.topic) else {
            return vec![self.reply(frame, None, "ok", NOTHING)];
        };
        let Some(joined) = self.joined.get(&topic) else {
            return vec![self.reply(frame, None, "ok", NOTHING)];
        };
        if self.is_stale(frame, joined) {
            return Vec::new();
        }
        let (ticket, close) = (joined.ticket, self.close_frame(joined));
        let reply = self.reply_on(joined, frame, "ok", NOTHING);
        self.joined.remove(&topic);
        vec![Action::Unsubscribe(topic, ticket), reply, close]
    }

    /// Channels only speak to clients: whatever else a client says is refused, and changes nothing.
    fn on_other(&self, frame: &Frame) -> Vec<Action> {
        let joined = match Topic::parse(&frame.topic) {
            Named::Topic(topic) => self.joined.get(&topic),
            Named::Closed | Named::Unmatched => None,
        };
        match joined {
            None => vec![self.reply(frame, None, "error", &reason_payload("unmatched topic"))],
            Some(joined) if self.is_stale(frame, joined) => Vec::new(),
            Some(joined) => {
                vec![self.reply_on(joined, frame, "error", &reason_payload("unsupported event"))]
            }
        }
    }

    /// An event of a topic: pushed with this connection's own join reference, or dropped when
    /// the stay it was meant for is over.
    pub fn on_event(&self, topic: Topic, ticket: Ticket, event: &str, payload: &str) -> Option<String> {
        let head = self.head(topic, ticket, event, payload.len())?;
        Some(self.pieces(head, event, payload).concat())
    }

    /// What stands before the event's name in that frame; `None` when there is nothing to push: the stay is
    /// over, or the whole frame is more than an agent's client would take.
    pub fn head(&self, topic: Topic, ticket: Ticket, event: &str, payload_bytes: usize) -> Option<&str> {
        let joined = self.joined.get(&topic).filter(|joined| joined.ticket == ticket)?;
        let head = joined.head.text(self.version);
        let around = || self.pieces(head, event, "").map(str::len).iter().sum::<usize>();
        let fits = matches!(self.caller, Caller::User(_)) || around() + payload_bytes < MAX_AGENT_BYTES;
        fits.then_some(head)
    }

    /// The pieces of the frame that begins with such a head.
    pub fn pieces<'a>(&self, head: &'a str, event: &'a str, payload: &'a str) -> [&'a str; 5] {
        frame::pieces(self.version, head, event, payload)
    }

    /// An event for whoever has joined the topic, whenever that was.
    pub fn on_notice(&self, topic: Topic, event: &str, payload: &str) -> Option<String> {
        let ticket = self.joined.get(&topic)?.ticket;
        self.on_event(topic, ticket, event, payload)
    }

    /// The server ends a stay on a topic.
    pub fn on_end(&mut self, topic: Topic, ticket: Ticket) -> Option<Action> {
        self.joined.get(&topic).filter(|joined| joined.ticket == ticket)?;
        let joined = self.joined.remove(&topic)?;
        Some(self.close_frame(&joined))
    }

    /// Whether the topic is joined.
    pub(crate) fn has_joined(&self, topic: Topic) -> bool {
        self.joined.contains_key(&topic)
    }

    /// Every topic that is joined, with its stay.
    pub fn topics(&self) -> impl Iterator<Item = (Topic, Ticket)> + '_ {
        self.joined.iter().map(|(topic, joined)| (*topic, joined.ticket))
    }

    fn close_frame(&self, joined: &Joined) -> Action {
        Action::Send(joined.head.close(self.version))
    }

    /// Whether a frame belongs to an earlier join; one without a reference belongs to the live one.
    fn is_stale(&self, frame: &Frame, joined: &Joined) -> bool {
        frame.join_ref.as_deref().is_some_and(|join_ref| !joined.head.is_of(self.version, join_ref))
    }

    /// An answer to what was said on a topic that is joined.
    fn reply_on(&self, joined: &Joined, frame: &Frame, status: &str, response: &str) -> Action {
        let payload = reply_payload(status, response);
        let reference = frame.reference.as_deref();
        Action::Send(joined.head.reply(self.version, reference, &frame.topic, &payload))
    }

    fn reply(&self, frame: &Frame, join_ref: Option<&str>, status: &str, response: &str) -> Action {
        let payload = reply_payload(status, response);
        let reference = frame.reference.as_deref();
        Action::Send(frame::write(self.version, join_ref, reference, &frame.topic, "phx_reply", &payload))
    }

    /// A refused join, with both references, which some clients wait for.
    fn refuse(&self, frame: &Frame, reason: &str) -> Action {
        self.reply(frame, frame.join_ref.as_deref(), "error", &reason_payload(reason))
    }
}

fn reply_payload(status: &str, response: &str) -> String {
    format!("{{\"status\":\"{status}\",\"response\":{response}}}")
}

fn reason_payload(reason: &str) -> String {
    format!("{{\"reason\":\"{reason}\"}}")
}

#[cfg(test)]
mod tests;
