//! Attention items as rows. Compiled into each store, whose tables it names.

use diesel::prelude::*;
use diesel::sql_types::{Bool, Nullable, Text};
use domain::account::PersonName;
use domain::attention::{
    Adapter, AnsweredBy, Asker, AttentionItem, AttentionKind, AttentionOutcome, AttentionSearch,
    AttentionState, SHOWN_APPROVAL_CHARS, SHOWN_CHARS,
};
use domain::id::{ChatId, MessageId, ParticipantId, UserId};

use crate::error::Fault;
use crate::message::row::stored_mentions;
use crate::row::{self, At, AtType, Id, IdType};

/// The row of an item, in its chat.
#[derive(Queryable, QueryableByName)]
pub(super) struct OwnColumns {
    #[diesel(sql_type = IdType)]
    message_id: Id,
    #[diesel(sql_type = IdType)]
    chat_id: Id,
    #[diesel(sql_type = Nullable<Text>)]
    title: Option<String>,
    #[diesel(sql_type = Text)]
    kind: String,
    #[diesel(sql_type = Bool)]
    is_blocking: bool,
    #[diesel(sql_type = Nullable<Text>)]
    adapter: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    token: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    default_answer: Option<String>,
    #[diesel(sql_type = AtType)]
    created_at: At,
    #[diesel(sql_type = Nullable<AtType>)]
    expires_at: Option<At>,
    #[diesel(sql_type = Nullable<Text>)]
    outcome: Option<String>,
    #[diesel(sql_type = Nullable<AtType>)]
    ended_at: Option<At>,
    #[diesel(sql_type = Nullable<IdType>)]
    answer_id: Option<Id>,
}

/// Its message.
#[derive(Queryable, QueryableByName)]
pub(super) struct MessageColumns {
    #[diesel(sql_type = IdType)]
    sender_id: Id,
    #[diesel(sql_type = Text)]
    sender_kind: String,
    #[diesel(sql_type = Text)]
    sender_name: String,
    #[diesel(sql_type = Nullable<Text>)]
    sender_handle: Option<String>,
    #[diesel(sql_type = Text)]
    beginning: String,
    #[diesel(sql_type = Text)]
    mentions: String,
}

/// The user who ended it.
#[derive(Queryable, QueryableByName)]
pub(super) struct UserColumns {
    #[diesel(sql_type = Nullable<IdType>)]
    answered_by: Option<Id>,
    #[diesel(sql_type = Nullable<Text>)]
    user_handle: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    first_name: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    last_name: Option<String>,
}

/// An item as it is shown.
#[derive(Queryable, QueryableByName)]
pub(super) struct ItemRow {
    #[diesel(embed)]
    own: OwnColumns,
    #[diesel(embed)]
    message: MessageColumns,
    #[diesel(embed)]
    user: UserColumns,
}

impl ItemRow {
    pub(super) fn into_item(self) -> Result<AttentionItem, Fault> {
        let Self { own, message, user } = self;
        let adapter = own.adapter.map(|adapter| row::word(&adapter, Adapter::parse)).transpose()?;
        let outcome = own.outcome.map(|word| row::word(&word, AttentionOutcome::parse)).transpose()?;
        let mentions = stored_mentions(&message.mentions)?;
        let name = PersonName {
            first: user.first_name.unwrap_or_default(),
            last: user.last_name.unwrap_or_default(),
        };
        let kind = row::word(&own.kind, AttentionKind::parse)?;
        Ok(AttentionItem {
            message: MessageId::new(own.message_id.0),
            kind,
            is_blocking: own.is_blocking,
            chat: ChatId::new(own.chat_id.0),
            title: own.title,
            sender: Asker {
                id: row::participant_id(&message.sender_kind, message.sender_id.0)?,
                handle: message.sender_handle,
                name: message.sender_name,
            },
            summary: AttentionItem::summary_of(&message.beginning, &mentions, kind.shown_chars()),
            default: own.default_answer,
            approval: adapter.zip(own.token),
            created_at: own.created_at.0,
            expires_at: own.expires_at.map(|at| at.0),
            ended: outcome.zip(own.ended_at.map(|at| at.0)),
            answered_by: user.answered_by.map(|id| AnsweredBy {
                id: UserId::new(id.0),
                handle: user.user_handle.unwrap_or_default(),
                name: name.full(),
            }),
            answer: own.answer_id.map(|id| MessageId::new(id.0)),
        })
    }
}

