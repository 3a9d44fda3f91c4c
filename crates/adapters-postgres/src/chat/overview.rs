//! Chats for operators.

use diesel::sql_types::{BigInt, Nullable, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::chat::{ChatFilter, ChatOverview};
use domain::id::{ChatId, Sequence};
use uuid::Uuid;

use super::load::{CHAT_COLUMNS, SqlChat};
use super::row::ChatRow;
use crate::error::Fault;
use crate::run::Db;
use crate::statement::statement;

type SqlOverview = (SqlChat, Nullable<Text>, BigInt, BigInt, BigInt, BigInt);
type OverviewRow = (ChatRow, Option<String>, i64, i64, i64, i64);

/// The chats before an id that match the condition, newest first. The values are those of the
/// condition, the id, and the limit.
fn text(condition: &str) -> String {
    format!(
        "SELECT {CHAT_COLUMNS}, organizations.name, (SELECT count(*) FROM participants \
         WHERE participants.chat_id = chats.id AND participants.left_at IS NULL), \
         chats.last_sequence, chats.deleted_messages, chats.content_bytes \
         FROM chats LEFT JOIN organizations ON organizations.id = chats.organization_id \
         WHERE {condition} AND chats.id < ? AND chats.deleted_at IS NULL ORDER BY chats.id DESC LIMIT ?"
    )
}

pub(super) async fn overview_on(
    mut db: &Db,
    filter: ChatFilter,
    before: Option<ChatId>,
    limit: u32,
) -> Result<Vec<ChatOverview>, Fault> {
    let (condition, value) = match filter {
        ChatFilter::All => ("TRUE", None),
        ChatFilter::Organization(organization) => ("chats.organization_id = ?", Some(organization.uuid())),
        ChatFilter::Participant(who) => (
            "chats.id IN (SELECT chat_id FROM participants WHERE participant_id = ? AND left_at IS NULL)",
            Some(who.uuid()),
        ),
        ChatFilter::One(chat) => ("chats.id = ?", Some(chat.uuid())),
    };
    let mut asked = statement::<SqlOverview>(text(condition));
    if let Some(value) = value {
        asked = asked.bind::<SqlUuid, _>(value);
    }
    let before = before.map_or(Uuid::max(), ChatId::uuid);
    let asked = asked.bind::<SqlUuid, _>(before).bind::<BigInt, _>(i64::from(limit));
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
    asked.load::<OverviewRow>(&mut db).await?.into_iter().map(overview).collect()
}
