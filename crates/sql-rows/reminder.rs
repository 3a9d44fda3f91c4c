//! Reminders as rows. Compiled into each store, whose table it names.

use diesel::prelude::*;
use domain::id::{AccountId, ChatId, MessageId, ParticipantId, ReminderId};
use domain::reminder::{
    Occurrence, Recurrence, Reminder, ReminderEnd, ReminderFailure, ReminderFilter, ReminderState,
};

use crate::error::Fault;
use crate::message::row::{CauseColumns, mentions_column, stored_mentions};
use crate::row::{self, At, Id};
use crate::schema::reminders;

/// What an occurrence or a cancellation changes.
#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = reminders, treat_none_as_null = true)]
pub(super) struct ProgressColumns {
    due_at: At,
    number: i32,
    sent: i32,
    message_id: Option<Id>,
    sent_at: Option<At>,
    failure: Option<String>,
    failed_at: Option<At>,
    outcome: Option<String>,
    ended_at: Option<At>,
    cancelled_by: Option<Id>,
}

/// What its texts follow from.
#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = reminders)]
pub(super) struct CauseOfReminder {
    cause_id: Option<Id>,
    root_id: Option<Id>,
    hop: Option<i32>,
    originator_id: Option<Id>,
    originator_kind: Option<String>,
    ambiguous_cause: Option<bool>,
    traceparent: Option<String>,
}

/// A reminder.
#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = reminders)]
pub(super) struct ReminderRow {
    id: Id,
    chat_id: Id,
    sender_id: Id,
    sender_kind: String,
    sender_handle: String,
    content: String,
    mentions: String,
    created_at: At,
    first_at: At,
    every: Option<String>,
    follows_foreign: bool,
    #[diesel(embed)]
    progress: ProgressColumns,
    #[diesel(embed)]
    cause: CauseOfReminder,
}

impl ProgressColumns {
    pub(super) fn of(reminder: &Reminder) -> Self {
        let number = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
        Self {
            due_at: At(reminder.due.at),
            number: number(reminder.due.number),
            sent: number(reminder.sent),
            message_id: reminder.last_sent.map(|(message, _)| Id(message.uuid())),
            sent_at: reminder.last_sent.map(|(_, at)| At(at)),
            failure: reminder.last_failure.map(|(failure, _)| failure.as_str().to_owned()),
            failed_at: reminder.last_failure.map(|(_, at)| At(at)),
            outcome: reminder.ended.map(|(end, _)| end.as_str().to_owned()),
            ended_at: reminder.ended.map(|(_, at)| At(at)),
            cancelled_by: reminder.cancelled_by.map(|by| Id(by.uuid())),
        }
    }
}

impl ReminderRow {
    pub(super) fn of(reminder: &Reminder) -> Result<Self, Fault> {
        let cause = CauseColumns::of_cause(reminder.cause);
        Ok(Self {
            id: Id(reminder.id.uuid()),
            chat_id: Id(reminder.chat.uuid()),
            sender_id: Id(reminder.sender.uuid()),
            sender_kind: reminder.sender.kind().as_str().to_owned(),
            sender_handle: reminder.sender_handle.clone(),
            content: reminder.content.clone(),
            mentions: mentions_column(&reminder.mentions)?,
            created_at: At(reminder.created_at),
            first_at: At(reminder.first_at),
            every: reminder.every.map(|every| every.to_string()),
            follows_foreign: reminder.follows_foreign,
            progress: ProgressColumns::of(reminder),
            cause: CauseOfReminder {
                cause_id: cause.cause_id,
                root_id: cause.root_id,
                hop: cause.hop,
                originator_id: cause.originator_id,
                originator_kind: cause.originator_kind,
                ambiguous_cause: cause.ambiguous_cause,
                traceparent: reminder.traceparent.map(|at| at.to_string()),
            },
        })
    }

    pub(super) fn into_reminder(self) -> Result<Reminder, Fault> {
        let Self { progress, cause, .. } = self;
        let CauseOfReminder { cause_id, root_id, hop, originator_id, originator_kind, .. } = cause;
        let (ambiguous_cause, traceparent) = (cause.ambiguous_cause, cause.traceparent);
        let cause = CauseColumns {
            cause_id,
            root_id,
            hop,
            originator_id,
            originator_kind,
            ambiguous_cause,
            traceparent,
        };
        let at = |at: Option<At>| at.map(|At(at)| at);
        let every = |text: String| row::word(&text, |text| Recurrence::parse(text).ok());
        let failure = progress.failure.map(|word| row::word(&word, ReminderFailure::parse)).transpose()?;
        let end = progress.outcome.map(|word| row::word(&word, ReminderEnd::parse)).transpose()?;
        Ok(Reminder {
            id: ReminderId::new(self.id.0),
            chat: ChatId::new(self.chat_id.0),
            sender: row::participant_id(&self.sender_kind, self.sender_id.0)?,
            sender_handle: self.sender_handle,
            content: self.content,
            mentions: stored_mentions(&self.mentions)?,
            first_at: self.first_at.0,
            every: self.every.map(every).transpose()?,
            due: Occurrence { at: progress.due_at.0, number: progress.number.unsigned_abs() },
            sent: progress.sent.unsigned_abs(),
            last_sent: progress.message_id.map(|Id(id)| MessageId::new(id)).zip(at(progress.sent_at)),
            last_failure: failure.zip(at(progress.failed_at)),
            traceparent: cause.traceparent()?,
            cause: cause.into_cause()?,
            follows_foreign: self.follows_foreign,
            created_at: self.created_at.0,
            ended: end.zip(at(progress.ended_at)),
            cancelled_by: progress.cancelled_by.map(|Id(id)| AccountId::new(id)),
        })
    }
}

