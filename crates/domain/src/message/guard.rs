//! The loop guard: agents that answer each other for ever stop.
//!
//! Each answer of an agent is a hop further from the message that began the tree. A text of an agent that is more
//! hops away than allowed is stored and shown as every other, but its deliveries are *held*: nothing is offered until
//! a human releases it. The humans of the chat are told once for each tree. A release allows the tree as many hops
//! again. Texts of humans are never held.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::append::ChatState;
use super::cause::{Cause, Place};
use super::model::{Message, MessageKind};
use super::port::{Appended, NewMessage};
use super::service::MessageService;
use crate::chat::Participant;
use crate::delivery::HeldBy;
use crate::event::DomainEvent;
use crate::id::{ChatId, MessageId, ParticipantId};
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// The number of holds that a step notices.
const STEP: u32 = 100;

/// The largest number of hops from the root of a tree at which a text of an agent is offered: at most 1,000,000, and
/// no limit if it is 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MaxHops(u32);

impl MaxHops {
    /// The largest number.
    pub const MAX: u32 = 1_000_000;

    /// No limit.
    pub const OFF: Self = Self(0);

    /// `None` if it is more than [`Self::MAX`].
    pub const fn new(number: u32) -> Option<Self> {
        if number > Self::MAX { None } else { Some(Self(number)) }
    }

    /// The number itself; 0 for no limit.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The limit that is in force in a chat; `None` without one. That of the organization replaces that of the server;
    /// the chat may have a stricter one.
    fn in_force(server: Self, organization: Option<Self>, chat: Option<Self>) -> Option<u32> {
        let limits = [Some(organization.unwrap_or(server)), chat];
        limits.into_iter().flatten().map(Self::get).filter(|limit| *limit > 0).min()
    }
}

impl Default for MaxHops {
    /// 64, far beyond honest work.
    fn default() -> Self {
        Self(64)
    }
}

impl ChatState {
    /// The number of hops above which the deliveries of a message are held; `None` if they never are.
    pub(super) fn hop_limit(&self, new: &NewMessage) -> Option<u32> {
        let is_addressed = new.mentions.iter().any(|mention| mention.addressed_agent().is_some());
        if new.sender.agent().is_none() || !is_addressed {
            return None;
        }
        MaxHops::in_force(new.max_hops, self.organization_max_hops, self.max_hops)
    }
}

impl Appended {
    /// The place of the message in its tree, and the limit, if it is above that. Its deliveries are held unless a
    /// release has allowed the tree as many hops.
    pub fn over_limit(&self) -> Option<(Place, u32)> {
        match (self.message.cause, self.hop_limit) {
            (Cause::Known(place), Some(limit)) if place.hop > limit => Some((place, limit)),
            _ => None,
        }
    }

    /// Holds all its deliveries.
    pub fn hold(&mut self, by: HeldBy) {
        let now = self.message.created_at;
        let new = std::mem::take(&mut self.message.deliveries);
        self.message.deliveries = new.into_iter().map(|delivery| delivery.held(by, now)).collect();
        self.recipients.clear();
    }
}

/// Something that is held, and that the humans of the chat were not told of yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DueHold {
    /// The root of the tree.
    pub root: MessageId,
    /// The limit.
    pub held_by: HeldBy,
    /// The value of the limit.
    pub bound: u32,
    /// The chat of the first message that is held.
    pub chat: ChatId,
    /// This message.
    pub message: MessageId,
}

/// Telling the humans of a chat that something is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoticeHold {
    /// What is held.
    pub due: DueHold,
    /// The id of the event.
    pub event: MessageId,
    /// The current time.
    pub now: Timestamp,
}

/// The result of telling the humans.
#[derive(Clone, PartialEq, Debug)]
pub enum NoticeOutcome {
    /// This event was posted.
    Posted(Box<Message>),
    /// There was nothing to post: the message or its chat was deleted, or nobody is left who would read the event.
    Settled,
    /// The humans have been told before, or what was held has been released.
    Gone,
}

impl NoticeHold {
    /// The event to be posted, if anybody would read it. Pure; the stores call this on the message, and on the
    /// participants of its chat, oldest first.
    pub fn event(&self, held: &Message, participants: &[Participant]) -> Option<NewMessage> {
        let sender = notifier(held.sender, participants)?;
        let agents = held.deliveries.iter().map(|delivery| delivery.agent().to_string()).collect::<Vec<_>>();
        let metadata = json!({
            "kind": "failure",
            "blocking": true,
            "message_id": held.id.to_string(),
            "root_id": self.due.root.to_string(),
            "held_by": self.due.held_by.as_str(),
            "agents": agents,
        });
        let content = match self.due.held_by {
            HeldBy::MaxHops => format!(
                "These agents may be answering each other for ever: more than {} messages have followed from one \
                 another. What they go on to write is stored, but offered to no agent until a human retries it.",
                self.due.bound
            ),
        };
        Some(NewMessage {
            id: self.event,
            chat: held.chat_id,
            sender: sender.id,
            sender_name: sender.name.clone(),
            sender_handle: sender.handle.clone(),
            kind: MessageKind::Attention,
            content,
            mentions: Vec::new(),
            metadata: metadata.as_object().cloned(),
            cause: Cause::Known(held.place_below()),
            respond_by: None,
            max_hops: MaxHops::OFF,
            is_notice: true,
            keyed: None,
            now: self.now,
        })
    }
}

/// The participant in whose name the server posts an event about a message of `sender`: the sender; if it has left,
/// the human with the highest role, who joined first.
pub(super) fn notifier(sender: ParticipantId, participants: &[Participant]) -> Option<&Participant> {
    let humans = participants.iter().filter(|participant| participant.id.user().is_some());
    let sender = participants.iter().find(|participant| participant.id == sender);
    // Without a human in the chat, nobody would read it.
    sender.or_else(|| humans.min_by_key(|human| Reverse(human.role)))
}

impl MessageService {
    /// Tells the humans of chats what is held, if they were not told yet. Several processes may do so at the same
    /// time. Returns what failed, after the rest is done.
    pub async fn notice_holds(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let mut failed = None;
        for due in self.messages.due_holds(STEP).await? {
            let event = MessageId::new(self.ids.generate(now));
            let events = self.events.clone();
            let on_commit = OnCommit::new(move |outcome: &NoticeOutcome| {
                if let NoticeOutcome::Posted(message) = outcome {
                    events.publish(DomainEvent::EventCreated { message: (**message).clone() });
                }
            });
            if let Err(error) = self.messages.notice_hold(NoticeHold { due, event, now }, on_commit).await {
                failed = Some(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_is_at_most_as_free_as_its_organization() {
        let (hops, off) = (|number| MaxHops::new(number).unwrap(), Some(MaxHops::OFF));
        for (server, organization, chat, limit) in [
            (64, None, None, Some(64)),
            (0, None, None, None),
            (64, Some(hops(100)), None, Some(100)),
            (64, off, None, None),
            (64, None, Some(hops(10)), Some(10)),
            (64, None, Some(hops(100)), Some(64)),
            (64, off, Some(hops(100)), Some(100)),
            (0, Some(hops(8)), Some(hops(9)), Some(8)),
        ] {
            let found = MaxHops::in_force(hops(server), organization, chat);
            assert_eq!(found, limit, "{server} {organization:?} {chat:?}");
        }
        assert_eq!(MaxHops::new(MaxHops::MAX + 1), None);
    }
}
