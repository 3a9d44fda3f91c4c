//! Row locks, held to the end of the transaction. Their order is described in [`run`](crate::run).

use diesel::sql_types::{Array, BigInt, Bool, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::id::{AgentId, ChatId, MemoryId, MessageId, OrganizationId, ParticipantId, UserId};
use uuid::Uuid;

use crate::error::Fault;
use crate::run::Db;
use crate::statement::statement;

/// Locked while names are assigned that are unique in the whole store; an arbitrary number.
const NAMES: i64 = 0x7061_726c_6e61_6d65;

/// Locks the handles and e-mail addresses of users, the names of organizations and plans, and the
/// assignment of users to organizations: no user enters or leaves an organization without this
/// lock.
pub(crate) async fn names_on(mut db: &Db) -> Result<(), Fault> {
    statement::<BigInt>("SELECT pg_advisory_xact_lock(?)").bind::<BigInt, _>(NAMES).execute(&mut db).await?;
    Ok(())
}

/// Locks an organization with everything that counts towards its plan: a change of its plan takes
/// this lock, and waits for concurrent additions.
pub(crate) async fn organization_on(db: &Db, organization: Uuid) -> Result<(), Fault> {
    rows_on(db, "SELECT id FROM organizations WHERE id = ANY(?) FOR UPDATE", vec![organization]).await
}

/// Locks several organizations like [`organization_on`].
pub(crate) async fn organizations_on(
    db: &Db,
    organizations: impl IntoIterator<Item = OrganizationId>,
) -> Result<(), Fault> {
    let ids = organizations.into_iter().map(OrganizationId::uuid).collect();
    rows_on(db, "SELECT id FROM organizations WHERE id = ANY(?) ORDER BY id FOR UPDATE", ids).await
}

/// Keeps an organization, its plan, and its members; other transactions can do the same at the same
/// time.
pub(crate) async fn pin_organization_on(db: &Db, organization: OrganizationId) -> Result<(), Fault> {
    let text = "SELECT id FROM organizations WHERE id = ANY(?) FOR KEY SHARE";
    rows_on(db, text, vec![organization.uuid()]).await
}

/// Locks the people of an organization: their roles, its invitations, and its name. Agents and
/// chats can be added meanwhile.
pub(crate) async fn people_on(db: &Db, organization: OrganizationId) -> Result<(), Fault> {
    let text = "SELECT id FROM organizations WHERE id = ANY(?) FOR NO KEY UPDATE";
    rows_on(db, text, vec![organization.uuid()]).await
}

/// Locks every organization with one of these plans like [`organization_on`].
pub(crate) async fn organizations_with_on(mut db: &Db, plans: &[String]) -> Result<(), Fault> {
    let text = "SELECT id FROM organizations WHERE plan = ANY(?) ORDER BY id FOR UPDATE";
    statement::<()>(text).bind::<Array<Text>, _>(plans.to_vec()).execute(&mut db).await?;
    Ok(())
}

/// Locked while a legal hold is placed; an arbitrary number.
const HOLDS: i64 = 0x7061_726c_686f_6c64;

/// Locks legal holds against changes that they may forbid.
pub(crate) async fn holds_on(mut db: &Db) -> Result<(), Fault> {
    statement::<()>("SELECT pg_advisory_xact_lock(?)").bind::<BigInt, _>(HOLDS).execute(&mut db).await?;
    Ok(())
}

/// Keeps legal holds from being placed; other transactions can do the same at the same time. It is the first lock of a
/// transaction.
pub(crate) async fn share_holds_on(mut db: &Db) -> Result<(), Fault> {
    let lock = statement::<()>("SELECT pg_advisory_xact_lock_shared(?)");
    lock.bind::<BigInt, _>(HOLDS).execute(&mut db).await?;
    Ok(())
}

/// Held by the one change that writes to the change log; an arbitrary number.
const CHANGES: i64 = 0x7061_726c_6c6f_6721;

/// Locks the change log. It is the last lock of a transaction, so its holder waits for no other.
pub(crate) async fn change_log_on(mut db: &Db) -> Result<(), Fault> {
    let lock = statement::<BigInt>("SELECT pg_advisory_xact_lock(?)");
    lock.bind::<BigInt, _>(CHANGES).execute(&mut db).await?;
    Ok(())
}

/// Held by the one process that seals the audit log; an arbitrary number.
const AUDIT_CHAIN: i64 = 0x7061_726c_6368_6169;

/// Locks the chain of the audit log, unless it is locked: writers of entries do not wait for it.
pub(crate) async fn audit_chain_on(mut db: &Db) -> Result<bool, Fault> {
    let lock = statement::<Bool>("SELECT pg_try_advisory_xact_lock(?)");
    Ok(lock.bind::<BigInt, _>(AUDIT_CHAIN).get_result::<bool>(&mut db).await?)
}

pub(crate) async fn users_on(db: &Db, users: &[UserId]) -> Result<(), Fault> {
    let ids = users.iter().map(|user| user.uuid()).collect();
    rows_on(db, "SELECT id FROM users WHERE id = ANY(?) ORDER BY id FOR NO KEY UPDATE", ids).await
}

pub(crate) async fn agents_on(db: &Db, agents: &[AgentId]) -> Result<(), Fault> {
    let ids = agents.iter().map(|agent| agent.uuid()).collect();
    rows_on(db, "SELECT id FROM agents WHERE id = ANY(?) ORDER BY id FOR NO KEY UPDATE", ids).await
}

pub(crate) async fn api_keys_on(db: &Db, keys: Vec<Uuid>) -> Result<(), Fault> {
    rows_on(db, "SELECT id FROM api_keys WHERE id = ANY(?) ORDER BY id FOR NO KEY UPDATE", keys).await
}

/// Locks users and agents.
pub(crate) async fn parties_on(db: &Db, parties: &[ParticipantId]) -> Result<(), Fault> {
    let (mut users, mut agents) = (Vec::new(), Vec::new());
    for party in parties {
        match party {
            ParticipantId::User(user) => users.push(*user),
            ParticipantId::Agent(agent) => agents.push(*agent),
        }
    }
    users_on(db, &users).await?;
    agents_on(db, &agents).await
}

/// Keeps an agent from being changed or deleted; other transactions can do the same at the same
/// time.
pub(crate) async fn pin_agent_on(db: &Db, agent: AgentId) -> Result<(), Fault> {
    rows_on(db, "SELECT id FROM agents WHERE id = ANY(?) FOR SHARE", vec![agent.uuid()]).await
}

/// Keeps a participant in a chat; other transactions can do the same at the same time.
pub(crate) async fn pin_participant_on(mut db: &Db, chat: ChatId, who: ParticipantId) -> Result<(), Fault> {
    let text = "SELECT participant_id FROM participants WHERE chat_id = ? AND participant_id = ? FOR SHARE";
    let pin = statement::<SqlUuid>(text).bind::<SqlUuid, _>(chat.uuid()).bind::<SqlUuid, _>(who.uuid());
    pin.execute(&mut db).await?;
    Ok(())
}

/// Locks a user for deletion: the user cannot be changed, nor added to a chat.
pub(crate) async fn lock_user_for_deletion_on(db: &Db, user: UserId) -> Result<(), Fault> {
    rows_on(db, "SELECT id FROM users WHERE id = ANY(?) FOR UPDATE", vec![user.uuid()]).await
}

/// Keeps a user from being deleted; other transactions can do the same at the same time, or change
/// the user.
pub(crate) async fn pin_user_on(db: &Db, user: UserId) -> Result<(), Fault> {
    rows_on(db, "SELECT id FROM users WHERE id = ANY(?) FOR KEY SHARE", vec![user.uuid()]).await
}

/// Locks all chats of a participant, which must be locked before, so that it cannot enter others.
pub(crate) async fn chats_of_on(mut db: &Db, who: ParticipantId) -> Result<(), Fault> {
    let text = "SELECT id FROM chats WHERE id IN (\
         SELECT chat_id FROM participants WHERE participant_id = ? AND left_at IS NULL) \
         ORDER BY id FOR NO KEY UPDATE";
    statement::<()>(text).bind::<SqlUuid, _>(who.uuid()).execute(&mut db).await?;
    Ok(())
}

/// Locks a chat with its contents: every change of participants, texts, or the chat itself takes
/// this lock, except for read markers.
pub(crate) async fn chat_on(db: &Db, chat: ChatId) -> Result<(), Fault> {
    chats_on(db, [chat]).await
}

/// Locks several chats.
pub(crate) async fn chats_on(db: &Db, chats: impl IntoIterator<Item = ChatId>) -> Result<(), Fault> {
    let ids = chats.into_iter().map(ChatId::uuid).collect();
    rows_on(db, "SELECT id FROM chats WHERE id = ANY(?) ORDER BY id FOR NO KEY UPDATE", ids).await
}

/// Locks a message with its delivery records: every change or deletion of it takes this lock.
pub(crate) async fn message_on(db: &Db, message: MessageId) -> Result<(), Fault> {
    messages_on(db, [message]).await
}

/// Locks several messages.
pub(crate) async fn messages_on(db: &Db, messages: impl IntoIterator<Item = MessageId>) -> Result<(), Fault> {
    let ids = messages.into_iter().map(MessageId::uuid).collect();
    rows_on(db, "SELECT id FROM messages WHERE id = ANY(?) ORDER BY id FOR UPDATE", ids).await
}

pub(crate) async fn memory_on(db: &Db, memory: MemoryId) -> Result<(), Fault> {
    rows_on(db, "SELECT id FROM memories WHERE id = ANY(?) FOR NO KEY UPDATE", vec![memory.uuid()]).await
}

async fn rows_on(mut db: &Db, text: &'static str, ids: Vec<Uuid>) -> Result<(), Fault> {
    if !ids.is_empty() {
        statement::<SqlUuid>(text).bind::<Array<SqlUuid>, _>(ids).execute(&mut db).await?;
    }
    Ok(())
}
