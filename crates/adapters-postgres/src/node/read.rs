//! Reading connections, and recent joins.

use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::chat::Role;
use domain::id::{AgentId, NodeId, ParticipantId, ParticipantKind, UserId};
use domain::node::{Connected, Entrant, EntrantPosition, SocketNumber};
use uuid::Uuid;

use crate::chat::row::ChatRow;
use crate::error::Fault;
use crate::row::{self, At};
use crate::run::Db;
use crate::schema::{chats, participants};
use crate::statement::statement;

const AGENTS: &str = "SELECT agent_id, node_id, number FROM agent_sockets WHERE agent_id = ANY(?) \
     AND EXISTS (SELECT FROM nodes WHERE id = node_id AND ended_at IS NULL)";

const USERS: &str = "SELECT user_id, node_id FROM user_nodes WHERE user_id = ANY(?) \
     AND EXISTS (SELECT FROM nodes WHERE id = node_id AND ended_at IS NULL)";

const AGENTS_BEHIND: &str = "SELECT agent_id, node_id, number FROM agent_sockets WHERE agent_id > ? \
     AND EXISTS (SELECT FROM nodes WHERE id = node_id AND ended_at IS NULL) ORDER BY agent_id LIMIT ?";

const USERS_BEHIND: &str = "SELECT user_id, node_id FROM user_nodes WHERE (user_id, node_id) > (?, ?) \
     AND EXISTS (SELECT FROM nodes WHERE id = node_id AND ended_at IS NULL) \
     ORDER BY user_id, node_id LIMIT ?";

/// One statement per kind, since most queries have one kind; changes between the two are in the
/// change log.
pub(super) async fn whereabouts_on(mut db: &Db, of: &[ParticipantId]) -> Result<Vec<Connected>, Fault> {
    let agents = of.iter().filter_map(|who| who.agent()).map(AgentId::uuid).collect::<Vec<_>>();
    let users = of.iter().filter_map(|who| who.user()).map(UserId::uuid).collect::<Vec<_>>();
    let mut found = Vec::new();
    if !agents.is_empty() {
        let rows = statement::<(SqlUuid, SqlUuid, BigInt)>(AGENTS).bind::<Array<SqlUuid>, _>(agents);
        found.extend(rows.load::<(Uuid, Uuid, i64)>(&mut db).await?.into_iter().map(agent));
    }
    if !users.is_empty() {
        let rows = statement::<(SqlUuid, SqlUuid)>(USERS).bind::<Array<SqlUuid>, _>(users);
        found.extend(rows.load::<(Uuid, Uuid)>(&mut db).await?.into_iter().map(user));
    }
    Ok(found)
}

pub(super) async fn agents_on(
    mut db: &Db,
    after: Option<AgentId>,
    limit: u32,
) -> Result<Vec<Connected>, Fault> {
    let rows = statement::<(SqlUuid, SqlUuid, BigInt)>(AGENTS_BEHIND)
        .bind::<SqlUuid, _>(after.map_or(Uuid::nil(), AgentId::uuid))
        .bind::<BigInt, _>(i64::from(limit));
    Ok(rows.load::<(Uuid, Uuid, i64)>(&mut db).await?.into_iter().map(agent).collect())
}

pub(super) async fn users_on(
    mut db: &Db,
    after: Option<(UserId, NodeId)>,
    limit: u32,
) -> Result<Vec<Connected>, Fault> {
    let nil = Uuid::nil();
    let (user_id, node_id) = after.map_or((nil, nil), |(user, node)| (user.uuid(), node.uuid()));
    let rows = statement::<(SqlUuid, SqlUuid)>(USERS_BEHIND)
        .bind::<SqlUuid, _>(user_id)
        .bind::<SqlUuid, _>(node_id)
        .bind::<BigInt, _>(i64::from(limit));
    Ok(rows.load::<(Uuid, Uuid)>(&mut db).await?.into_iter().map(user).collect())
}

pub(super) async fn entrants_on(
    mut db: &Db,
    after: EntrantPosition,
    limit: u32,
) -> Result<Vec<Entrant>, Fault> {
    let EntrantPosition { entered_at, chat, who } = after;
    let (chat, who) = (chat.uuid(), who.uuid());
    let same_room = participants::chat_id.eq(chat).and(participants::participant_id.gt(who));
    let same_time =
        participants::joined_at.eq(At(entered_at)).and(participants::chat_id.gt(chat).or(same_room));
    let rows = participants::table
        .inner_join(chats::table)
        .filter(participants::left_at.is_null())
        // The condition that the index needs.
        .filter(participants::joined_at.ge(At(entered_at)))
        .filter(participants::joined_at.gt(At(entered_at)).or(same_time))
        .filter(chats::deleted_at.is_null())
        .order((participants::joined_at, participants::chat_id, participants::participant_id))
        .limit(i64::from(limit))
        .select((
            ChatRow::as_select(),
            participants::participant_id,
            participants::kind,
            participants::role,
            participants::joined_at,
        ))
        .load::<(ChatRow, Uuid, String, String, At)>(&mut db)
        .await?;
    let entrant = |(chat, who, kind, role, At(entered_at)): (ChatRow, Uuid, String, String, At)| {
        let who = row::word(&kind, ParticipantKind::parse)?.with_uuid(who);
        let (chat, role) = (chat.into_chat()?, row::word(&role, Role::parse)?);
        Ok(Entrant { entered_at, who, chat, role })
    };
    rows.into_iter().map(entrant).collect()
}

fn agent((agent, node, number): (Uuid, Uuid, i64)) -> Connected {
    let who = ParticipantId::Agent(AgentId::new(agent));
    Connected { who, node: NodeId::new(node), number: Some(SocketNumber(number)) }
}

fn user((user, node): (Uuid, Uuid)) -> Connected {
    Connected { who: ParticipantId::User(UserId::new(user)), node: NodeId::new(node), number: None }
}
