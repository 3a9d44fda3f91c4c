//! Removing a deleted user or agent from every chat.

use diesel::prelude::*;
use diesel::sql_types::{Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::chat::{Chat, Membership, Participant, ParticipantStatus, Role};
use domain::id::ParticipantId;
use domain::time::Timestamp;
use uuid::Uuid;

use crate::chat::row::ChatRow;
use crate::error::Fault;
use crate::row::{self, At};
use crate::run::Db;
use crate::schema::{chats, participants};
use crate::statement::statement;

/// Makes the first of the remaining participants the owner of every chat that the participant alone
/// owns, in the order of [`delete_agent`](domain::account::AgentRepository::delete_agent). The
/// values are the participant, three times.
const APPOINT_OWNERS: &str = "UPDATE participants SET role = 'owner' WHERE (chat_id, participant_id) IN (\
     SELECT own.chat_id, (\
         SELECT next.participant_id FROM participants AS next \
         WHERE next.chat_id = own.chat_id AND next.left_at IS NULL AND next.participant_id <> ? \
         ORDER BY next.role = 'admin' DESC, (next.role <> 'admin' AND next.kind = 'User') DESC, \
             next.joined_at, next.kind = 'User' DESC, next.participant_id \
         LIMIT 1) \
     FROM participants AS own \
     WHERE own.participant_id = ? AND own.left_at IS NULL AND own.role = 'owner' AND NOT EXISTS (\
         SELECT 1 FROM participants AS other \
         WHERE other.chat_id = own.chat_id AND other.left_at IS NULL AND other.participant_id <> ? \
         AND other.role = 'owner'))";

/// Closes the chats without another participant. The values are the time and, twice, the participant.
const CLOSE_EMPTY_CHATS: &str = "UPDATE chats SET status = 'closed', updated_at = ? WHERE id IN (\
     SELECT own.chat_id FROM participants AS own \
     WHERE own.participant_id = ? AND own.left_at IS NULL AND own.role = 'owner' AND NOT EXISTS (\
         SELECT 1 FROM participants AS other \
         WHERE other.chat_id = own.chat_id AND other.left_at IS NULL AND other.participant_id <> ?))";

/// Sets the time of the last change of all chats of the participant. The values are the time and the
/// participant.
const TOUCH_CHATS: &str = "UPDATE chats SET updated_at = ? WHERE id IN (\
     SELECT chat_id FROM participants WHERE participant_id = ? AND left_at IS NULL)";

/// Ends all memberships of the participant. The values are the time and the participant.
const END_MEMBERSHIPS: &str =
    "UPDATE participants SET left_at = ? WHERE participant_id = ? AND left_at IS NULL";

/// Ends every membership of a user or an agent, and returns the chats with the participant as it
/// was there, the newest first. `seen` builds the participant from a membership and its join
/// time. The caller must have locked all these chats; the number of statements does not depend on their
/// number.
pub(super) async fn all_on(
    mut db: &Db,
    who: ParticipantId,
    seen: impl Fn(Membership, Timestamp) -> Participant,
    now: Timestamp,
) -> Result<Vec<(Chat, Participant)>, Fault> {
    let memberships = participants::table
        .inner_join(chats::table)
        .filter(participants::participant_id.eq(who.uuid()))
        .filter(participants::left_at.is_null())
        .filter(chats::deleted_at.is_null())
        .order((participants::chat_created_at.desc(), participants::chat_id.desc()))
        .select((ChatRow::as_select(), participants::role, participants::status, participants::joined_at))
        .load::<(ChatRow, String, String, At)>(&mut db)
        .await?;
    let mut left = Vec::with_capacity(memberships.len());
    for (chat, role, status, joined_at) in memberships {
        let role = row::word(&role, Role::parse)?;
        let status = row::word(&status, ParticipantStatus::parse)?;
        let participant = seen(Membership { role, status }, joined_at.0);
        left.push((Chat { updated_at: now, ..chat.into_chat()? }, participant));
    }
    vacate_on(db, who.uuid(), At(now)).await?;
    Ok(left)
}

/// The first three statements read the memberships that the last one ends.
async fn vacate_on(mut db: &Db, who: Uuid, now: At) -> Result<(), Fault> {
    statement::<()>(APPOINT_OWNERS)
        .bind::<SqlUuid, _>(who)
        .bind::<SqlUuid, _>(who)
        .bind::<SqlUuid, _>(who)
        .execute(&mut db)
        .await?;
    statement::<()>(CLOSE_EMPTY_CHATS)
        .bind::<Timestamptz, _>(now)
        .bind::<SqlUuid, _>(who)
        .bind::<SqlUuid, _>(who)
        .execute(&mut db)
        .await?;
    for text in [TOUCH_CHATS, END_MEMBERSHIPS] {
        let noting = statement::<()>(text).bind::<Timestamptz, _>(now).bind::<SqlUuid, _>(who);
        noting.execute(&mut db).await?;
    }
    Ok(())
}
