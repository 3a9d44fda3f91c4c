//! Which organizations agents work for, and which deliveries are held because of that.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use diesel::sql_types::{Array, Bool, Nullable, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::budget::ExceededBudgets;
use domain::foreign::{ForeignRepository, OpenWork, Source};
use domain::id::{AgentId, OrganizationId, ParticipantId};
use domain::message::{DueHold, Mention, NewMessage};
use domain::store::StoreError;
use domain::time::Timestamp;
use futures_util::FutureExt;
use uuid::Uuid;

use super::batch::DecidedAppends;
use super::row::status::PROCESSING;
use crate::PostgresStore;
use crate::chat::row::foreign_policy;
use crate::error::Fault;
use crate::run::Db;
use crate::statement::statement;

#[async_trait]
impl ForeignRepository for PostgresStore {
    async fn open_work(&self, agent: AgentId) -> Result<Option<OpenWork>, StoreError> {
        self.query(agent, |db, agent| open_work_on(db, *agent).boxed()).await
    }
}

const OF_AGENT: &str = "SELECT organizations.id, organizations.foreign_policy, agents.foreign_access FROM agents \
     JOIN users ON users.id = agents.owner_id JOIN organizations ON organizations.id = users.organization_id \
     WHERE agents.id = ?";

async fn open_work_on(mut db: &Db, agent: AgentId) -> Result<Option<OpenWork>, Fault> {
    let of_agent = statement::<(SqlUuid, Nullable<Text>, Bool)>(OF_AGENT).bind::<SqlUuid, _>(agent.uuid());
    let of_agent = of_agent.load::<(Uuid, Option<String>, bool)>(&mut db).await?.pop();
    let Some((own, policy, foreign_access)) = of_agent else { return Ok(None) };
    let sources = statement::<(SqlUuid, Nullable<SqlUuid>)>(format!(
        "SELECT DISTINCT users.organization_id, \
         CASE WHEN messages.foreign_origin IS NOT NULL THEN chats.organization_id END FROM deliveries \
         JOIN participants ON participants.chat_id = deliveries.chat_id \
         AND participants.participant_id = deliveries.agent_id AND participants.left_at IS NULL \
         JOIN chats ON chats.id = deliveries.chat_id AND chats.deleted_at IS NULL \
         JOIN messages ON messages.chat_id = deliveries.chat_id AND messages.sequence = deliveries.sequence \
         LEFT JOIN agents ON agents.id = coalesce(messages.originator_id, messages.sender_id) \
         JOIN users ON users.id = coalesce(agents.owner_id, messages.originator_id, messages.sender_id) \
         WHERE deliveries.agent_id = ? AND deliveries.processed_at IS NULL AND deliveries.dead_at IS NULL \
         AND deliveries.current_attempt > 0 AND {PROCESSING}"
    ));
    let sources = sources.bind::<SqlUuid, _>(agent.uuid()).load::<(Uuid, Option<Uuid>)>(&mut db).await?;
    let sources = sources.into_iter().map(|(originator, foreign_to)| Source {
        originator: Some(OrganizationId::new(originator)),
        foreign_to: foreign_to.map(OrganizationId::new),
    });
    Ok(Some(OpenWork {
        own: OrganizationId::new(own),
        policy: foreign_policy(policy.as_deref())?,
        foreign_access,
        sources: sources.collect(),
    }))
}

/// Addressed agents, with their organizations.
type Owned = HashMap<AgentId, OrganizationId>;

/// The addressed agents whose organizations may have something held.
#[derive(Debug, Default)]
pub(super) struct Holding {
    /// Those that have the policy to hold.
    pub(super) foreign: Owned,
    /// Those that have an exceeded budget.
    pub(super) over_budget: Owned,
}

impl Holding {
    /// Returns whether this is one of them.
    pub(super) fn contains(&self, agent: AgentId) -> bool {
        self.foreign.contains_key(&agent) || self.over_budget.contains_key(&agent)
    }
}

