//! Which organizations agents work for, and which deliveries are held because of that.

use std::collections::HashMap;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{Binary, Bool, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::delivery::Delivery;
use domain::foreign::{ForeignPolicy, ForeignRepository, OpenWork, Source};
use domain::id::{AgentId, OrganizationId, ParticipantId};
use domain::message::Appended;
use domain::store::StoreError;

use super::cause::BEGUN;
use super::hold;
use super::row::status::PROCESSING;
use crate::SqliteStore;
use crate::chat::row::foreign_policy;
use crate::error::Fault;
use crate::row::{self, Id};
use crate::schema::users;
use crate::statement::statement;

#[async_trait]
impl ForeignRepository for SqliteStore {
    async fn open_work(&self, agent: AgentId) -> Result<Option<OpenWork>, StoreError> {
        self.read(move |connection| open_work_on(connection, agent)).await
    }
}

/// The organization of an agent, its policy, and whether the owner allows it to work for others with all of its rights.
type OfAgent = (OrganizationId, ForeignPolicy, bool);

fn of_agent_on(connection: &mut SqliteConnection, agent: AgentId) -> Result<Option<OfAgent>, Fault> {
    let found = statement!(
        "SELECT organizations.id, foreign_policy, foreign_access FROM agents JOIN users ON users.id = owner_id \
         JOIN organizations ON organizations.id = organization_id WHERE agents.id = ?"
        => (Binary, Nullable<Text>, Bool)
    );
    let found = found
        .bind::<Binary, _>(Id(agent.uuid()))
        .get_result::<(Id, Option<String>, bool)>(connection)
        .optional()?;
    let Some((own, policy, foreign_access)) = found else { return Ok(None) };
    Ok(Some((OrganizationId::new(own.0), foreign_policy(policy.as_deref())?, foreign_access)))
}

/// The organization of a user, or of the owner of an agent.
fn organization_on(
    connection: &mut SqliteConnection,
    who: ParticipantId,
) -> Result<Option<OrganizationId>, Fault> {
    let user = match who {
        ParticipantId::User(user) => user,
        ParticipantId::Agent(agent) => {
            return Ok(of_agent_on(connection, agent)?.map(|(organization, ..)| organization));
        }
    };
    let found = users::table.find(row::bytes(user.uuid())).select(users::organization_id);
    let found = found.get_result::<Vec<u8>>(connection).optional()?;
    found.map(|id| Ok(OrganizationId::new(row::uuid(&id)?))).transpose()
}

fn open_work_on(connection: &mut SqliteConnection, agent: AgentId) -> Result<Option<OpenWork>, Fault> {
    let Some((own, policy, foreign_access)) = of_agent_on(connection, agent)? else { return Ok(None) };
    let sources = statement!(
        "SELECT DISTINCT users.organization_id, CASE WHEN foreign_origin IS NOT NULL THEN chats.organization_id END \
         FROM deliveries INDEXED BY deliveries_at_work \
         CROSS JOIN participants ON participants.chat_id = deliveries.chat_id \
             AND participants.participant_id = deliveries.agent_id AND participants.left_at IS NULL \
         CROSS JOIN chats ON chats.id = deliveries.chat_id AND chats.deleted_at IS NULL \
         CROSS JOIN messages INDEXED BY messages_order ON messages.chat_id = deliveries.chat_id \
             AND messages.sequence = deliveries.sequence \
         LEFT JOIN agents ON agents.id = coalesce(originator_id, sender_id) \
         CROSS JOIN users ON users.id = coalesce(agents.owner_id, originator_id, sender_id) \
         WHERE deliveries.agent_id = ? AND ", BEGUN, " AND ", PROCESSING
        => (Binary, Nullable<Binary>)
    );
    let sources = sources.bind::<Binary, _>(Id(agent.uuid())).load::<(Id, Option<Id>)>(connection)?;
    let organization = |id: Id| OrganizationId::new(id.0);
    let sources = sources.into_iter().map(|(originator, foreign_to)| Source {
        originator: Some(organization(originator)),
        foreign_to: foreign_to.map(organization),
    });
    Ok(Some(OpenWork { own, policy, foreign_access, sources: sources.collect() }))
}

/// The organizations of the agents of a new message, if any organization has an exceeded budget.
pub(super) fn owners_on(
    connection: &mut SqliteConnection,
    appended: &Appended,
) -> Result<HashMap<AgentId, OrganizationId>, Fault> {
    let mut own = HashMap::new();
    if appended.exceeded.as_ref().is_some_and(|exceeded| !exceeded.organizations.is_empty()) {
        for agent in appended.message.deliveries.iter().map(Delivery::agent) {
            own.extend(organization_on(connection, ParticipantId::Agent(agent))?.map(|of| (agent, of)));
        }
    }
    Ok(own)
}

/// Holds those deliveries of a new message that the organizations of their agents have held; `chat` is that of its chat.
pub(super) fn hold_on(
    connection: &mut SqliteConnection,
    appended: &mut Appended,
    chat: Option<OrganizationId>,
) -> Result<(), Fault> {
    let mut own = HashMap::new();
    for delivery in &appended.message.deliveries {
        if let Some((organization, policy, _)) = of_agent_on(connection, delivery.agent())?
            && policy == ForeignPolicy::Hold
        {
            own.insert(delivery.agent(), organization);
        }
    }
    if own.is_empty() {
        return Ok(());
    }
    let sender = appended.message.sender;
    let originator = organization_on(connection, appended.message.place().originator)?;
    let human = if sender.user().is_some() { organization_on(connection, sender)? } else { None };
    if let Some(hold) = appended.hold_foreign(&own, chat, originator, human) {
        hold::record_on(connection, hold, appended.message.created_at)?;
    }
    Ok(())
}