/// The columns of an [`ItemRow`], of items called `item`. A marker that is cut off at the end is not a mention, so more
/// is read than is shown.
fn shown() -> String {
    format!(
        "SELECT item.message_id, item.chat_id, chats.title, item.kind, item.is_blocking, item.adapter, item.token, \
             item.default_answer, item.created_at, item.expires_at, item.outcome, item.ended_at, item.answer_id, \
             messages.sender_id, messages.sender_kind, messages.sender_name, \
             CASE messages.sender_kind \
                 WHEN 'User' THEN (SELECT sender.handle FROM users AS sender WHERE sender.id = messages.sender_id) \
                 ELSE (SELECT agents.handle FROM agents WHERE agents.id = messages.sender_id) END AS sender_handle, \
             substr(messages.content, 1, CASE item.kind WHEN 'approval' THEN {} ELSE {} END) AS beginning, messages.mentions, \
             item.answered_by, users.handle AS user_handle, users.first_name, users.last_name",
        SHOWN_APPROVAL_CHARS * 4,
        SHOWN_CHARS * 4,
    )
}

/// What belongs to items called `item`.
const JOINED: &str = "CROSS JOIN chats CROSS JOIN messages LEFT JOIN users ON users.id = item.answered_by \
     WHERE chats.id = item.chat_id AND messages.id = item.message_id";

/// Returns whether a list is of open items, which have an order of their own.
fn is_open(search: &AttentionSearch) -> bool {
    search.state == Some(AttentionState::Open)
}

/// The condition of a state. Value: the current time, unless the state is `Answered` or `None`.
fn condition(state: Option<AttentionState>) -> &'static str {
    match state {
        None => "",
        Some(AttentionState::Open) => "AND outcome IS NULL AND (expires_at IS NULL OR expires_at > ?)",
        Some(AttentionState::Answered) => "AND outcome <> 'expired'",
        Some(AttentionState::Expired) => "AND (outcome = 'expired' OR outcome IS NULL AND expires_at <= ?)",
    }
}

/// A list; [`bind_list`] binds the values. In each room of the user, no more items are read than are asked for. `within`
/// makes a join of a room with the first items of a query.
pub(super) fn list(search: &AttentionSearch, within: impl Fn(&str) -> String) -> String {
    let (after, order) = if is_open(search) {
        (
            "AND (is_blocking < ? OR is_blocking = ? AND (created_at, message_id) > (?, ?))",
            "is_blocking DESC, created_at, message_id",
        )
    } else {
        ("AND (created_at, message_id) < (?, ?)", "created_at DESC, message_id DESC")
    };
    let after = if search.after.is_some() { after } else { "" };
    let of_room = format!(
        "FROM attention_items WHERE attention_items.chat_id = participants.chat_id {} {after} ORDER BY {order} LIMIT ?",
        condition(search.state),
    );
    let in_chat = if search.chat.is_some() { "AND participants.chat_id = ?" } else { "" };
    format!(
        "WITH item AS (SELECT item.* FROM participants {} WHERE participants.participant_id = ? \
         AND participants.left_at IS NULL {in_chat} ORDER BY {} LIMIT ?) \
         {} FROM item {JOINED} ORDER BY {}",
        within(&of_room),
        ordered("item", order),
        shown(),
        ordered("item", order),
    )
}

/// The order, of columns of a table.
fn ordered(table: &str, order: &str) -> String {
    order.split(", ").map(|column| format!("{table}.{column}")).collect::<Vec<_>>().join(", ")
}

/// Binds the values of [`list`].
macro_rules! bind_list {
    ($query:expr, $search:expr) => {{
        let (mut query, search) = ($query, $search);
        if matches!(search.state, Some(AttentionState::Open | AttentionState::Expired)) {
            query = query.bind::<AtType, _>(At(search.now));
        }
        if let Some(after) = search.after {
            if search.state == Some(AttentionState::Open) {
                query = query.bind::<Bool, _>(after.is_blocking).bind::<Bool, _>(after.is_blocking);
            }
            query = query.bind::<AtType, _>(At(after.at)).bind::<IdType, _>(Id(after.id.uuid()));
        }
        query = query.bind::<BigInt, _>(i64::from(search.limit)).bind::<IdType, _>(Id(search.user.uuid()));
        if let Some(chat) = search.chat {
            query = query.bind::<IdType, _>(Id(chat.uuid()));
        }
        query.bind::<BigInt, _>(i64::from(search.limit))
    }};
}
pub(super) use bind_list;