/// Those of these agents, with whether their organization has the policy. Values: the agents, and twice the
/// organizations that have an exceeded budget ([`over_budget`]). Hardly anything is read while there is no organization
/// of either kind.
pub(super) const HOLDING: &str = "SELECT addressed.id, organizations.id, \
     coalesce(organizations.foreign_policy = 'hold', FALSE) FROM (\
     SELECT mentioned.id, (SELECT organization_id FROM users WHERE users.id = (\
     SELECT owner_id FROM agents WHERE agents.id = mentioned.id)) AS organization_id \
     FROM unnest(?) AS mentioned (id) OFFSET 0) AS addressed \
     JOIN organizations ON organizations.id = addressed.organization_id \
     AND (organizations.foreign_policy = 'hold' OR organizations.id = ANY(?)) \
     WHERE cardinality(?) > 0 \
     OR (SELECT 1 FROM organizations AS any_other WHERE any_other.foreign_policy = 'hold' LIMIT 1) IS NOT NULL";

/// The agents that these messages address.
pub(super) fn addressed<'m>(mentions: impl Iterator<Item = &'m Mention>) -> Vec<Uuid> {
    let agents = mentions.filter_map(Mention::addressed_agent).map(AgentId::uuid);
    agents.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The organizations of which these messages know that they have an exceeded budget.
pub(super) fn over_budget<'m>(known: impl Iterator<Item = &'m Option<Arc<ExceededBudgets>>>) -> Vec<Uuid> {
    let organizations = known.flatten().flat_map(|exceeded| exceeded.organizations.keys());
    organizations.map(|id| id.uuid()).collect::<BTreeSet<_>>().into_iter().collect()
}

pub(super) async fn holding_on(mut db: &Db, news: &[NewMessage]) -> Result<Holding, Fault> {
    let mut holding = Holding::default();
    let agents = addressed(news.iter().flat_map(|new| &new.mentions));
    if agents.is_empty() {
        return Ok(holding);
    }
    let over_budget = over_budget(news.iter().map(|new| &new.exceeded));
    let found = statement::<(SqlUuid, SqlUuid, Bool)>(HOLDING)
        .bind::<Array<SqlUuid>, _>(agents)
        .bind::<Array<SqlUuid>, _>(over_budget.clone())
        .bind::<Array<SqlUuid>, _>(over_budget.clone());
    for (agent, own, has_policy) in found.load::<(Uuid, Uuid, bool)>(&mut db).await? {
        let owned = (AgentId::new(agent), OrganizationId::new(own));
        holding.foreign.extend(has_policy.then_some(owned));
        holding.over_budget.extend(over_budget.contains(&own).then_some(owned));
    }
    Ok(holding)
}

const ORGANIZATIONS: &str = "SELECT who.id, users.organization_id FROM unnest(?) AS who (id) \
     LEFT JOIN agents ON agents.id = who.id JOIN users ON users.id = coalesce(agents.owner_id, who.id)";

/// Decides which deliveries the organizations of their agents have held, and returns what is to be recorded.
pub(super) async fn decide_on(
    mut db: &Db,
    decided: &mut DecidedAppends,
) -> Result<Vec<(DueHold, Timestamp)>, Fault> {
    let DecidedAppends { outcomes, chats, holding: Holding { foreign: holding, .. }, .. } = decided;
    if holding.is_empty() {
        return Ok(Vec::new());
    }
    let messages = outcomes.iter().flatten().map(|appended| &appended.message);
    let parties = messages.flat_map(|message| [message.place().originator, message.sender]);
    let found = statement::<(SqlUuid, SqlUuid)>(ORGANIZATIONS)
        .bind::<Array<SqlUuid>, _>(parties.map(ParticipantId::uuid).collect::<Vec<_>>())
        .load::<(Uuid, Uuid)>(&mut db)
        .await?;
    let organizations = found.into_iter().collect::<HashMap<_, _>>();
    let of = |who: ParticipantId| organizations.get(&who.uuid()).copied().map(OrganizationId::new);
    let mut holds = Vec::new();
    for appended in outcomes.iter_mut().flatten() {
        let (originator, sender) = (appended.message.place().originator, appended.message.sender);
        let human = of(sender).filter(|_| sender.user().is_some());
        let chat = chats.get(&appended.message.chat_id).and_then(|chat| chat.state.organization);
        let hold = appended.hold_foreign(holding, chat, of(originator), human);
        holds.extend(hold.map(|hold| (hold, appended.message.created_at)));
    }
    Ok(holds)
}
