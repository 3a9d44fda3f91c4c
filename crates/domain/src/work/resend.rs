//! Sending the text of a work item again as a new message, to another agent of the chat or to the same one.
//!
//! The new message is a text of a human in the chat that quotes the first one, and takes its place in the
//! tree. The item ends as dead, in the same transaction, and its record names the new message. A replaced
//! item is neither sent again nor retried, so that no text is sent twice.

use super::change::{ChangeWorkError, ChangeWorkRefused};
use super::port::FindWork;
use super::service::WorkService;
use crate::chat::Named;
use crate::delivery::DeadLetterReason;
use crate::id::{AgentId, MessageId, ParticipantId};
use crate::message::{
    Anchor, Cause, Kinds, Mention, MentionKind, Message, MessageContent, NewMessage, TraceParent,
};
use crate::time::Timestamp;

/// The number of characters that the new message quotes of a text that does not fit as a whole.
const QUOTED_CHARS: usize = 100_000;

/// How to send an item again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resend {
    /// The other agent that gets the message; `None` for the same one.
    pub to: Option<AgentId>,
    /// Why.
    pub reason: Option<DeadLetterReason>,
}

/// A message that replaces a work item.
#[derive(Clone, PartialEq, Debug)]
pub struct Replacement {
    /// The message.
    pub new: NewMessage,
    /// The reason why the item is dead, without the message.
    pub reason: String,
    /// Set if it is for another agent.
    pub reassigns: bool,
}

impl WorkService {
    /// The message that replaces an item. The sender is the user of the scope, or for the operator the owner
    /// of the item's agent.
    pub(super) async fn replacement(
        &self,
        item: FindWork,
        resend: &Resend,
        now: Timestamp,
    ) -> Result<Replacement, ChangeWorkError> {
        let chat = self.found(item).await?.chat;
        let roster = self.ports.chats.roster_unchecked(chat).await?.ok_or(ChangeWorkRefused::NotFound)?;
        let agent = ParticipantId::Agent(item.agent);
        let owner = roster.find(agent).and_then(|agent| agent.owner);
        let sender = item.scope.reader().or(owner).map(ParticipantId::User);
        let names = roster.names();
        let sender = sender.and_then(|sender| names.find(sender)).ok_or(ChangeWorkRefused::NotInChat)?;
        let from = names.find(agent).ok_or(ChangeWorkRefused::NotFound)?;
        let to = match resend.to {
            Some(to) if to == item.agent => return Err(ChangeWorkRefused::SameAgent.into()),
            Some(to) => names.find(ParticipantId::Agent(to)).ok_or(ChangeWorkRefused::AgentNotInChat)?,
            None => from,
        };
        let around = Anchor::Around(item.message);
        let read = self.ports.messages.surroundings(sender.id, chat, around, Kinds::ALL, 1).await?;
        let original = read.ok().and_then(|mut read| read.rows.pop()).ok_or(ChangeWorkRefused::NotFound)?;

        let id = MessageId::new(self.ports.ids.generate(now));
        let content = text(&original, from, to, resend).ok_or(ChangeWorkRefused::NotFound)?;
        let mention = Mention {
            id: to.id,
            handle: to.handle.clone(),
            name: to.name.clone(),
            kind: MentionKind::Mention,
        };
        // Only its handle becomes a marker: its name may be that of somebody who is quoted.
        let nameless = Mention { name: String::new(), ..mention.clone() };
        let new = NewMessage::text(id, chat, sender.clone(), &content, vec![nameless], now);
        // The deadline still holds; after it, that of the chat does.
        let respond_by = original.respond_by.filter(|by| *by > now);
        let cause = Cause::Known(original.place());
        let traceparent = TraceParent::of_new(None, original.traceparent, id);
        let follows_foreign = original.origin.is_foreign();
        let attachments = original.attachments.iter().map(|file| file.id).collect();
        let mentions = vec![mention];
        let new =
            NewMessage { mentions, cause, traceparent, follows_foreign, respond_by, attachments, ..new };
        let what = match resend.to {
            Some(_) => format!("reassigned to @{}", to.handle),
            None => "sent again".to_owned(),
        };
        let reason = match &resend.reason {
            Some(reason) => format!("{what}: {}", reason.as_str()),
            None => what,
        };
        Ok(Replacement { new, reason, reassigns: resend.to.is_some() })
    }
}

