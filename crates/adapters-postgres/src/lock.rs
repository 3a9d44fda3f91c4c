//! Locks on rows, held to the end of the transaction. In which order they are taken stands in
//! [`run`](crate::run).

use diesel::sql_types::{Array, BigInt, Bool, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::id::{AgentId, ChatId, MemoryId, MessageId, OrganizationId, ParticipantId, UserId};
use uuid::Uuid;

use crate::error::Fault;
use crate::run::Db;
use crate::statement::statement;

/// Held while names are given out that are unique in the whole store; any number that nobody else uses.
const NAMES: i64 = 0x7061_726c_6e61_6d65;

/// Handles and e-mail addresses of users, names of organizations and plans; and who belongs where: nobody comes
/// into an organization or goes without holding this.
pub(crate) async fn names_on(mut db: &Db) -> Result<(), Fault> {
    statement::<BigInt>("SELECT pg_advisory_xact_lock(?)").bind::<BigInt, _>(NAMES).execute(&mut db).await?;
    Ok(())
}

/// An organization with all that counts for its plan: who gives it another one holds this, and waits for whoever
/// is just adding something to it.
pub(crate) async fn organization_on(db: &Db, organization: Uuid) -> Result<(), Fault> {
    rows_on(db, "SELECT id FROM organizations WHERE id = ANY(?) FOR UPDATE", vec![organization]).await
}

/// Several such organizations.
pub(crate) async fn organizations_on(
    db: &Db,
    organizations: impl IntoIterator<Item = OrganizationId>,
) -> Result<(), Fault> {
    let ids = organizations.into_iter().map(OrganizationId::uuid).collect();
    rows_on(db, "SELECT id FROM organizations WHERE id = ANY(?) ORDER BY id FOR UPDATE", ids).await
}

/// Keeps an organization, its plan and who belongs to it; others may do the same meanwhile.
pub(crate) async fn organization_stays_on(db: &Db, organization: OrganizationId) -> Result<(), Fault> {
    let text = "SELECT id FROM organizations WHERE id = ANY(?) FOR KEY SHARE";
    rows_on(db, text, vec![organization.uuid()]).await
}

/// The people of an organization: their roles, its invitations, and its name. Others may add agents and rooms to
/// it meanwhile.
pub(crate) async fn people_on(db: &Db, organization: OrganizationId) -> Result<(), Fault> {
    let text = "SELECT id FROM organizations WHERE id = ANY(?) FOR NO KEY UPDATE";
    rows_on(db, text, vec![organization.uuid()]).await
}

/// Every organization that has one of these plans, as [`organization_on`].
pub(crate) async fn organizations_with_on(mut db: &Db, plans: &[String]) -> Result<(), Fault> {
    let text = "SELECT id FROM organizations WHERE plan = ANY(?) ORDER BY id FOR UPDATE";
    statement::<()>(text).bind::<Array<Text>, _>(plans.to_vec()).execute(&mut db).await?;
    Ok(())
}

/// Held by the one change that writes into the log of changes; any number that nobody else uses.
const CHANGES: i64 = 0x7061_726c_6c6f_6721;

/// The log of changes; the last lock of all, so that whoever has it waits for nobody.
pub(crate) async fn change_log_on(mut db: &Db) -> Result<(), Fault> {
    let lock = statement::<BigInt>("SELECT pg_advisory_xact_lock(?)");
    lock.bind::<BigInt, _>(CHANGES).execute(&mut db).await?;
    Ok(())
}

/// Held by the one that seals the audit log; any number that nobody else uses.
const AUDIT_CHAIN: i64 = 0x7061_726c_6368_6169;

/// The chain of the audit log, if nobody else holds it: whoever writes entries does not wait for it.
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

/// Users and agents.
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

/// Keeps an agent from being changed or deleted; others may do the same meanwhile.
pub(crate) async fn agent_stays_on(db: &Db, agent: AgentId) -> Result<(), Fault> {
    rows_on(db, "SELECT id FROM agents WHERE id = ANY(?) FOR SHARE", vec![agent.uuid()]).await
}

/// A user who is deleted: nobody else changes the user, nor adds them to a chat.
pub(crate) async fn user_goes_on(db: &Db, user: UserId) -> Result<(), Fault> {
    rows_on(db, "SELECT id FROM users WHERE id = ANY(?) FOR UPDATE", vec![user.uuid()]).await
}

/// Keeps a user from being deleted; others may do the same meanwhile, or change the user.
pub(crate) async fn user_stays_on(db: &Db, user: UserId) -> Result<(), Fault> {
    rows_on(db, "SELECT id FROM users WHERE id = ANY(?) FOR KEY SHARE", vec![user.uuid()]).await
}

/// All rooms of a participant; the participant must be held before, so that there cannot be more of them.
pub(crate) async fn rooms_of_on(mut db: &Db, who: ParticipantId) -> Result<(), Fault> {
    let text = "SELECT id FROM chats WHERE id IN (\
         SELECT chat_id FROM participants WHERE participant_id = ? AND left_at IS NULL) \
         ORDER BY id FOR NO KEY UPDATE";
    statement::<()>(text).bind::<SqlUuid, _>(who.uuid()).execute(&mut db).await?;
    Ok(())
}

/// A room with all that is in it: who changes participants, texts or the room itself holds this.
pub(crate) async fn chat_on(db: &Db, chat: ChatId) -> Result<(), Fault> {
    chats_on(db, [chat]).await
}

/// Several such rooms.
pub(crate) async fn chats_on(db: &Db, chats: impl IntoIterator<Item = ChatId>) -> Result<(), Fault> {
    let ids = chats.into_iter().map(ChatId::uuid).collect();
    rows_on(db, "SELECT id FROM chats WHERE id = ANY(?) ORDER BY id FOR NO KEY UPDATE", ids).await
}

/// A message with the records of its deliveries: who changes or deletes it holds this.
pub(crate) async fn message_on(db: &Db, message: MessageId) -> Result<(), Fault> {
    messages_on(db, [message]).await
}

/// Several such messages.
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