/// The ids of what a viewer sees, in order, with the sizes of the texts; [`bind_list`] binds the values.
pub(super) fn list(viewer: ParticipantId, filter: ReminderFilter, has_position: bool) -> String {
    let is_open = filter.state == Some(ReminderState::Scheduled);
    let state = match filter.state {
        None => "",
        Some(ReminderState::Scheduled) => " AND one.ended_at IS NULL",
        Some(ReminderState::Ended) => " AND one.ended_at IS NOT NULL",
    };
    let chat = if filter.chat.is_some() { " AND one.chat_id = ?" } else { "" };
    let (after, order) = if is_open {
        (" AND (one.due_at, one.id) > (?, ?)", "mine.due_at, mine.id")
    } else {
        (" AND (one.due_at, one.id) < (?, ?)", "mine.due_at DESC, mine.id DESC")
    };
    let after = if has_position { after } else { "" };
    let columns = "one.id, one.due_at, octet_length(one.content) AS weight";
    let some = |from: &str| format!("SELECT {columns} FROM {from}{state}{chat}{after}");
    let mine = match viewer {
        ParticipantId::User(_) => [
            some(
                "participants CROSS JOIN reminders AS one WHERE participants.participant_id = ? \
                 AND participants.left_at IS NULL AND one.chat_id = participants.chat_id",
            ),
            some(
                "agents CROSS JOIN reminders AS one WHERE agents.owner_id = ? AND agents.deleted_at IS NULL \
                 AND one.sender_id = agents.id",
            ),
            some("reminders AS one WHERE one.sender_id = ?"),
        ]
        .join(" UNION "),
        ParticipantId::Agent(_) => some("reminders AS one WHERE one.sender_id = ?"),
    };
    format!(
        "SELECT mine.id, CAST(mine.weight AS bigint) AS weight FROM ({mine}) AS mine ORDER BY {order} LIMIT ?"
    )
}

/// Binds the values of [`list`]. The position is that of the page, and the last value is the maximum number.
macro_rules! bind_list {
    ($query:expr, $viewer:expr, $filter:expr, $position:expr, $limit:expr) => {{
        let mut query = $query;
        let parts = if $viewer.user().is_some() { 3 } else { 1 };
        for _ in 0..parts {
            query = query.bind::<IdType, _>(Id($viewer.uuid()));
            if let Some(chat) = $filter.chat {
                query = query.bind::<IdType, _>(Id(chat.uuid()));
            }
            if let Some(position) = &$position {
                let at = At(Timestamp::from_micros(position.key));
                query = query.bind::<AtType, _>(at).bind::<IdType, _>(Id(position.id.uuid()));
            }
        }
        query.bind::<BigInt, _>($limit)
    }};
}
pub(super) use bind_list;

/// What is due, by time and id. Values: the current time, a place in this order, and the maximum number.
macro_rules! due {
    () => {
        "SELECT id, chat_id, due_at FROM reminders WHERE ended_at IS NULL AND due_at <= ? AND (due_at, id) > (?, ?) \
         ORDER BY due_at, id LIMIT ?"
    };
}
pub(super) use due;

/// The organization of a user who is not disabled. Value: the user.
macro_rules! able_user {
    () => {
        "SELECT organization_id, TRUE FROM users WHERE id = ? AND deleted_at IS NULL AND disabled_at IS NULL"
    };
}
pub(super) use able_user;

/// The organization of an agent that is not disabled, nor its owner, and whether it has a valid key. Values: the current
/// time, and the agent.
macro_rules! able_agent {
    () => {
        "SELECT users.organization_id, EXISTS (SELECT 1 FROM api_keys WHERE api_keys.agent_id = agents.id \
         AND api_keys.revoked_at IS NULL AND (api_keys.expires_at IS NULL OR api_keys.expires_at > ?)) \
         FROM agents JOIN users ON users.id = agents.owner_id WHERE agents.id = ? AND agents.deleted_at IS NULL \
         AND agents.disabled_at IS NULL AND users.deleted_at IS NULL AND users.disabled_at IS NULL"
    };
}
pub(super) use able_agent;

/// Erases the oldest ones of a sender that have ended, so that there is room for one more. Values: the sender, and the
/// number that is kept.
macro_rules! erase_ended {
    () => {
        "DELETE FROM reminders WHERE id IN (SELECT id FROM reminders WHERE sender_id = ? AND ended_at IS NOT NULL \
         ORDER BY ended_at DESC LIMIT 10000 OFFSET ?)"
    };
}
pub(super) use erase_ended;

/// The numbers of open reminders of a sender and of a chat. Values: the sender, and the chat.
macro_rules! counts {
    () => {
        "SELECT (SELECT count(*) FROM reminders WHERE sender_id = ? AND ended_at IS NULL), \
         (SELECT count(*) FROM reminders WHERE chat_id = ? AND ended_at IS NULL)"
    };
}
pub(super) use counts;