/// One item. Values: its id, and a user who takes part in its room.
pub(super) fn one() -> String {
    format!(
        "{} FROM attention_items AS item {JOINED} AND item.message_id = ? \
         AND EXISTS (SELECT 1 FROM participants WHERE participants.chat_id = item.chat_id \
         AND participants.participant_id = ? AND participants.left_at IS NULL)",
        shown()
    )
}

/// Whether an item can be answered. Values: its id, and its chat.
macro_rules! can_be_answered {
    () => {
        "SELECT (outcome IS NULL OR outcome = 'expired') AND kind NOT IN ('deadline', 'held', 'budget') \
         FROM attention_items WHERE message_id = ? AND chat_id = ?"
    };
}
pub(super) use can_be_answered;

/// Inserts an item. Values: its columns before `created_at`, this, and its expiry.
pub(super) const INSERT: &str = "INSERT INTO attention_items (message_id, chat_id, sender_id, kind, is_blocking, adapter, token, \
     default_answer, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// Ends the items of a chat that have expired. Values: the current time, the chat, and the current time.
pub(super) const EXPIRE: &str = "UPDATE attention_items SET outcome = 'expired', ended_at = ? WHERE chat_id = ? AND outcome IS NULL \
     AND expires_at IS NOT NULL AND expires_at <= ?";

/// Ends earlier approval requests with the token of a new one, even expired ones: an answer would be taken for one to
/// the new request. Values: time, chat, sender, and token.
pub(super) const SUPERSEDE: &str = "UPDATE attention_items SET outcome = 'resolved', ended_at = ? WHERE chat_id = ? AND sender_id = ? \
     AND token = ? AND kind = 'approval' AND (outcome IS NULL OR outcome = 'expired')";

/// Ends an item. Values: outcome, time, user, and text; the item, its chat, and its asker; and whether it can be an
/// approval request.
pub(super) const CLOSE: &str = "UPDATE attention_items SET outcome = ?, ended_at = ?, answered_by = ?, answer_id = ? \
     WHERE message_id = ? AND chat_id = ? AND sender_id = ? \
     AND (outcome IS NULL OR outcome = 'expired') AND kind NOT IN ('deadline', 'held', 'budget') \
     AND (kind <> 'approval' OR ?) RETURNING message_id";

/// Ends open approval requests. Values: outcome, time, user, and text; the chat, the asker, the token, and the adapter.
pub(super) const DECIDE: &str = "UPDATE attention_items SET outcome = ?, ended_at = ?, answered_by = ?, answer_id = ? \
     WHERE chat_id = ? AND outcome IS NULL AND kind = 'approval' AND sender_id = ? AND token = ? AND adapter = ? \
     RETURNING message_id";

/// Ends the notices of a hold that has ended, in whatever room: a tree can span several. Values: time and token.
pub(super) const RELEASE: &str = "UPDATE attention_items SET outcome = 'resolved', ended_at = ? \
     WHERE token = ? AND outcome IS NULL AND kind = 'held'";

/// Returns whether a user is of the organization of the room, or of the asking agent's owner. Values: room, asker, user.
macro_rules! may_dismiss {
    () => {
        "SELECT coalesce(users.organization_id = (SELECT chats.organization_id FROM chats WHERE chats.id = ?), FALSE) \
         OR EXISTS (SELECT 1 FROM agents JOIN users AS owner ON owner.id = agents.owner_id \
         WHERE agents.id = ? AND owner.organization_id = users.organization_id) FROM users WHERE users.id = ?"
    };
}
pub(super) use may_dismiss;

/// Names the hold that a notice is about. Values: token, item.
pub(super) const NAME_HOLD: &str = "UPDATE attention_items SET token = ? WHERE message_id = ?";

/// Dismisses an item. Values: time, user, item.
pub(super) const DISMISS: &str = "UPDATE attention_items SET outcome = 'dismissed', ended_at = ?, answered_by = ?, answer_id = NULL \
     WHERE message_id = ? AND (outcome IS NULL OR outcome = 'expired')";

/// Each asker with each adapter.
pub(super) fn pairs(
    askers: &[ParticipantId],
    adapters: &[Adapter],
) -> impl Iterator<Item = (ParticipantId, Adapter)> {
    askers.iter().flat_map(|asker| adapters.iter().map(|adapter| (*asker, *adapter)))
}
