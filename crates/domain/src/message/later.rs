//! Texts that are sent later ([`crate::reminder`]): what they say is settled when they are scheduled, and what limits them
//! when they are sent.

use std::sync::Arc;

use super::cause::Cause;
use super::content::stored_text;
use super::guard::MaxHops;
use super::mention::{self, Mention};
use super::model::Message;
use super::send::{SendMessage, SendMessageError};
use super::service::MessageService;
use super::trace::TraceParent;
use crate::budget::ExceededBudgets;
use crate::caller::Caller;
use crate::chat::Names;
use crate::id::{ChatId, MessageId};
use crate::time::Timestamp;

/// A text with its sender, mentions, and given cause.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Composed {
    pub(crate) sender_handle: String,
    /// The text as it is stored.
    pub(crate) content: String,
    pub(crate) mentions: Vec<Mention>,
    pub(crate) cause: Cause,
    /// The place of the cause in a trace.
    pub(crate) traceparent: Option<TraceParent>,
    /// Set if the cause is foreign to the chat.
    pub(crate) follows_foreign: bool,
    /// Set if it answers an attention item.
    pub(crate) answers: bool,
}

/// A text that the server makes for its sender: its id, and what limits it.
#[derive(Clone, PartialEq, Debug)]
pub struct NewText {
    /// Its id.
    pub id: MessageId,
    /// The trace that begins with it if it is part of none, if the server begins traces.
    pub begins_trace: Option<TraceParent>,
    /// See [`NewMessage::max_hops`](super::NewMessage::max_hops).
    pub max_hops: MaxHops,
    /// See [`NewMessage::exceeded`](super::NewMessage::exceeded).
    pub exceeded: Option<Arc<ExceededBudgets>>,
}

impl MessageService {
    /// Resolves the mentions and the cause of a text that is sent later, which may mention its sender.
    pub(crate) async fn compose_later(
        &self,
        caller: Caller,
        chat: ChatId,
        command: &SendMessage,
    ) -> Result<Composed, SendMessageError> {
        let sender = caller.participant();
        let meant = |names: &Names| {
            let named = names.find(sender).ok_or(SendMessageError::ChatNotFound)?;
            let mentions = mention::resolve_later(names, sender, &command.mentions)?;
            Ok((named.handle.clone(), mentions))
        };
        let meant = self.names(sender, chat, meant, Result::is_ok).await?;
        let (sender_handle, mentions) = meant.unwrap_or(Err(SendMessageError::ChatNotFound))?;
        let cause = self.named_cause(sender, chat, command.in_reply_to).await?;
        let cause = cause.ok_or(SendMessageError::CauseNotFound)?;
        Ok(Composed {
            sender_handle,
            content: stored_text(&command.content, &mentions),
            mentions,
            cause: cause.cause,
            traceparent: cause.traceparent,
            follows_foreign: cause.is_foreign,
            answers: cause.answers.is_some(),
        })
    }

    /// A text of `now`.
    pub(crate) fn begin_text(&self, now: Timestamp) -> NewText {
        let id = MessageId::new(self.ids.generate(now));
        let (begins_trace, max_hops) = (self.begin_traces.of(id), self.max_hops);
        NewText { id, begins_trace, max_hops, exceeded: self.budgets.exceeded() }
    }

    /// Counts a stored text for the budgets and the limits of loops.
    pub(crate) async fn note_sent(&self, message: &Message) {
        self.budgets.note(message);
        self.count_in_tree(message).await;
        self.count_in_pairs(message).await;
    }
}
