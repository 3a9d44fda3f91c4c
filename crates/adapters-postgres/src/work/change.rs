//! Changing a work item.

use diesel::sql_types::{BigInt, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::id::ChatId;
use domain::work::{ChangeWork, ChangeWorkRefused, ChangedItem, WorkScope, WorkStep};

use super::check_on;
use super::find::key_on;
use super::row::REPLACEMENT_STANDS;
use crate::delivery::advance::record_on;
use crate::error::Fault;
use crate::message::batch;
use crate::message::hold;
use crate::message::load::message_on;
use crate::message::row::InterventionColumns;
use crate::run::Db;
use crate::statement::statement;
use crate::{attention, audit, budget, change, lock};

/// Writes [`InterventionColumns`]. The error of an attempt that had ended before is complete in its row.
const SAVE: &str = "UPDATE deliveries SET delivered_at = ?, failed_at = coalesce(failed_at, ?), \
     error = coalesce(error, ?), dead_at = ?, dead_reason = ?, restarted_after = ?, restarted_at = ?, replaced_by = ?, \
     held_by = ?, claimed_until = NULL \
     WHERE agent_id = ? AND chat_id = ? AND sequence = ?";

pub(super) async fn change_on(
    mut db: &Db,
    command: &ChangeWork,
) -> Result<Result<ChangedItem, ChangeWorkRefused>, Fault> {
    let item = command.item;
    if let Err(refused) = check_on(db, item.scope).await? {
        return Ok(Err(refused.into()));
    }
    let Some((agent, chat, sequence)) = key_on(db, item).await? else {
        return Ok(Err(ChangeWorkRefused::NotFound));
    };
    let chat_id = ChatId::new(chat);
    if matches!(command.step, WorkStep::Replace(_)) {
        // The message that is appended needs it, and it comes before the lock of a message.
        lock::chat_on(db, chat_id).await?;
    }
    // The message comes first, so that its event shows every step announced before.
    lock::message_on(db, item.message).await?;
    let Some(mut before) = record_on(db, item.agent, item.message).await? else {
        return Ok(Err(ChangeWorkRefused::NotFound));
    };
    if let Some(by) = before.replaced_by() {
        let stands = statement::<BigInt>(REPLACEMENT_STANDS).bind::<SqlUuid, _>(by.uuid());
        if stands.get_result::<i64>(&mut db).await? == 0 {
            before = before.without_replacement();
        }
    }
    let ended = command.ends_hold(&before);
    let after = match command.decide(before) {
        Ok(after) => after,
        Err(refused) => return Ok(Err(refused)),
    };
    let columns = InterventionColumns::of(&after)?;
    statement::<()>(SAVE)
        .bind::<Nullable<Timestamptz>, _>(columns.delivered_at)
        .bind::<Nullable<Timestamptz>, _>(columns.failed_at)
        .bind::<Nullable<Text>, _>(columns.error)
        .bind::<Nullable<Timestamptz>, _>(columns.dead_at)
        .bind::<Nullable<Text>, _>(columns.dead_reason)
        .bind::<Nullable<Integer>, _>(columns.restarted_after)
        .bind::<Nullable<Timestamptz>, _>(columns.restarted_at)
        .bind::<Nullable<SqlUuid>, _>(columns.replaced_by)
        .bind::<Nullable<Text>, _>(columns.held_by)
        .bind::<SqlUuid, _>(agent)
        .bind::<SqlUuid, _>(chat)
        .bind::<BigInt, _>(sequence)
        .execute(&mut db)
        .await?;
    audit::append_on(db, [AuditEntry::work_changed(command)]).await?;
    let new = match &command.step {
        // A refusal rolls back what was written before.
        WorkStep::Replace(replacement) => match batch::append_on(db, replacement.new.clone()).await? {
            Ok(appended) => Some(appended),
            Err(refused) => return Ok(Err(refused.into())),
        },
        WorkStep::Retry | WorkStep::DeadLetter(_) => None,
    };
    let message = message_on(db, chat_id, item.message).await?;
    change::append_on(db, command.logged(chat_id), command.now).await?;
    let message =
        message.ok_or_else(|| Fault::Row("the message disappeared within its own transaction".to_owned()))?;
    if let Some(ended) = ended {
        let is_of_chat = item.scope.may_end_holds() && may_end_hold_on(db, item.scope, chat_id).await?;
        match ended.by.budget() {
            Some(budget) if command.releases_budget(ended, budget, is_of_chat) => {
                budget::release_on(db, budget, &message, item.agent).await?;
            }
            None if is_of_chat || !ended.is_of_chat() => {
                hold::end_on(db, &message, ended).await?;
                attention::release_on(db, &message, ended.by, command.now).await?;
            }
            _ => {}
        }
    }
    Ok(Ok(ChangedItem { message, new }))
}

/// Returns whether this is the operator, or a user of the organization of the chat; see [`ChangeWork::ends_hold`].
async fn may_end_hold_on(mut db: &Db, scope: WorkScope, chat: ChatId) -> Result<bool, Fault> {
    let Some(user) = scope.reader() else { return Ok(true) };
    let found = statement::<BigInt>(
        "SELECT count(*) FROM chats JOIN users ON users.organization_id = chats.organization_id \
         WHERE chats.id = ? AND users.id = ?",
    );
    let found = found.bind::<SqlUuid, _>(chat.uuid()).bind::<SqlUuid, _>(user.uuid());
    Ok(found.get_result::<i64>(&mut db).await? > 0)
}
