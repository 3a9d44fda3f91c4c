//! Cancelling a task: its sender takes what the agent has not processed out of the queue.

use domain::delivery::{DeadLetterReason, DeliveryStatus};
use domain::id::MessageId;
use domain::work::{ChangeWorkError, ChangeWorkRefused, WorkChange, WorkScope};

use crate::failure::{Failure, Fault};
use crate::read;
use crate::session::Session;
use crate::task::{TaskId, Tree};

/// The number of messages of a task that are taken out of the queue, the newest ones.
const CANCELLED: usize = 100;

/// Cancels a task, and returns it.
pub(crate) async fn cancel(session: &Session, id: TaskId) -> Result<Tree, Failure> {
    session.check_room(id.room, true)?;
    let tree = read::tree(session, id).await?;
    // What has failed is offered again, unless it is dead.
    if matches!(tree.outcome.status, DeliveryStatus::Processed | DeliveryStatus::Dead) {
        return Err(ended());
    }
    let requests = tree.requests().rev().take(CANCELLED).map(|request| request.id).collect::<Vec<_>>();
    for message in requests {
        dead_letter(session, message).await?;
    }
    let tree = read::tree(session, id).await?;
    if tree.state().state == a2a::TaskState::Canceled { Ok(tree) } else { Err(ended()) }
}

fn ended() -> Failure {
    Failure::new(
        Fault::TaskNotCancelable,
        "The task can no longer be cancelled: it has ended, or the agent has processed it.",
    )
}

/// Takes a message out of the queue of the agent. What has moved on meanwhile stays as it is.
async fn dead_letter(session: &Session, message: MessageId) -> Result<(), Failure> {
    let scope = WorkScope::SentBy(session.caller.participant());
    let change = WorkChange::DeadLetter(DeadLetterReason::cancelled());
    match session.services().work.change(scope, message, session.agent.id, change, None).await {
        Ok(_) | Err(ChangeWorkError::Refused(ChangeWorkRefused::State(_))) => Ok(()),
        Err(ChangeWorkError::Refused(_)) => Err(ended()),
        Err(error @ ChangeWorkError::Store(_)) => Err(error.into()),
    }
}