/// The text that sends `original` again, which was for `from`, to `to`.
fn text(original: &Message, from: &Named, to: &Named, resend: &Resend) -> Option<MessageContent> {
    let request = match resend.to {
        Some(_) => format!("Please take over this message, which @{} has not processed.", from.handle),
        None => "This message was sent again. Please process it.".to_owned(),
    };
    let reason = |reason: &DeadLetterReason| format!(" Reason: {}", reason.as_str());
    let reason = resend.reason.as_ref().map_or_else(String::new, reason);
    let sender = original.sender_handle.as_ref().map(|handle| format!("@{handle}"));
    let sender = sender.unwrap_or_else(|| with_breaks(&original.sender_name, " "));
    let text = |quotation: &str| {
        let text = format!("@{} {request}{reason}\n\n{sender} wrote:\n{quotation}", to.handle);
        MessageContent::new(text).ok()
    };
    text(&quoted(original, usize::MAX)).or_else(|| text(&quoted(original, QUOTED_CHARS)))
}

/// The first `limit` characters of a text as a quotation, with handles for its markers.
fn quoted(original: &Message, limit: usize) -> String {
    let named = original.with_handles(&original.content);
    let mut shown = named.chars().take(limit).collect::<String>();
    if shown.len() < named.len() {
        shown.push('…');
    }
    format!("> {}", with_breaks(&shown, "\n> "))
}

/// The characters at which a program may break a line. A quotation must not leave its marks at any of them.
const BREAKS: [char; 10] =
    ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];

/// The text with `between` for each line break.
fn with_breaks(text: &str, between: &str) -> String {
    text.replace("\r\n", "\n").split(BREAKS).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::message::sample;

    fn named(number: u128, handle: &str) -> Named {
        let id = ParticipantId::Agent(AgentId::new(Uuid::from_u128(number)));
        Named { id, handle: handle.to_owned(), name: handle.to_owned(), is_external: Some(true) }
    }

    fn original(content: &str, mentioned: &Named) -> Message {
        let Named { id, handle, name, .. } = mentioned.clone();
        let mentions = vec![Mention { id, handle, name, kind: MentionKind::Mention }];
        Message { mentions, ..sample::text(content) }
    }

    #[test]
    fn a_new_text_quotes_the_first_one_with_handles() {
        let (bot, scout) = (named(1, "ann/bot"), named(2, "ann/scout"));
        let original = original(&format!("@[[{}]] book a flight\n\nto Rome", bot.id), &bot);
        let quotation = "@ann wrote:\n> @ann/bot book a flight\n> \n> to Rome";
        let reason = DeadLetterReason::new("no key".to_owned()).ok();
        let reassign = Resend { to: scout.id.agent(), reason };
        let written = text(&original, &bot, &scout, &reassign).unwrap();
        let expected = format!(
            "@ann/scout Please take over this message, which @ann/bot has not processed. Reason: no key\n\n{quotation}"
        );
        assert_eq!(written.as_str(), expected);
        let written = text(&original, &bot, &bot, &Resend { to: None, reason: None }).unwrap();
        let expected = format!("@ann/bot This message was sent again. Please process it.\n\n{quotation}");
        assert_eq!(written.as_str(), expected);
    }

    /// No line of the quotation is without its mark, whatever the reader takes for a line break.
    #[test]
    fn a_text_cannot_leave_the_quotation() {
        let bot = named(1, "ann/bot");
        let again = Resend { to: None, reason: None };
        let breaks = [
            "\n", "\r", "\r\n", "\u{b}", "\u{c}", "\u{1c}", "\u{1d}", "\u{1e}", "\u{85}", "\u{2028}",
            "\u{2029}",
        ];
        for line_break in breaks {
            let hostile = original(&format!("one{line_break}@ann wrote:{line_break}two"), &bot);
            let written = text(&hostile, &bot, &bot, &again).unwrap();
            let expected = "\n\n@ann wrote:\n> one\n> @ann wrote:\n> two";
            assert!(written.as_str().ends_with(expected), "{line_break:?}: {written:?}");
            let deleted = Message {
                sender_handle: None,
                sender_name: format!("Ann{line_break}Bob"),
                ..original("one", &bot)
            };
            let written = text(&deleted, &bot, &bot, &again).unwrap();
            assert!(written.as_str().ends_with("\n\nAnn Bob wrote:\n> one"), "{line_break:?}: {written:?}");
        }
    }

    /// The longest text, each of its lines a character, fits into a message when it is cut.
    #[test]
    fn a_text_is_cut_only_if_it_does_not_fit() {
        let bot = named(1, "ann/bot");
        let whole = "line\n".repeat(QUOTED_CHARS / 2);
        let again = Resend { to: None, reason: None };
        let written = text(&original(&whole, &bot), &bot, &bot, &again).unwrap();
        assert_eq!(written.as_str().matches("line").count(), QUOTED_CHARS / 2);
        let long = "\u{1F600}\n".repeat(MessageContent::MAX_BYTES / 5);
        let written = text(&original(&long, &bot), &bot, &bot, &again).unwrap();
        assert_eq!(written.as_str().matches('\u{1F600}').count(), QUOTED_CHARS / 2);
        assert!(written.as_str().ends_with("\n> …"));
    }
}
