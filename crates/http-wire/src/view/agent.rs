//! Agents as they see themselves and as their owners see them.

use std::collections::BTreeMap;

use domain::account::{Agent, AgentDeletion, Connection, DoorUse, RegisteredAgent};
use domain::delivery::MaxAttempts;
use domain::id::{AgentId, UserId};
use domain::organization::Pause;
use domain::time::Timestamp;
use domain::work::{AgentWork, WorkTotals};
use serde::Serialize;

use super::Shown;
use crate::features::Features;

/// An agent, in the API for humans and the API for agents.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct AgentView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<AgentId>,
    name: &'a str,
    handle: &'a str,
    slug: &'a str,
    description: &'a str,
    bio: Option<&'a str>,
    model_type: Option<&'a str>,
    tags: &'a [String],
    is_external: bool,
    is_global: bool,
    listed_in_directory: bool,
    registry_access: bool,
    shared_with_organization: bool,
    /// Whether the agent may use all of its rights while it works for another organization.
    foreign_access: bool,
    /// The number of attempts after which a message is dead for the agent; null for no limit.
    max_attempts: Option<u32>,
    /// `shared` if its workers may work on a message at the same time, `exclusive` if one attempt at a time claims it.
    claims: &'static str,
    /// Whether the agent is listed for A2A.
    a2a: bool,
    /// Always null: the server stores no prompts.
    #[schema(value_type = Option<String>)]
    system_prompt_id: (),
    /// Picture made from the ID, as SVG; null if the server has no `public_url`.
    avatar_url: Option<String>,
    /// Null unless the agent is paused.
    pause: Option<AgentPauseView<'a>>,
    #[schema(value_type = super::Id)]
    owner_id: Shown<UserId>,
    #[schema(value_type = super::Id)]
    owner_uuid: Shown<UserId>,
    feature_flags: BTreeMap<&'static str, bool>,
    #[schema(value_type = super::Instant)]
    created_at: Shown<Timestamp>,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    #[schema(value_type = super::Instant)]
    updated_at: Shown<Timestamp>,
}

/// A pause of an agent in all of its rooms.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
struct AgentPauseView<'a> {
    #[schema(value_type = super::Instant)]
    since: Shown<Timestamp>,
    /// Null for the agent itself.
    reason: Option<&'a str>,
}

impl<'a> AgentPauseView<'a> {
    fn new(pause: &'a Pause) -> Self {
        Self { since: Shown(pause.since), reason: Some(&pause.reason) }
    }
}

impl<'a> AgentView<'a> {
    /// Shows `agent` to itself: the reason for a pause is meant for people.
    pub fn own(agent: &'a Agent, features: Features) -> Self {
        let pause =
            agent.pause.as_ref().map(|pause| AgentPauseView { reason: None, ..AgentPauseView::new(pause) });
        Self { pause, ..Self::new(agent, features) }
    }

    /// Shows `agent` with the features of the server.
    pub fn new(agent: &'a Agent, features: Features) -> Self {
        Self {
            id: Shown(agent.id),
            name: &agent.name,
            handle: agent.handle.as_str(),
            slug: agent.handle.slug(),
            description: &agent.description,
            bio: agent.bio.as_deref(),
            model_type: agent.model_type.as_deref(),
            tags: &agent.tags,
            is_external: agent.kind.is_external(),
            is_global: agent.is_global,
            listed_in_directory: agent.listed_in_directory,
            registry_access: agent.registry_access,
            shared_with_organization: agent.shared_with_organization,
            foreign_access: agent.foreign_access,
            max_attempts: agent.max_attempts.map(MaxAttempts::get),
            claims: agent.claims.as_str(),
            a2a: agent.a2a,
            system_prompt_id: (),
            avatar_url: features.pictures.map(|server| server.avatar(agent.id)),
            pause: agent.pause.as_ref().map(AgentPauseView::new),
            owner_id: Shown(agent.owner),
            owner_uuid: Shown(agent.owner),
            feature_flags: features.flags(),
            created_at: Shown(agent.created_at),
            inserted_at: Shown(agent.created_at),
            updated_at: Shown(agent.updated_at),
        }
    }
}

