//! The store of attention items.

#[path = "../../sql-rows/attention.rs"]
mod row;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::attention::{
    Adapter, AttentionEffect, AttentionItem, AttentionOutcome, AttentionRepository, AttentionSearch,
    AttentionState, ClosedItem, DismissAttention, DismissRefused, NewItem, WhichItem, ended_tokens,
    hold_token,
};
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::delivery::HeldBy;
use domain::id::{MessageId, ParticipantId, SubjectId, UserId};
use domain::message::{Message, NewMessage};
use domain::store::StoreError;
use domain::time::Timestamp;
use row::{ItemRow, bind_list, can_be_answered, may_dismiss, pairs};

use crate::SqliteStore;
use crate::audit;
use crate::change;
use crate::error::Fault;
use crate::row::{At, AtType, Id, IdType};
use crate::schema::attention_items;
use crate::statement::statement;

#[async_trait]
impl AttentionRepository for SqliteStore {
    async fn list_attention(&self, search: AttentionSearch) -> Result<Vec<AttentionItem>, StoreError> {
        self.read(move |connection| list_on(connection, &search)).await
    }

    async fn find_attention(
        &self,
        user: UserId,
        item: MessageId,
    ) -> Result<Option<AttentionItem>, StoreError> {
        self.read(move |connection| find_on(connection, user, item)).await
    }

    async fn dismiss_attention(
        &self,
        command: DismissAttention,
    ) -> Result<Result<AttentionItem, DismissRefused>, StoreError> {
        self.change(move |connection: &mut SqliteConnection| dismiss_on(connection, command), |_| ()).await
    }
}

/// A room with the first items of a query, which names the table.
fn within(of_room: &str) -> String {
    format!(
        "INDEXED BY participants_rooms CROSS JOIN attention_items AS item \
         ON item.message_id IN (SELECT attention_items.message_id {of_room})"
    )
}

fn list_on(connection: &mut SqliteConnection, search: &AttentionSearch) -> Result<Vec<AttentionItem>, Fault> {
    let query = diesel::sql_query(row::list(search, within)).into_boxed();
    let rows = bind_list!(query, search).load::<ItemRow>(connection)?;
    rows.into_iter().map(ItemRow::into_item).collect()
}

pub(crate) fn find_on(
    connection: &mut SqliteConnection,
    user: UserId,
    item: MessageId,
) -> Result<Option<AttentionItem>, Fault> {
    let query =
        diesel::sql_query(row::one()).bind::<Binary, _>(Id(item.uuid())).bind::<Binary, _>(Id(user.uuid()));
    query.get_result::<ItemRow>(connection).optional()?.map(ItemRow::into_item).transpose()
}

fn dismiss_on(
    connection: &mut SqliteConnection,
    command: DismissAttention,
) -> Result<Result<AttentionItem, DismissRefused>, Fault> {
    let DismissAttention { item, by, now } = command;
    let Some(found) = find_on(connection, by.user, item)? else { return Ok(Err(DismissRefused::NotFound)) };
    match command.decide(&found) {
        Ok(true) => {}
        Ok(false) => return Ok(Ok(found)),
        Err(refused) => return Ok(Err(refused)),
    }
    let may = statement!(may_dismiss!() => Bool)
        .bind::<Binary, _>(Id(found.chat.uuid()))
        .bind::<Binary, _>(Id(found.sender.id.uuid()))
        .bind::<Binary, _>(Id(by.user.uuid()));
    if !may.get_result::<bool>(connection)? {
        return Ok(Err(DismissRefused::Guest));
    }
    statement!(row::DISMISS)
        .bind::<BigInt, _>(At(now))
        .bind::<Nullable<Binary>, _>(Some(Id(by.user.uuid())))
        .bind::<Binary, _>(Id(item.uuid()))
        .execute(connection)?;
    let entry = AuditEntry::attention_ended(item, found.chat, by.user, AttentionOutcome::Dismissed, now);
    audit::append_on(connection, [entry])?;
    Ok(find_on(connection, by.user, item)?.ok_or(DismissRefused::NotFound))
}

/// Returns whether the item that a message must answer can be answered, if there is one.
pub(crate) fn takes_answer_on(connection: &mut SqliteConnection, new: &NewMessage) -> Result<bool, Fault> {
    let Some(item) = new.must_answer() else { return Ok(true) };
    let open = statement!(can_be_answered!() => Bool);
    let open = open.bind::<Binary, _>(Id(item.uuid())).bind::<Binary, _>(Id(new.chat.uuid()));
    Ok(open.get_result::<bool>(connection).optional()?.unwrap_or(false))
}

