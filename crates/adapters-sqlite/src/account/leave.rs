//! Removing a deleted user or agent from every chat.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use domain::chat::{Chat, Membership, Participant, ParticipantStatus, Role};
use domain::id::ParticipantId;
use domain::time::Timestamp;

use crate::chat::row::ChatRow;
use crate::error::Fault;
use crate::row;
use crate::schema::{chats, participants};

/// Makes the first of the remaining participants the owner of every chat that `?2` alone owns, in
/// the order of [`delete_agent`](domain::account::AgentRepository::delete_agent).
const APPOINT_OWNERS: &str = "UPDATE participants SET role = 'owner' WHERE (chat_id, participant_id) IN (\
     SELECT own.chat_id, (\
         SELECT next.participant_id FROM participants AS next INDEXED BY participants_of_account \
         WHERE next.chat_id = own.chat_id AND next.left_at IS NULL AND next.participant_id <> ?2 \
         ORDER BY next.role = 'admin' DESC, next.role <> 'admin' AND next.kind = 'User' DESC, \
             next.joined_at, next.kind = 'User' DESC, next.participant_id \
         LIMIT 1) \
     FROM participants AS own INDEXED BY participants_rooms \
     WHERE own.participant_id = ?2 AND own.left_at IS NULL AND own.role = 'owner' AND NOT EXISTS (\
         SELECT 1 FROM participants AS other INDEXED BY participants_of_account \
         WHERE other.chat_id = own.chat_id AND other.left_at IS NULL AND other.participant_id <> ?2 \
         AND other.role = 'owner'))";

/// Closes the chats in which `?2` is the only participant, at `?1`.
const CLOSE_EMPTY_CHATS: &str = "UPDATE chats SET status = 'closed', updated_at = ?1 WHERE id IN (\
     SELECT own.chat_id FROM participants AS own INDEXED BY participants_rooms \
     WHERE own.participant_id = ?2 AND own.left_at IS NULL AND own.role = 'owner' AND NOT EXISTS (\
         SELECT 1 FROM participants AS other INDEXED BY participants_of_account \
         WHERE other.chat_id = own.chat_id AND other.left_at IS NULL AND other.participant_id <> ?2))";

/// Sets the time of the last change of all chats of `?2` to `?1`.
const TOUCH_CHATS: &str = "UPDATE chats SET updated_at = ?1 WHERE id IN (SELECT chat_id \
     FROM participants INDEXED BY participants_rooms WHERE participant_id = ?2 AND left_at IS NULL)";

/// Ends all memberships of `?2` at `?1`.
const END_MEMBERSHIPS: &str = "UPDATE participants INDEXED BY participants_rooms SET left_at = ?1 \
     WHERE participant_id = ?2 AND left_at IS NULL";

/// Ends every membership of a user or an agent, and returns the chats with the participant as it
/// was there, the newest first. `seen` makes the participant of a membership, which began at a
/// time. The number of statements does not depend on the number of chats.
pub(super) fn all_on(
    connection: &mut SqliteConnection,
    who: ParticipantId,
    seen: impl Fn(Membership, Timestamp) -> Participant,
    now: Timestamp,
) -> Result<Vec<(Chat, Participant)>, Fault> {
    let id = row::bytes(who.uuid());
    let memberships = participants::table
        .inner_join(chats::table)
        .filter(participants::participant_id.eq(&id))
        .filter(participants::left_at.is_null())
        .filter(chats::deleted_at.is_null())
        .order((participants::chat_created_at.desc(), participants::chat_id.desc()))
        .select((ChatRow::as_select(), participants::role, participants::status, participants::joined_at))
        .load::<(ChatRow, String, String, i64)>(connection)?;
    let mut left = Vec::with_capacity(memberships.len());
    for (chat, role, status, joined_at) in memberships {
        let role = row::word(&role, Role::parse)?;
        let status = row::word(&status, ParticipantStatus::parse)?;
        let participant = seen(Membership { role, status }, row::time(joined_at));
        left.push((Chat { updated_at: now, ..chat.into_chat()? }, participant));
    }
    // The first three read the memberships that the last one ends.
    for statement in [APPOINT_OWNERS, CLOSE_EMPTY_CHATS, TOUCH_CHATS, END_MEMBERSHIPS] {
        let statement = diesel::sql_query(statement).bind::<BigInt, _>(now.micros());
        statement.bind::<Binary, _>(&id).execute(connection)?;
    }
    Ok(left)
}
