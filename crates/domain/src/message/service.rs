//! The message area's ports in one place.

use std::sync::Arc;
use std::time::Duration;

use super::guard::{Counts, MAX_TREE_MESSAGES, MaxHops, tree_counts};
use super::model::{Recipient, RecipientState};
use super::pair::MaxPairMessages;
use super::port::MessageRepository;
use super::trace::BeginTraces;
use crate::account::cache::CallerCache;
use crate::board::BoardRepository;
use crate::budget::BudgetWatch;
use crate::caller::Caller;
use crate::chat::{ChatRepository, Names, Roster};
use crate::delivery::ClaimRenewal;
use crate::file::FileLimits;
use crate::id::{ChatId, MessageId, ParticipantId};
use crate::ports::{Clock, EventPublisher, IdGenerator, Presence};
use crate::store::StoreError;
use crate::usage::ReportedTokens;

/// Use cases on messages and events.
pub struct MessageService {
    pub(super) messages: Arc<dyn MessageRepository>,
    pub(super) chats: Arc<dyn ChatRepository>,
    pub(super) events: Arc<dyn EventPublisher>,
    presence: Arc<dyn Presence>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdGenerator>,
    pub(super) cache: Arc<CallerCache>,
    pub(super) reported: Arc<ReportedTokens>,
    pub(super) budgets: Arc<BudgetWatch>,
    pub(super) max_hops: MaxHops,
    pub(super) max_tree_messages: u32,
    pub(super) trees: Counts,
    pub(super) max_pair_messages: MaxPairMessages,
    pub(super) pairs: Counts,
    pub(super) begin_traces: BeginTraces,
    /// Finds the tasks that events name; `None` leaves them unchecked.
    pub(super) boards: Option<Arc<dyn BoardRepository>>,
    /// The time after which files that no message shows expire.
    pub(super) unattached: Duration,
    /// Renews the claims of agents that write; `None` if they are not renewed.
    claims: Option<Arc<ClaimRenewal>>,
}

impl MessageService {
    /// Wires the area to its ports.
    pub fn new(
        messages: Arc<dyn MessageRepository>,
        chats: Arc<dyn ChatRepository>,
        events: Arc<dyn EventPublisher>,
        presence: Arc<dyn Presence>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
        cache: Arc<CallerCache>,
    ) -> Self {
        let (max_hops, max_tree_messages) = (MaxHops::default(), MAX_TREE_MESSAGES);
        let max_pair_messages = MaxPairMessages::default();
        Self {
            messages,
            chats,
            events,
            presence,
            clock,
            ids,
            cache,
            reported: Arc::default(),
            budgets: Arc::default(),
            max_hops,
            max_tree_messages,
            trees: tree_counts(max_tree_messages),
            max_pair_messages,
            pairs: max_pair_messages.counts(),
            begin_traces: BeginTraces::default(),
            boards: None,
            unattached: FileLimits::DEFAULT.unattached,
            claims: None,
        }
    }

    /// The tokens in the reports that were stored since the start.
    pub fn reported_tokens(&self) -> &ReportedTokens {
        &self.reported
    }

    /// Sets what notes the stored messages, and knows the exceeded budgets.
    #[must_use]
    pub fn with_budgets(self, budgets: Arc<BudgetWatch>) -> Self {
        Self { budgets, ..self }
    }

    /// Sets the limits of hops and of pairs of organizations that have none of their own, and the largest number of
    /// messages of a tree; 0 for no limit.
    #[must_use]
    pub fn with_limits(self, max_hops: MaxHops, max_tree_messages: u32, pairs: MaxPairMessages) -> Self {
        Self {
            max_hops,
            max_tree_messages,
            trees: tree_counts(max_tree_messages),
            max_pair_messages: pairs,
            pairs: pairs.counts(),
            ..self
        }
    }

    /// Sets the boards whose tasks events may name; `None` if chats have no boards.
    #[must_use]
    pub fn with_boards(self, boards: Option<Arc<dyn BoardRepository>>) -> Self {
        Self { boards, ..self }
    }

    /// Sets the limits of the files that messages show.
    #[must_use]
    pub fn with_files(self, limits: &FileLimits) -> Self {
        Self { unattached: limits.unattached, ..self }
    }

    /// Sets what renews the claims of agents that write.
    #[must_use]
    pub fn with_claims(self, claims: Arc<ClaimRenewal>) -> Self {
        Self { claims: Some(claims), ..self }
    }

    /// Sets whether a trace begins with a text that is part of none.
    #[must_use]
    pub fn with_traces(self, begin_traces: BeginTraces) -> Self {
        Self { begin_traces, ..self }
    }

    /// Renews the claims of `sender` in a chat after it has written there; only that of `named`, if it names a message.
    pub(crate) async fn note_work(&self, sender: Caller, chat: ChatId, named: Option<MessageId>) {
        if let Some(claims) = &self.claims {
            claims.note(sender, chat, named).await;
        }
    }

    /// Returns whether a recipient in this state is connected; a platform agent always is.
    pub fn is_connected(&self, recipient: &Recipient, state: RecipientState) -> bool {
        let is_external = match state {
            RecipientState::User => None,
            RecipientState::Agent { is_platform_agent, .. } => Some(!is_platform_agent),
        };
        self.presence.is_present(recipient.id, is_external)
    }

    /// Applies `see` to the names of a chat's participants: to the cached ones if that `admits` the
    /// sender, or to those in the store; `None` if the sender may not see the chat.
    pub(super) async fn names<R>(
        &self,
        sender: ParticipantId,
        chat: ChatId,
        see: impl Fn(&Names) -> R,
        admits: impl Fn(&R) -> bool,
    ) -> Result<Option<R>, StoreError> {
        let read = async { Ok(self.chats.roster(sender, chat).await?.map(Roster::names)) };
        self.cache.names(chat, self.clock.steady(), see, admits, read).await
    }
}
