//! The messages of a task, from the store.

use domain::caller::Caller;
use domain::delivery::ReadReceiptsError;
use domain::id::{MessageId, RecordId};
use domain::message::{HistoryFilter, Kinds, Message, MessageKind};
use domain::page::{PageRequest, Position, Slice};

use crate::failure::{Failure, Fault};
use crate::session::{Reader, Session};
use crate::task::{Outcome, TaskId, Tree};

/// The number of messages on a page.
const PAGE: u32 = 100;

/// The number of pages that are read of one task. A page of large texts has fewer messages.
const PAGES: usize = 20;

/// How often a task is read if its caller writes to it meanwhile.
const READS: usize = 3;

/// The task of the caller at the agent.
///
/// The receipt is read after the messages, and what was written meanwhile after the receipt, so that a task that is done has
/// all of its answers.
///
/// # Errors
/// `TaskNotFound` if there is none that the caller can read, `Forbidden` if the key does not reach the room, and
/// `UnsupportedOperation` if it has too many messages.
pub(crate) async fn tree(session: &Session, id: TaskId) -> Result<Tree, Failure> {
    session.check_room(id.room, false)?;
    tree_of(&session.reader(), id).await
}

/// The first message of a task.
///
/// # Errors
/// `TaskNotFound` if there is no such task that the caller can read.
pub(crate) async fn root(reader: &Reader<'_>, id: TaskId) -> Result<Message, Failure> {
    let _permit = reader.may_read().await?;
    let found = reader.services.messages.find(reader.caller, id.room, id.first).await?;
    found.filter(|root| reader.is_request(root)).ok_or_else(Failure::no_task)
}

/// The same as [`tree`], whatever the key permits.
pub(crate) async fn tree_of(reader: &Reader<'_>, id: TaskId) -> Result<Tree, Failure> {
    let root = root(reader, id).await?;
    let mut messages = Vec::new();
    let (mut known, mut outcome) = (root.sequence.get() - 1, None);
    for _ in 0..=READS {
        let later = read(reader, &root, known).await?;
        let is_asked_again = later.iter().any(|message| reader.is_request(message));
        known = later.last().map_or(known, |message| message.sequence.get());
        messages.extend(later);
        messages = Tree::members(id.first, messages);
        if outcome.is_some() && !is_asked_again {
            break;
        }
        let asked = messages.iter().rev().find(|message| reader.is_request(message));
        outcome = Some(outcome_of(reader, id, asked.ok_or_else(Failure::no_task)?.id).await?);
    }
    let outcome = outcome.ok_or_else(Failure::no_task)?;
    Ok(Tree { id, caller: reader.caller.participant(), agent: reader.agent, messages, outcome })
}

/// What has become of a message of the caller at the agent.
async fn outcome_of(reader: &Reader<'_>, id: TaskId, message: MessageId) -> Result<Outcome, Failure> {
    let _permit = reader.may_read().await?;
    let receipts = reader.services.deliveries.receipts(reader.caller, id.room, message).await;
    let receipts = receipts.map_err(|error| match error {
        // It was deleted meanwhile.
        ReadReceiptsError::ChatNotFound | ReadReceiptsError::MessageNotFound => Failure::no_task(),
        ReadReceiptsError::Store(error) => error.into(),
    })?;
    let receipt = receipts.into_iter().find(|receipt| receipt.agent.id == reader.agent);
    let receipt = receipt.ok_or_else(Failure::no_task)?;
    Ok(Outcome {
        status: receipt.status,
        since: receipt.changed_at,
        is_cancelled: receipt.is_cancelled,
        has_left: !receipt.agent.in_chat,
    })
}

/// What the caller can read of the room after a sequence, oldest first; of a human's task, only its tree.
async fn read(reader: &Reader<'_>, root: &Message, after: i64) -> Result<Vec<Message>, Failure> {
    let messages = &reader.services.messages;
    let mut after = Some(Position::at(after, RecordId::NIL));
    let mut rows = Vec::new();
    for _ in 0..PAGES {
        let request = PageRequest { slice: Slice::After { after, limit: PAGE }, count: false };
        let _permit = reader.may_read().await?;
        let page = match reader.caller {
            Caller::User(user) => {
                let filter = HistoryFilter {
                    kinds: Kinds::of(&[MessageKind::Text, MessageKind::Attention]),
                    root: Some(root.place().root),
                    oldest_first: true,
                    ..HistoryFilter::default()
                };
                messages.history(user, root.chat_id, filter, request).await?
            }
            Caller::Agent(agent) => messages.context(agent, root.chat_id, request).await?,
        };
        rows.extend(page.rows);
        after = page.next;
        if after.is_none() {
            rows.retain(|message| matches!(message.kind, MessageKind::Text | MessageKind::Attention));
            return Ok(rows);
        }
    }
    let said = "The task has too many messages to be read over A2A. Read the room over REST instead.";
    Err(Failure::new(Fault::UnsupportedOperation, said))
}
