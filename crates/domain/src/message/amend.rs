//! Rules for changing a stored message, and the result of an edit. Pure; the stores call these on
//! the locked row.

use super::content::{MessageContent, stored_text};
use super::model::Message;
use super::port::ChangedMessage;
use crate::id::{ParticipantId, UserId};
use crate::legal_hold::UnderHold;
use crate::plan::LimitReached;
use crate::ports::EventPublisher;
use crate::store::StoreError;
use crate::time::Timestamp;

/// The reason why a message was not changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ChangeMessageRefused {
    /// The caller is not a participant of the chat, or it does not exist. Observing it through an
    /// own agent is not enough.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The message does not exist in this chat, or was deleted.
    #[error("there is no such message in the chat")]
    MessageNotFound,
    /// Another participant sent it.
    #[error("only its sender may change a message")]
    NotSender,
    /// The chat is under a legal hold.
    #[error(transparent)]
    UnderHold(#[from] UnderHold),
    /// The edit adds bytes, and the plan of the chat's organization allows no more.
    #[error(transparent)]
    Limit(#[from] LimitReached),
}

/// The reason why a message was neither edited nor deleted.
#[derive(Debug, thiserror::Error)]
pub enum ChangeMessageError {
    /// A rule forbids it.
    #[error(transparent)]
    Refused(#[from] ChangeMessageRefused),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ChangedMessage {
    /// Announces the chat's title, if it changed with the text.
    pub(super) fn announce_title(&self, events: &dyn EventPublisher) {
        if let Some(retitled) = &self.retitled {
            retitled.on_commit(events);
        }
    }
}

impl Message {
    /// Decides on a human's edit or deletion: only the sender of a text may. An event in the name of a human is the
    /// server's.
    pub fn decide_change(&self, by: UserId) -> Result<(), ChangeMessageRefused> {
        let is_own = self.sender == ParticipantId::User(by) && !self.kind.is_event();
        if is_own { Ok(()) } else { Err(ChangeMessageRefused::NotSender) }
    }

    /// The message with another text, with the names of its mentions bound as in the original. An
    /// edit neither adds nor removes mentions.
    #[must_use]
    pub fn edited(self, content: &MessageContent, now: Timestamp) -> Self {
        let content = stored_text(content, &self.mentions);
        Self { content, updated_at: self.updated_at.max(now), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::super::mention::{Mention, MentionKind};
    use super::super::model::MessageKind;
    use super::*;
    use crate::id::AgentId;
    use crate::message::sample;
    use uuid::Uuid;

    const ANN: UserId = UserId::new(Uuid::from_u128(1));
    const BOT: AgentId = AgentId::new(Uuid::from_u128(2));

    fn message(sender: ParticipantId) -> Message {
        let id = ParticipantId::Agent(BOT);
        let mention =
            Mention { id, handle: "ann/bot".to_owned(), name: "Bot".to_owned(), kind: MentionKind::Mention };
        Message { sender, mentions: vec![mention], ..sample::text(&format!("@[[{BOT}]] hello")) }
    }

    #[test]
    fn only_the_sender_changes_a_message() {
        let ann = ParticipantId::User(ANN);
        assert_eq!(message(ann).decide_change(ANN), Ok(()));
        let event = Message { kind: MessageKind::Attention, ..message(ann) };
        assert_eq!(event.decide_change(ANN), Err(ChangeMessageRefused::NotSender));
        let ben = UserId::new(Uuid::from_u128(9));
        assert_eq!(message(ann).decide_change(ben), Err(ChangeMessageRefused::NotSender));
        // An agent is another sender than a human, even with the same id.
        let same = AgentId::new(ANN.uuid());
        for agent in [BOT, same] {
            let sent = message(ParticipantId::Agent(agent));
            assert_eq!(sent.decide_change(ANN), Err(ChangeMessageRefused::NotSender));
        }
    }

    #[test]
    fn an_edit_binds_the_names_of_those_who_were_mentioned() {
        let edit = |text: &str, now| {
            let content = MessageContent::new(text.to_owned()).unwrap();
            message(ParticipantId::User(ANN)).edited(&content, Timestamp::from_micros(now))
        };
        for (text, stored) in [
            ("thank you, @ann/bot!", format!("thank you, @[[{BOT}]]!")),
            ("@Bot: again", format!("@[[{BOT}]]: again")),
            ("nobody's name", format!("@[[{BOT}]] nobody's name")),
            ("@other and @[[x]]", format!("@[[{BOT}]] @other and @[[x]]")),
        ] {
            let edited = edit(text, 20);
            assert_eq!(edited.content, stored);
            let before = message(ParticipantId::User(ANN));
            let unchanged = Message { content: stored, updated_at: edited.updated_at, ..before };
            assert_eq!((edited.updated_at.micros(), edited), (20, unchanged));
        }
        assert_eq!(edit("x", 5).updated_at.micros(), 10, "a change is never before what it changes");
    }
}