/// Makes or ends items, as a stored message does.
pub(crate) fn apply_on(
    connection: &mut SqliteConnection,
    effect: &AttentionEffect,
    message: &Message,
) -> Result<(), Fault> {
    match effect {
        AttentionEffect::Opens(new) => open_on(connection, new, message),
        AttentionEffect::Closes(closed) => {
            let at = message.created_at;
            let closed = closed.clone().told_by(message);
            for item in closed_on(connection, &closed, message)? {
                if let Some(by) = closed.by {
                    let entry = AuditEntry::attention_ended(
                        MessageId::new(item.0),
                        message.chat_id,
                        by,
                        closed.outcome,
                        at,
                    );
                    audit::append_on(connection, [entry])?;
                }
            }
            let sent = closed.is_of_command.then_some(Change::MessageSent(message.id));
            change::append_on(connection, sent, at)
        }
    }
}

fn open_on(connection: &mut SqliteConnection, new: &NewItem, message: &Message) -> Result<(), Fault> {
    let at = At(message.created_at);
    statement!(row::EXPIRE)
        .bind::<BigInt, _>(at)
        .bind::<Binary, _>(Id(message.chat_id.uuid()))
        .bind::<BigInt, _>(at)
        .execute(connection)?;
    if let Some(token) = &new.token {
        statement!(row::SUPERSEDE)
            .bind::<BigInt, _>(at)
            .bind::<Binary, _>(Id(message.chat_id.uuid()))
            .bind::<Binary, _>(Id(message.sender.uuid()))
            .bind::<Text, _>(token.as_str())
            .execute(connection)?;
    }
    statement!(row::INSERT)
        .bind::<Binary, _>(Id(message.id.uuid()))
        .bind::<Binary, _>(Id(message.chat_id.uuid()))
        .bind::<Binary, _>(Id(message.sender.uuid()))
        .bind::<Text, _>(new.kind.as_str())
        .bind::<Bool, _>(new.is_blocking)
        .bind::<Nullable<Text>, _>(new.adapter.map(Adapter::as_str))
        .bind::<Nullable<Text>, _>(new.token.as_deref())
        .bind::<Nullable<Text>, _>(new.default.as_deref())
        .bind::<BigInt, _>(at)
        .bind::<Nullable<BigInt>, _>(new.expires_at.map(At))
        .execute(connection)?;
    Ok(())
}

/// Returns the items that were ended.
fn closed_on(
    connection: &mut SqliteConnection,
    closed: &ClosedItem,
    message: &Message,
) -> Result<Vec<Id>, Fault> {
    let (at, chat) = (At(message.created_at), Id(message.chat_id.uuid()));
    let by = closed.by.map(|user| Id(user.uuid()));
    let answer = by.map(|_| Id(message.id.uuid()));
    let outcome = closed.outcome.as_str();
    let mut all = Vec::new();
    match &closed.which {
        WhichItem::Of { message: item, askers, can_be_approval } => {
            for asker in askers {
                let close = statement!(row::CLOSE => Binary)
                    .bind::<Text, _>(outcome)
                    .bind::<BigInt, _>(at)
                    .bind::<Nullable<Binary>, _>(by)
                    .bind::<Nullable<Binary>, _>(answer)
                    .bind::<Binary, _>(Id(item.uuid()))
                    .bind::<Binary, _>(chat)
                    .bind::<Binary, _>(Id(ParticipantId::uuid(*asker)))
                    .bind::<Bool, _>(*can_be_approval);
                all.extend(close.load::<Id>(connection)?);
            }
        }
        WhichItem::Approval { token, adapters, askers } => {
            for (asker, adapter) in pairs(askers, adapters) {
                let decide = statement!(row::DECIDE => Binary)
                    .bind::<Text, _>(outcome)
                    .bind::<BigInt, _>(at)
                    .bind::<Nullable<Binary>, _>(by)
                    .bind::<Nullable<Binary>, _>(answer)
                    .bind::<Binary, _>(chat)
                    .bind::<Binary, _>(Id(ParticipantId::uuid(asker)))
                    .bind::<Text, _>(token.as_str())
                    .bind::<Text, _>(Adapter::as_str(adapter));
                all.extend(decide.load::<Id>(connection)?);
            }
        }
    }
    Ok(all)
}

/// Names the hold that a stored notice is about.
pub(crate) fn name_hold_on(
    connection: &mut SqliteConnection,
    notice: MessageId,
    subject: SubjectId,
    by: HeldBy,
) -> Result<(), Fault> {
    let name = statement!(row::NAME_HOLD).bind::<Text, _>(hold_token(subject, by));
    name.bind::<Binary, _>(Id(notice.uuid())).execute(connection)?;
    Ok(())
}

/// Ends the notices about holds that ended when a delivery of this message changed.
pub(crate) fn release_on(
    connection: &mut SqliteConnection,
    message: &Message,
    by: HeldBy,
    now: Timestamp,
) -> Result<(), Fault> {
    for token in ended_tokens(message, by) {
        statement!(row::RELEASE).bind::<BigInt, _>(At(now)).bind::<Text, _>(token).execute(connection)?;
    }
    Ok(())
}

/// Erases the items of erased messages.
pub(crate) fn erase_on(connection: &mut SqliteConnection, messages: &[Id]) -> Result<(), Fault> {
    let gone = attention_items::table.filter(attention_items::message_id.eq_any(messages));
    diesel::delete(gone).execute(connection)?;
    Ok(())
}
