//! The protocol of one connection, without sockets, tasks, or stores.
//!
//! Frames and events go in, [`Action`]s come out; the driver of the machine carries them out in
//! order. A join of a chat takes two steps: [`Action::Authorize`] asks, and the answer comes back
//! through [`Machine::on_decision`] before the next frame is handed in.

use std::collections::HashMap;

use domain::account::{KeyScope, Reach};
use domain::caller::Caller;
pub use domain::delivery::SubscriptionId;
use domain::id::ChatId;
use foldhash::fast::RandomState;

use crate::frame::{self, Frame, Head, Version};
use crate::payload::MAX_AGENT_BYTES;
use crate::topic::{Topic, TopicAccess, TopicName};

/// The reason for refusing a join that would exceed the limit of topics.
pub(crate) const TOO_MANY_TOPICS: &str = "too many channels joined";

/// The reason for refusing a join that the store could not check.
pub(crate) const JOIN_CRASHED: &str = "join crashed";

/// The reason for refusing the board of a chat, as the owner of the agent sees it.
const BOARDS_OFF: &str = "boards are turned off";

/// An empty response.
const NOTHING: &str = "{}";

/// An effect for the driver to carry out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Send this text.
    Send(String),
    /// Send this text, which refuses a join for the reason that the owner of the agent sees.
    Refuse(String, &'static str),
    /// Find out whether the caller takes part in the chat, and return with
    /// [`Machine::on_decision`]. The socket must already be subscribed to the topic when the
    /// store is read, so that no event is lost in between.
    Authorize(PendingJoin),
    /// End the subscription to the topic.
    Unsubscribe(Topic, SubscriptionId),
    /// The frame could not be parsed: end the connection.
    Unreadable,
}

/// A join that waits for its answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PendingJoin {
    /// The topic.
    pub topic: Topic,
    /// The chat to take part in; `None` for the caller's own topics.
    pub chat: Option<ChatId>,
    text: String,
    join_ref: Option<String>,
    reference: Option<String>,
}

/// The decision about a join.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum JoinDecision {
    /// Granted.
    Granted {
        /// The response, as JSON.
        response: String,
        /// Identifies the subscription.
        subscription: SubscriptionId,
    },
    /// Refused, with the reason.
    Refused(&'static str),
}

/// A topic that was joined.
#[derive(Clone, Debug)]
struct Joined {
    head: Head,
    subscription: SubscriptionId,
}

/// One connection.
#[derive(Debug)]
pub struct Machine {
    version: Version,
    caller: Caller,
    scope: KeyScope,
    max_topics: usize,
    has_boards: bool,
    /// Looked up for each event. The keys are ids that the server made, so clients cannot cause
    /// collisions.
    joined: HashMap<Topic, Joined, RandomState>,
}

impl Machine {
    /// Makes a connection without topics.
    pub fn new(version: Version, caller: Caller, max_topics: usize) -> Self {
        Self {
            version,
            caller,
            scope: KeyScope::default(),
            max_topics,
            has_boards: true,
            joined: HashMap::default(),
        }
    }

    /// Lets the connection join the boards of chats or not.
    pub fn with_boards(self, has_boards: bool) -> Self {
        Self { has_boards, ..self }
    }

    /// Restricts the connection to the scope of its credential.
    pub fn limited_to(self, scope: KeyScope) -> Self {
        Self { scope, ..self }
    }

    /// The caller of the connection.
    pub fn caller(&self) -> Caller {
        self.caller
    }

