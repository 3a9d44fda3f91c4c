//! The agents that a pause concerns.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::control::AgentInChat;
use domain::id::{AgentId, ChatId, ExecutionId, OrganizationId};

use crate::error::Fault;
use crate::row::{self, Id};
use crate::statement::statement;

pub(super) fn memberships_among_on(
    connection: &mut SqliteConnection,
    organization: Option<OrganizationId>,
    agents: &[(AgentId, ChatId)],
) -> Result<Vec<AgentInChat>, Fault> {
    let pair = |(agent, chat): &(AgentId, ChatId)| (Id(agent.uuid()).hex(), Id(chat.uuid()).hex());
    let pairs = row::to_json(&agents.iter().map(pair).collect::<Vec<_>>())?;
    let found = statement!(
        "SELECT participants.participant_id, participants.chat_id, participants.joined_at, \
         coalesce(participants.stopped_at, participants.agent_paused_at, organizations.paused_at) IS NOT NULL \
         FROM json_each(?) AS wanted CROSS JOIN participants \
         ON participants.chat_id = unhex(wanted.value ->> 1) \
         AND participants.participant_id = unhex(wanted.value ->> 0) AND participants.left_at IS NULL \
         CROSS JOIN chats ON chats.id = participants.chat_id AND chats.deleted_at IS NULL \
         LEFT JOIN organizations ON organizations.id = chats.organization_id \
         WHERE coalesce(?, chats.organization_id) IS chats.organization_id"
        => (Binary, Binary, BigInt, Bool)
    );
    let organization = organization.map(|id| Id(id.uuid()));
    let found = found.bind::<Text, _>(pairs).bind::<Nullable<Binary>, _>(organization).load::<(
        Vec<u8>,
        Vec<u8>,
        i64,
        bool,
    )>(connection)?;
    let one = |(agent, chat, joined_at, is_stopped): (Vec<u8>, Vec<u8>, i64, bool)| {
        let (agent, chat) = (row::agent_id(&agent)?, row::chat_id(&chat)?);
        let execution = ExecutionId::of(chat, agent, row::time(joined_at));
        Ok(AgentInChat { agent, chat, execution, is_stopped })
    };
    found.into_iter().map(one).collect()
}
