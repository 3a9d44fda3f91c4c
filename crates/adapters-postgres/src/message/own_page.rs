//! Pages of an agent's messages in a chat, with its own records: one statement, which also checks the membership.

use diesel::sql_types::{BigInt, Nullable, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::id::{AgentId, ChatId};
use domain::message::Message;
use domain::page::{Order, Page, PageRequest, fitting};

use super::load::{
    MESSAGE, MessageColumns, RecordColumns, assembled_on, position, record_columns, weight_before, weight_of,
};
use super::row::{DeliveryRow, MessageRow, SenderHandle};
use super::sequences::direction;
use crate::error::Fault;
use crate::run::Db;
use crate::statement::Statement;

/// The number of listed messages, and one of them with its record; `None` if there are none.
type Listed = Option<(i64, MessageRow, Option<DeliveryRow>)>;
pub(crate) type ListedColumns = Nullable<(BigInt, MessageColumns, Nullable<RecordColumns>)>;

/// The text of a statement for [`own_page_on`]. `sequences` lists the sequences of the page, and one more; its values come
/// first. Without a membership, there are no rows; the participants of a deleted chat have left it.
pub(crate) fn own_page(sequences: &str, order: Order) -> String {
    let (record, handle) = (record_columns(), SenderHandle::TEXT);
    let (before, direction) = (weight_before(order), direction(order));
    format!(
        "WITH listed AS (SELECT sequence, count(*) OVER () AS number FROM ({sequences}) AS page) \
         SELECT part.* FROM participants LEFT JOIN LATERAL (\
             SELECT messages.number, {MESSAGE}, {handle}, {record} FROM (\
                 SELECT messages.*, listed.number, {before} FROM listed CROSS JOIN LATERAL (SELECT * FROM messages \
                     WHERE messages.chat_id = ? AND messages.sequence = listed.sequence OFFSET 0) AS messages) AS messages \
             LEFT JOIN LATERAL (SELECT * FROM deliveries WHERE deliveries.agent_id = ? \
                 AND deliveries.chat_id = messages.chat_id AND deliveries.sequence = messages.sequence OFFSET 0) \
                 AS deliveries ON TRUE \
             WHERE coalesce(messages.before, 0) <= ?) AS part ON TRUE \
         WHERE participants.chat_id = ? AND participants.participant_id = ? AND participants.left_at IS NULL \
         ORDER BY part.sequence {direction}"
    )
}

/// The page that is listed by a statement of [`own_page`]; `None` if the agent is no participant.
pub(crate) async fn own_page_on(
    mut db: &Db,
    agent: AgentId,
    chat: ChatId,
    page: &PageRequest,
    listed: Statement<'_, ListedColumns>,
) -> Result<Option<Page<Message>>, Fault> {
    let rows = listed
        .bind::<SqlUuid, _>(chat.uuid())
        .bind::<SqlUuid, _>(agent.uuid())
        .bind::<BigInt, _>(i64::try_from(page.max_bytes()).unwrap_or(i64::MAX))
        .bind::<SqlUuid, _>(chat.uuid())
        .bind::<SqlUuid, _>(agent.uuid())
        .load::<Listed>(&mut db)
        .await?;
    if rows.is_empty() {
        return Ok(None);
    }
    let (mut number, mut messages) = (0, Vec::new());
    for (of, message, record) in rows.into_iter().flatten() {
        number = usize::try_from(of).unwrap_or(usize::MAX);
        messages.push((message, record.into_iter().collect()));
    }
    messages.truncate(page.slice.limit() as usize);
    messages.truncate(fitting(page.max_bytes(), messages.iter().map(weight_of)));
    let more = messages.len() < number;
    Ok(Some(Page::part(assembled_on(db, messages).await?, more, None, position)))
}