/// An agent as its owner sees it, with its connection, its work, and its doors if they were asked for.
#[derive(Serialize, utoipa::ToSchema)]
pub struct OwnedAgentView<'a> {
    #[serde(flatten)]
    agent: AgentView<'a>,
    #[serde(flatten)]
    work: Option<AgentWorkView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doors: Option<Vec<DoorView>>,
}

/// The last use of a way by which the agent and the server reach each other.
#[derive(Serialize, utoipa::ToSchema)]
pub struct DoorView {
    /// What the agent calls (rest, socket, mcp), what the server calls (webhook), or a2a, by which others call
    /// the agent.
    door: &'static str,
    /// The last call that did not fail; for `socket`, the start of the last connection. Null if none is known.
    #[schema(value_type = Option<super::Instant>)]
    called_at: Option<Shown<Timestamp>>,
    /// Null if no failure is known.
    #[schema(value_type = Option<super::Instant>)]
    failed_at: Option<Shown<Timestamp>>,
    failure: Option<DoorFailureView>,
}

/// The last failure of a door.
#[derive(Serialize, utoipa::ToSchema)]
struct DoorFailureView {
    /// An error code of this API, such as `forbidden`; `key_revoked`, `key_expired`; why a socket ended, such as
    /// `connection_lost`, or `join_refused`; for a webhook, `http_503` for this status, or `no_response`.
    code: String,
    /// The failed operation, why a topic was refused, or why a webhook did not respond; null if not known.
    detail: Option<String>,
}

impl DoorView {
    /// Shows the last use of a door.
    pub fn new(last: &DoorUse) -> Self {
        let failure = last.failure.as_ref();
        Self {
            door: last.door.as_str(),
            called_at: last.called_at.map(Shown),
            failed_at: failure.map(|failure| Shown(failure.at)),
            failure: failure.map(|failure| DoorFailureView {
                code: failure.code.to_string(),
                detail: failure.detail.clone(),
            }),
        }
    }
}

/// The connection of an agent, and what it owes.
#[derive(Serialize, utoipa::ToSchema)]
pub struct AgentWorkView {
    /// Set if the agent has an open socket, or if the service runs it.
    #[schema(value_type = bool)]
    connected: Option<bool>,
    /// When one of its keys was last used, as far as that is stored; null if never.
    #[schema(value_type = Option<super::Instant>)]
    last_seen_at: Option<Shown<Timestamp>>,
    /// The time at which its last socket ended; null if that is not known.
    #[schema(value_type = Option<super::Instant>)]
    last_disconnected_at: Option<Shown<Timestamp>>,
    /// Why it ended, such as `client_closed`, `connection_lost`, or `account_ended`.
    last_disconnect_reason: Option<&'static str>,
    /// When it last began to process a message, as far as that is known.
    #[schema(value_type = Option<super::Instant>)]
    last_taken_at: Option<Shown<Timestamp>>,
    /// When it last finished one, as far as that is known.
    #[schema(value_type = Option<super::Instant>)]
    last_finished_at: Option<Shown<Timestamp>>,
    work: WorkTotalsView,
}

/// The number of messages that agents have not processed.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct WorkTotalsView {
    /// All but the dead and the held ones.
    open: u64,
    unanswered: u64,
    stuck: u64,
    failing: u64,
    dead: u64,
    held: u64,
    /// When the oldest open one was written; null if none is open.
    #[schema(value_type = Option<super::Instant>)]
    oldest_at: Option<Shown<Timestamp>>,
}

