//! Chats for operators.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Integer, Nullable, Text};
use domain::chat::{ChatFilter, ChatOverview};
use domain::id::{ChatId, Sequence};
use uuid::Uuid;

use super::row::ChatRow;
use crate::error::Fault;
use crate::row;
use crate::statement::statement;

type SqlOverview = (
    (
        Binary,
        Nullable<Text>,
        Nullable<Binary>,
        Text,
        Text,
        BigInt,
        BigInt,
        Nullable<BigInt>,
        Nullable<Integer>,
        Nullable<Integer>,
    ),
    Nullable<Text>,
    BigInt,
    BigInt,
    BigInt,
    BigInt,
);
type OverviewRow = (ChatRow, Option<String>, i64, i64, i64, i64);

/// The chats before an id that match a condition, newest first. The values are those of the
/// condition, the id, and the limit.
macro_rules! chats_where {
    ($condition:literal) => {
        statement!(
            concat!(
                "SELECT chats.id, chats.title, chats.task_id, chats.kind, chats.status, chats.created_at, \
                 chats.updated_at, chats.last_message_at, chats.respond_within, chats.max_hops, organizations.name, \
                 (SELECT count(*) FROM participants INDEXED BY participants_of_account \
                  WHERE participants.chat_id = chats.id AND participants.left_at IS NULL), \
                 chats.last_sequence, chats.deleted_messages, chats.content_bytes \
                 FROM chats LEFT JOIN organizations ON organizations.id = chats.organization_id \
                 WHERE ",
                $condition,
                " AND chats.id < ? AND chats.deleted_at IS NULL ORDER BY chats.id DESC LIMIT ?"
            ) => SqlOverview
        )
    };
}

pub(super) fn overview_on(
    connection: &mut SqliteConnection,
    filter: ChatFilter,
    before: Option<ChatId>,
    limit: u32,
) -> Result<Vec<ChatOverview>, Fault> {
    let before = row::bytes(before.map_or(Uuid::max(), ChatId::uuid));
    let limit = i64::from(limit);
    let rows: Vec<OverviewRow> = match filter {
        ChatFilter::All => {
            chats_where!("TRUE").bind::<Binary, _>(before).bind::<BigInt, _>(limit).load(connection)?
        }
        ChatFilter::Organization(organization) => chats_where!("chats.organization_id = ?")
            .bind::<Binary, _>(row::bytes(organization.uuid()))
            .bind::<Binary, _>(before)
            .bind::<BigInt, _>(limit)
            .load(connection)?,
        ChatFilter::Participant(who) => chats_where!(
            "chats.id IN (SELECT chat_id FROM participants INDEXED BY participants_rooms \
             WHERE participant_id = ? AND left_at IS NULL)"
        )
        .bind::<Binary, _>(row::bytes(who.uuid()))
        .bind::<Binary, _>(before)
        .bind::<BigInt, _>(limit)
        .load(connection)?,
        ChatFilter::One(chat) => chats_where!("chats.id = ?")
            .bind::<Binary, _>(row::bytes(chat.uuid()))
            .bind::<Binary, _>(before)
            .bind::<BigInt, _>(limit)
            .load(connection)?,
    };
    let overview = |(chat, organization, participants, last_sequence, deleted, bytes): OverviewRow| {
        Ok(ChatOverview {
            chat: chat.into_chat()?,
            organization,
            participants: participants.cast_unsigned(),
            messages: (last_sequence - deleted).cast_unsigned(),
            last_sequence: Sequence::new(last_sequence),
            bytes: bytes.cast_unsigned(),
        })
    };
    rows.into_iter().map(overview).collect()
}
