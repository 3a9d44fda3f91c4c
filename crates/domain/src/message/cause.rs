//! What a message follows from. Pure.
//!
//! An agent opens an attempt before it works on a message and closes it afterwards, so what it writes
//! meanwhile follows from that message: its *cause*. A message without a cause begins a *tree*, and is the
//! *root* of all that follows from it. Who wrote the root is the *originator* of the whole tree.

use serde::{Deserialize, Serialize};

use super::filter::HistoryFilter;
use super::history::ReadSurroundingsError;
use super::mention::{Mention, MentionKind};
use super::model::{Message, MessageKind};
use super::port::AnsweredItem;
use super::service::MessageService;
use super::trace::TraceParent;
use crate::caller::UserCaller;
use crate::id::{ChatId, MessageId, ParticipantId};
use crate::page::{Page, PageRequest};
use crate::store::StoreError;

/// The number of begun and unfinished deliveries of an agent, failed ones included, that are examined for its open
/// attempts: the newest of the room, and any elsewhere. A message must not take longer because there are more.
pub const EXAMINED_DELIVERIES: usize = 100;

/// What a message follows from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Nothing: it begins a tree.
    #[default]
    None,
    /// One of several messages. It is not known which, so it begins a tree.
    Ambiguous {
        /// The largest hop that it could have.
        hop: u32,
    },
    /// The message is part of a tree that another has begun.
    Known(Place),
}

impl Cause {
    /// Returns whether the message begins a tree, and nothing else could be meant.
    pub const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// The cause of what an agent writes, of its attempts in the room and elsewhere. Those elsewhere count only if
    /// none is open in the room, and only if all were examined.
    pub fn of_attempts(here: &OpenAttempts, elsewhere: &OpenAttempts) -> Self {
        let open = if here.open.is_empty() { &elsewhere.open } else { &here.open };
        let is_complete = !here.open.is_empty() || here.examined + elsewhere.examined < EXAMINED_DELIVERIES;
        match open.as_slice() {
            [] if is_complete => Self::None,
            [one] if is_complete => Self::Known(*one),
            several => Self::Ambiguous { hop: several.iter().map(|place| place.hop).max().unwrap_or(0) },
        }
    }

    /// The cause of a text for which `self` is given, and `observed` by its sender's attempts. What is given counts, but
    /// the hop is at least the observed one: no loop hides by naming old messages.
    #[must_use]
    pub fn or_observed(self, observed: Self) -> Self {
        let Self::Known(given) = self else { return observed };
        let seen = match observed {
            Self::None => 0,
            Self::Ambiguous { hop } | Self::Known(Place { hop, .. }) => hop,
        };
        Self::Known(Place { hop: given.hop.max(seen), ..given })
    }
}

/// A place in a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Place {
    /// The cause; `None` at the root, and for a message that replaces the root because it was sent again.
    pub message: Option<MessageId>,
    /// The message that began the tree. It may have been deleted since, like every other.
    pub root: MessageId,
    /// The number of causes up to the root, or to the last text of a human: 0 at these. Larger after an ambiguous cause,
    /// and if the sender named a cause nearer to its root than what it worked on.
    pub hop: u32,
    /// Who wrote the root.
    pub originator: ParticipantId,
}

impl Place {
    /// The place of what follows from `message`, which is at this place.
    #[must_use]
    pub const fn below(self, message: MessageId) -> Self {
        Self { message: Some(message), hop: self.hop.saturating_add(1), ..self }
    }

    /// The hop, or a larger number than any limit if it is still larger, so that a limit can be added.
    pub fn counted_hop(self) -> u32 {
        self.hop.min(1 << 30)
    }
}

/// The attempts of an agent that are open in a room, or anywhere.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OpenAttempts {
    /// The places of what follows from the messages on which they are open. Attempts in rooms that the agent has left,
    /// that are deleted, or that belong to another organization do not count.
    pub open: Vec<Place>,
    /// Set if one of these messages is foreign to its chat ([`Origin`](crate::foreign::Origin)).
    pub is_foreign: bool,
    /// The number of begun and unfinished deliveries that were examined, at most [`EXAMINED_DELIVERIES`].
    pub examined: usize,
}

impl Message {
    /// Its place in its tree.
    pub const fn place(&self) -> Place {
        let hop = match self.cause {
            Cause::Known(place) => return place,
            Cause::Ambiguous { hop } => hop,
            Cause::None => 0,
        };
        Place { message: None, root: self.id, hop, originator: self.sender }
    }

    /// The handle of its sender if that is a human who asks an agent of somebody else. The handle of an agent begins
    /// with that of its owner, and neither changes.
    pub fn delegator(&self) -> Option<&str> {
        let handle = self.sender.user().and(self.sender_handle.as_deref())?;
        let is_foreign = |mention: &Mention| {
            let owner = mention.handle.split_once('/').map(|(owner, _)| owner);
            mention.kind == MentionKind::Mention && owner.is_some_and(|owner| owner != handle)
        };
        self.mentions.iter().any(is_foreign).then_some(handle)
    }

    /// The place of what follows from it.
    pub const fn place_below(&self) -> Place {
        self.place().below(self.id)
    }

    /// The place of a text of `sender` that names it as its cause. A human who answers has read what was said, so
    /// hops count from the answer; it stays in the tree.
    const fn place_of_answer(&self, sender: ParticipantId) -> Place {
        let below = self.place_below();
        match sender {
            ParticipantId::User(_) => Place { hop: 0, ..below },
            ParticipantId::Agent(_) => below,
        }
    }
}