impl AgentWorkView {
    /// Shows `work`; `connected` says whether the agent is, as far as that is known.
    pub fn new(work: &AgentWork, connected: Option<bool>) -> Self {
        let AgentWork { totals, seen_at, disconnect, taken_at, finished_at, .. } = work;
        Self {
            connected,
            last_seen_at: seen_at.map(Shown),
            last_disconnected_at: disconnect.map(|last| Shown(last.at)),
            last_disconnect_reason: disconnect.map(|last| last.reason.as_str()),
            last_taken_at: taken_at.map(Shown),
            last_finished_at: finished_at.map(Shown),
            work: WorkTotalsView::new(*totals),
        }
    }
}

impl WorkTotalsView {
    /// Shows `totals`.
    pub(super) fn new(totals: WorkTotals) -> Self {
        Self {
            open: totals.open(),
            unanswered: totals.unanswered,
            stuck: totals.stuck,
            failing: totals.failing,
            dead: totals.dead,
            held: totals.held,
            oldest_at: totals.oldest.map(Shown),
        }
    }
}

impl<'a> OwnedAgentView<'a> {
    /// Shows `agent`.
    pub fn new(agent: &'a Agent, features: Features) -> Self {
        Self { agent: AgentView::new(agent, features), work: None, doors: None }
    }

    /// Shows its work too, and whether it is connected.
    pub fn with_work(self, work: &AgentWork, connected: bool) -> Self {
        Self { work: Some(AgentWorkView::new(work, Some(connected))), ..self }
    }

    /// Shows its doors too.
    pub fn with_doors(self, doors: &[DoorUse]) -> Self {
        Self { doors: Some(doors.iter().map(DoorView::new).collect()), ..self }
    }
}

/// A connection of an agent that has ended.
#[derive(Serialize, utoipa::ToSchema)]
pub struct ConnectionView {
    /// Null if the server of the connection has crashed.
    #[schema(value_type = Option<super::Instant>)]
    began_at: Option<Shown<Timestamp>>,
    #[schema(value_type = super::Instant)]
    ended_at: Shown<Timestamp>,
    /// Why it ended, such as `client_closed`, `connection_lost`, or `account_ended`.
    reason: &'static str,
}

impl ConnectionView {
    /// Shows `connection`.
    pub fn new(connection: &Connection) -> Self {
        Self {
            began_at: connection.began_at.map(Shown),
            ended_at: Shown(connection.end.at),
            reason: connection.end.reason.as_str(),
        }
    }
}

/// A new agent and its key. The key is shown only in this response.
#[derive(Serialize, utoipa::ToSchema)]
pub struct RegisteredAgentView<'a> {
    agent: AgentView<'a>,
    credentials: CredentialsView<'a>,
}

/// A new secret for its holder.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct CredentialsView<'a> {
    pub(super) api_key: &'a str,
    /// When the key expires; absent if it never does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<super::Instant>)]
    pub(super) expires_at: Option<Shown<Timestamp>>,
}

impl<'a> RegisteredAgentView<'a> {
    /// Shows `registered`, the secret key included.
    pub fn new(registered: &'a RegisteredAgent, features: Features) -> Self {
        Self {
            agent: AgentView::new(&registered.agent, features),
            credentials: CredentialsView {
                api_key: registered.key.reveal(),
                expires_at: registered.expires_at.map(Shown),
            },
        }
    }
}

/// The deleted agent.
#[derive(Serialize, utoipa::ToSchema)]
pub struct DeletedAgentView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<AgentId>,
    name: &'a str,
    description: &'a str,
    /// Number of rooms whose record of the agent's work was deleted with it.
    executions_deleted: u64,
}

impl<'a> DeletedAgentView<'a> {
    /// Shows what was deleted.
    pub fn new(deletion: &'a AgentDeletion) -> Self {
        let AgentDeletion { agent, executions } = deletion;
        Self {
            id: Shown(agent.id),
            name: &agent.name,
            description: &agent.description,
            executions_deleted: *executions,
        }
    }
}