    /// Handles a text frame.
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
        let refused = |reason| vec![self.refuse(&frame, reason, reason)];
        let topic = match Topic::parse(&frame.topic) {
            TopicName::Topic(topic) => topic,
            TopicName::Closed => return refused("unauthorized"),
            TopicName::Unmatched => return refused("unmatched topic"),
        };
        let is_served = self.has_boards || !matches!(topic, Topic::RoomTasks(_));
        if !is_served {
            return vec![self.refuse(&frame, "unauthorized", BOARDS_OFF)];
        }
        if !self.is_within_scope(topic) {
            return refused("unauthorized");
        }
        let chat = match topic.access(self.caller) {
            TopicAccess::Denied => return refused("unauthorized"),
            TopicAccess::Granted => None,
            TopicAccess::Participant(chat) => Some(chat),
        };
        if self.joined.len() >= self.max_topics && !self.has_joined(topic) {
            return refused(TOO_MANY_TOPICS);
        }
        let Frame { join_ref, reference, topic: text, .. } = frame;
        vec![Action::Authorize(PendingJoin { topic, chat, text, join_ref, reference })]
    }

    /// Returns whether the scope of the credential includes a topic. A key that may act as an agent
    /// reaches what the agent does.
    fn is_within_scope(&self, topic: Topic) -> bool {
        let reach = topic.chat().map_or(Reach::Rest, Reach::Chat);
        matches!(self.caller, Caller::Agent(_)) || self.scope.permits(reach, false).is_ok()
    }

    /// Answers a join. The reply of the new subscription precedes the close of the old one.
    pub fn on_decision(&mut self, join: PendingJoin, decision: JoinDecision) -> Vec<Action> {
        let PendingJoin { topic, text, join_ref, reference, .. } = join;
        let answer = |status, response: &str| {
            let payload = reply_payload(status, response);
            let join_ref = join_ref.as_deref();
            frame::write(self.version, join_ref, reference.as_deref(), &text, "phx_reply", &payload)
        };
        let (response, subscription) = match decision {
            JoinDecision::Granted { response, subscription } => (response, subscription),
            JoinDecision::Refused(reason) => {
                let mut actions = vec![Action::Refuse(answer("error", &reason_payload(reason)), reason)];
                // A caller who may no longer join loses an earlier subscription as well.
                actions.extend(self.joined.remove(&topic).map(|before| self.close_frame(&before)));
                return actions;
            }
        };
        let mut actions = vec![Action::Send(answer("ok", &response))];
        let joined = Joined { head: Head::new(self.version, join_ref.as_deref(), &text), subscription };
        if let Some(before) = self.joined.insert(topic, joined) {
            actions.push(self.close_frame(&before));
        }
        actions
    }

    fn on_leave(&mut self, frame: &Frame) -> Vec<Action> {
        let TopicName::Topic(topic) = Topic::parse(&frame.topic) else {
            return vec![self.reply(frame, None, "ok", NOTHING)];
        };
        let Some(joined) = self.joined.get(&topic) else {
            return vec![self.reply(frame, None, "ok", NOTHING)];
        };
        if self.is_stale(frame, joined) {
            return Vec::new();
        }
        let (subscription, close) = (joined.subscription, self.close_frame(joined));
        let reply = self.reply_on(joined, frame, "ok", NOTHING);
        self.joined.remove(&topic);
        vec![Action::Unsubscribe(topic, subscription), reply, close]
    }

    /// Channels only push to clients: any other event of a client is refused, and changes nothing.
    fn on_other(&self, frame: &Frame) -> Vec<Action> {
        let joined = match Topic::parse(&frame.topic) {
            TopicName::Topic(topic) => self.joined.get(&topic),
            TopicName::Closed | TopicName::Unmatched => None,
        };
        match joined {
            None => vec![self.reply(frame, None, "error", &reason_payload("unmatched topic"))],
            Some(joined) if self.is_stale(frame, joined) => Vec::new(),
            Some(joined) => {
                vec![self.reply_on(joined, frame, "error", &reason_payload("unsupported event"))]
            }
        }
    }

    /// Pushes an event of a topic with this connection's own join reference, or drops it if its
    /// subscription has ended.
    pub fn on_event(
        &self,
        topic: Topic,
        subscription: SubscriptionId,
        event: &str,
        payload: &str,
    ) -> Option<String> {
        let head = self.head(topic, subscription, event, payload.len())?;
        Some(self.pieces(head, event, payload).concat())
    }

    /// The text in front of the event's name in that frame; `None` if there is nothing to push: the
    /// subscription has ended, or the frame is larger than an agent's client accepts.
    pub fn head(
        &self,
        topic: Topic,
        subscription: SubscriptionId,
        event: &str,
        payload_bytes: usize,
    ) -> Option<&str> {
        let joined = self.joined.get(&topic).filter(|joined| joined.subscription == subscription)?;
        let head = joined.head.text(self.version);
        let around = || self.pieces(head, event, "").map(str::len).iter().sum::<usize>();
        let fits = matches!(self.caller, Caller::User(_)) || around() + payload_bytes < MAX_AGENT_BYTES;
        fits.then_some(head)
    }

    /// The pieces of the frame that begins with such a head.
    pub fn pieces<'a>(&self, head: &'a str, event: &'a str, payload: &'a str) -> [&'a str; 5] {
        frame::pieces(self.version, head, event, payload)
    }

    /// Pushes an event to any subscription to the topic, whichever it is.
    pub fn on_notice(&self, topic: Topic, event: &str, payload: &str) -> Option<String> {
        let subscription = self.joined.get(&topic)?.subscription;
        self.on_event(topic, subscription, event, payload)
    }

    /// Ends a subscription on behalf of the server.
    pub fn on_end(&mut self, topic: Topic, subscription: SubscriptionId) -> Option<Action> {
        self.joined.get(&topic).filter(|joined| joined.subscription == subscription)?;
        let joined = self.joined.remove(&topic)?;
        Some(self.close_frame(&joined))
    }

    /// Returns whether the topic is joined.
    pub(crate) fn has_joined(&self, topic: Topic) -> bool {
        self.joined.contains_key(&topic)
    }

    /// The joined topics with their subscriptions.
    pub fn topics(&self) -> impl Iterator<Item = (Topic, SubscriptionId)> + '_ {
        self.joined.iter().map(|(topic, joined)| (*topic, joined.subscription))
    }

    fn close_frame(&self, joined: &Joined) -> Action {
        Action::Send(joined.head.close(self.version))
    }

    /// Returns whether a frame belongs to an earlier join; one without a reference belongs to the
    /// live one.
    fn is_stale(&self, frame: &Frame, joined: &Joined) -> bool {
        frame.join_ref.as_deref().is_some_and(|join_ref| !joined.head.is_of(self.version, join_ref))
    }

    /// A reply to a frame on a joined topic.
    fn reply_on(&self, joined: &Joined, frame: &Frame, status: &str, response: &str) -> Action {
        let payload = reply_payload(status, response);
        let reference = frame.reference.as_deref();
        Action::Send(joined.head.reply(self.version, reference, &frame.topic, &payload))
    }

    fn reply(&self, frame: &Frame, join_ref: Option<&str>, status: &str, response: &str) -> Action {
        Action::Send(self.reply_text(frame, join_ref, status, response))
    }

    fn reply_text(&self, frame: &Frame, join_ref: Option<&str>, status: &str, response: &str) -> String {
        let payload = reply_payload(status, response);
        let reference = frame.reference.as_deref();
        frame::write(self.version, join_ref, reference, &frame.topic, "phx_reply", &payload)
    }

    /// A refused join, with both references, which some clients wait for.
    fn refuse(&self, frame: &Frame, told: &str, reason: &'static str) -> Action {
        let payload = reason_payload(told);
        Action::Refuse(self.reply_text(frame, frame.join_ref.as_deref(), "error", &payload), reason)
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
