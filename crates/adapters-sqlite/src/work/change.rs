//! Changing a work item.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Integer, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::id::ChatId;
use domain::work::{ChangeWork, ChangeWorkRefused, ChangedItem, WorkScope, WorkStep};

use super::check_on;
use super::find::key_on;
use super::row::REPLACEMENT_STANDS;
use crate::attention;
use crate::delivery::advance::record_on;
use crate::error::Fault;
use crate::message::append::append_on;
use crate::message::hold;
use crate::message::load::{message_on, message_row_on};
use crate::message::row::InterventionColumns;
use crate::row::Id;
use crate::statement::statement;
use crate::{audit, budget, change};

pub(super) fn change_on(
    connection: &mut SqliteConnection,
    command: &ChangeWork,
) -> Result<Result<ChangedItem, ChangeWorkRefused>, Fault> {
    let item = command.item;
    if let Err(refused) = check_on(connection, item.scope)? {
        return Ok(Err(refused.into()));
    }
    let Some((agent, chat, sequence)) = key_on(connection, item)? else {
        return Ok(Err(ChangeWorkRefused::NotFound));
    };
    let chat_id = ChatId::new(chat);
    let row = message_row_on(connection, chat_id, item.message)?;
    let record = row.map(|row| record_on(connection, Id(agent), &row)).transpose()?.flatten();
    let Some(mut before) = record else { return Ok(Err(ChangeWorkRefused::NotFound)) };
    if let Some(by) = before.replaced_by() {
        let stands = statement!(REPLACEMENT_STANDS => BigInt).bind::<Binary, _>(Id(by.uuid()));
        if stands.get_result::<i64>(connection)? == 0 {
            before = before.without_replacement();
        }
    }
    let ended = command.ends_hold(&before);
    let after = match command.decide(before) {
        Ok(after) => after,
        Err(refused) => return Ok(Err(refused)),
    };
    let columns = InterventionColumns::of(&after)?;
    // The error of an attempt that had ended before is complete in its row.
    statement!(
        "UPDATE deliveries SET delivered_at = ?, failed_at = coalesce(failed_at, ?), error = coalesce(error, ?), \
         dead_at = ?, dead_reason = ?, restarted_after = ?, restarted_at = ?, replaced_by = ?, held_by = ?, claimed_until = NULL \
         WHERE agent_id = ? AND chat_id = ? AND sequence = ?"
    )
    .bind::<Nullable<BigInt>, _>(columns.delivered_at)
    .bind::<Nullable<BigInt>, _>(columns.failed_at)
    .bind::<Nullable<Text>, _>(columns.error)
    .bind::<Nullable<BigInt>, _>(columns.dead_at)
    .bind::<Nullable<Text>, _>(columns.dead_reason)
    .bind::<Nullable<Integer>, _>(columns.restarted_after)
    .bind::<Nullable<BigInt>, _>(columns.restarted_at)
    .bind::<Nullable<Binary>, _>(columns.replaced_by)
    .bind::<Nullable<Text>, _>(columns.held_by)
    .bind::<Binary, _>(Id(agent))
    .bind::<Binary, _>(Id(chat))
    .bind::<BigInt, _>(sequence)
    .execute(connection)?;
    audit::append_on(connection, [AuditEntry::work_changed(command)])?;
    change::append_on(connection, command.logged(chat_id), command.now)?;
    let new = match &command.step {
        // A refusal rolls back what was written before.
        WorkStep::Replace(replacement) => match append_on(connection, replacement.new.clone())? {
            Ok(appended) => Some(appended),
            Err(refused) => return Ok(Err(refused.into())),
        },
        WorkStep::Retry | WorkStep::DeadLetter(_) => None,
    };
    let message = message_on(connection, chat_id, item.message)?;
    let message =
        message.ok_or_else(|| Fault::Row("the message disappeared within its own transaction".to_owned()))?;
    if let Some(ended) = ended {
        let is_of_chat = item.scope.may_end_holds() && may_end_hold_on(connection, item.scope, chat_id)?;
        match ended.by.budget() {
            Some(budget) if command.releases_budget(ended, budget, is_of_chat) => {
                budget::release_on(connection, budget, &message, item.agent)?;
            }
            None if is_of_chat || !ended.is_of_chat() => {
                hold::end_on(connection, &message, ended)?;
                attention::release_on(connection, &message, ended.by, command.now)?;
            }
            _ => {}
        }
    }
    Ok(Ok(ChangedItem { message, new }))
}

/// Returns whether this is the operator, or a user of the organization of the chat; see [`ChangeWork::ends_hold`].
fn may_end_hold_on(connection: &mut SqliteConnection, scope: WorkScope, chat: ChatId) -> Result<bool, Fault> {
    let Some(user) = scope.reader() else { return Ok(true) };
    let found = statement!(
        "SELECT count(*) FROM chats JOIN users ON users.organization_id = chats.organization_id \
         WHERE chats.id = ? AND users.id = ?"
        => BigInt
    );
    let found = found.bind::<Binary, _>(Id(chat.uuid())).bind::<Binary, _>(Id(user.uuid()));
    Ok(found.get_result::<i64>(connection)? > 0)
}