/// A cause that a new message names.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct NamedCause {
    pub(super) cause: Cause,
    /// The place of the cause in a trace.
    pub(super) traceparent: Option<TraceParent>,
    /// Set if the cause is foreign to its chat.
    pub(super) is_foreign: bool,
    /// The attention item that a text of a human with this cause answers.
    pub(super) answers: Option<AnsweredItem>,
}

impl MessageService {
    /// What a new message of `sender` in the chat follows from if it names `in_reply_to`; `None` if that is no message of
    /// the chat that the sender may see.
    pub(super) async fn named_cause(
        &self,
        sender: ParticipantId,
        chat: ChatId,
        in_reply_to: Option<MessageId>,
    ) -> Result<Option<NamedCause>, StoreError> {
        let Some(named) = in_reply_to else { return Ok(Some(NamedCause::default())) };
        let found = self.messages.find_readable(sender, chat, named).await?;
        Ok(found.map(|message| NamedCause {
            cause: Cause::Known(message.place_of_answer(sender)),
            traceparent: message.traceparent,
            is_foreign: message.origin.is_foreign(),
            answers: (message.kind == MessageKind::Attention && sender.user().is_some())
                .then_some(AnsweredItem { item: named, is_reply: true, is_of_command: false }),
        }))
    }

    /// The part in the chat of the tree to which a message belongs, oldest first.
    pub async fn tree(
        &self,
        caller: UserCaller,
        chat: ChatId,
        message: MessageId,
        page: PageRequest,
    ) -> Result<Page<Message>, ReadSurroundingsError> {
        let viewer = ParticipantId::User(caller.user);
        let part = self.messages.find_readable(viewer, chat, message).await?;
        let root = part.map(|part| part.place().root);
        // Read even without the message: a caller who may not read the chat is told of the chat. Nothing follows from a
        // message that does not exist, so this costs little.
        let filter =
            HistoryFilter { root: root.or(Some(message)), oldest_first: true, ..HistoryFilter::default() };
        let read = self.messages.history(viewer, chat, filter, page).await?;
        let read = read.ok_or(ReadSurroundingsError::ChatNotFound)?;
        root.map(|_| read).ok_or(ReadSurroundingsError::MessageNotFound)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::id::UserId;

    fn below(message: u128) -> Place {
        let id = |number| MessageId::new(Uuid::from_u128(number));
        let originator = ParticipantId::User(UserId::new(Uuid::from_u128(9)));
        Place { message: None, root: id(1), hop: 2, originator }.below(id(message))
    }

    fn attempts(open: &[u128], examined: usize) -> OpenAttempts {
        OpenAttempts { open: open.iter().copied().map(below).collect(), is_foreign: false, examined }
    }

    #[test]
    fn the_only_open_attempt_is_the_cause() {
        let none = Cause::None;
        let several = Cause::Ambiguous { hop: 3 };
        let known = |message| Cause::Known(below(message));
        let most = EXAMINED_DELIVERIES;
        // Open in the room, examined there; elsewhere; the cause.
        for (here, elsewhere, cause) in [
            ((&[][..], 0), (&[][..], 0), none),
            ((&[], 5), (&[], 5), none),
            ((&[7], 1), (&[], 0), known(7)),
            ((&[7], 1), (&[8], 1), known(7)),
            ((&[7], 1), (&[8, 9], most), known(7)),
            ((&[7, 8], 2), (&[], 0), several),
            ((&[], 3), (&[8], 1), known(8)),
            ((&[], 0), (&[8, 9], 2), several),
            ((&[7], most - 1), (&[], 0), known(7)),
            ((&[7], most), (&[], 0), known(7)),
            ((&[7, 8], most), (&[], 0), several),
            ((&[], most), (&[], 0), Cause::Ambiguous { hop: 0 }),
            ((&[], 1), (&[8], most - 1), several),
        ] {
            let found = Cause::of_attempts(&attempts(here.0, here.1), &attempts(elsewhere.0, elsewhere.1));
            assert_eq!(found, cause, "{here:?} {elsewhere:?}");
        }
    }

    #[test]
    fn a_named_cause_hides_no_hop() {
        let at = |message, hop| Cause::Known(Place { hop, ..below(message) });
        let (none, several) = (Cause::None, Cause::Ambiguous { hop: 3 });
        for (given, observed, cause) in [
            (none, none, none),
            (none, several, several),
            (none, at(7, 3), at(7, 3)),
            (at(8, 1), none, at(8, 1)),
            (at(8, 1), several, at(8, 3)),
            (at(8, 1), at(7, 3), at(8, 3)),
            (at(8, 5), at(7, 3), at(8, 5)),
        ] {
            assert_eq!(given.or_observed(observed), cause, "{given:?} {observed:?}");
        }
    }

    #[test]
    fn what_follows_is_one_hop_further() {
        let place = below(7);
        assert_eq!((place.message, place.hop), (Some(MessageId::new(Uuid::from_u128(7))), 3));
        assert_eq!((place.root, place.originator), (below(8).root, below(8).originator));
        assert_eq!(
            Place { hop: u32::MAX, ..place }.below(place.root).hop,
            u32::MAX,
            "it does not begin anew"
        );
    }
}
