//! The agents that a pause concerns.

use diesel::sql_types::{Array, Bool, Nullable, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::control::AgentInChat;
use domain::id::{AgentId, ChatId, ExecutionId, OrganizationId};
use uuid::Uuid;

use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::statement::statement;

/// One seek per pair: the statement is planned while the tables are empty.
const AMONG: &str = "SELECT member.participant_id, member.chat_id, member.joined_at, \
     coalesce(member.stopped_at, member.agent_paused_at, organizations.paused_at) IS NOT NULL \
     FROM unnest(?, ?) AS wanted (agent_id, chat_id) CROSS JOIN LATERAL (\
         SELECT participants.* FROM participants WHERE participants.chat_id = wanted.chat_id \
         AND participants.participant_id = wanted.agent_id AND participants.left_at IS NULL OFFSET 0) AS member \
     CROSS JOIN LATERAL (SELECT organization_id FROM chats WHERE chats.id = member.chat_id \
         AND chats.deleted_at IS NULL OFFSET 0) AS room \
     LEFT JOIN organizations ON organizations.id = room.organization_id \
     WHERE coalesce(?, room.organization_id) IS NOT DISTINCT FROM room.organization_id";

pub(super) async fn memberships_among_on(
    mut db: &Db,
    organization: Option<OrganizationId>,
    agents: &[(AgentId, ChatId)],
) -> Result<Vec<AgentInChat>, Fault> {
    let (agents, chats) =
        agents.iter().map(|(agent, chat)| (agent.uuid(), chat.uuid())).unzip::<_, _, Vec<_>, Vec<_>>();
    let found = statement::<(SqlUuid, SqlUuid, Timestamptz, Bool)>(AMONG)
        .bind::<Array<SqlUuid>, _>(agents)
        .bind::<Array<SqlUuid>, _>(chats)
        .bind::<Nullable<SqlUuid>, _>(organization.map(OrganizationId::uuid))
        .load::<(Uuid, Uuid, At, bool)>(&mut db)
        .await?;
    let one = |(agent, chat, At(joined_at), is_stopped): (Uuid, Uuid, At, bool)| {
        let (agent, chat) = (AgentId::new(agent), ChatId::new(chat));
        AgentInChat { agent, chat, execution: ExecutionId::of(chat, agent, joined_at), is_stopped }
    };
    Ok(found.into_iter().map(one).collect())
}
