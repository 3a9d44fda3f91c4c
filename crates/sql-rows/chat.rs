//! Chats and memberships as rows. Compiled into each store, whose tables it names.

use diesel::prelude::*;
use domain::account::PersonName;
use domain::chat::{
    Chat, ChatKind, ChatStatus, MemberState, Membership, OwnMembership, Participant, ParticipantStatus, Role,
    Standing,
};
use domain::foreign::ForeignPolicy;
use domain::id::{ChatId, ParticipantId, ParticipantKind, TaskId, UserId};
use domain::message::{MaxHops, MaxPairMessages, RespondWithin};

use crate::error::Fault;
use crate::row::{self, At, Id};
use crate::schema::{chats, participants};

#[derive(Queryable, Selectable)]
#[diesel(table_name = chats)]
pub(crate) struct ChatRow {
    id: Id,
    title: Option<String>,
    task_id: Option<Id>,
    kind: String,
    status: String,
    created_at: At,
    updated_at: At,
    last_message_at: Option<At>,
    respond_within: Option<i32>,
    max_hops: Option<i32>,
}

impl ChatRow {
    pub(crate) fn into_chat(self) -> Result<Chat, Fault> {
        Ok(Chat {
            id: ChatId::new(self.id.0),
            title: self.title,
            task_id: self.task_id.map(|id| TaskId::new(id.0)),
            kind: row::word(&self.kind, ChatKind::parse)?,
            status: row::word(&self.status, ChatStatus::parse)?,
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
            last_message_at: self.last_message_at.map(|at| at.0),
            respond_within: self.respond_within.and_then(respond_within),
            max_hops: self.max_hops.and_then(max_hops),
        })
    }
}

/// The default deadline of a chat with this column.
pub(crate) fn respond_within(column: i32) -> Option<RespondWithin> {
    u32::try_from(column).ok().and_then(RespondWithin::new)
}

/// The column of a default deadline.
pub(crate) fn respond_within_column(within: RespondWithin) -> i32 {
    within.seconds().cast_signed()
}

/// The limit of hops of a chat or an organization with this column.
pub(crate) fn max_hops(column: i32) -> Option<MaxHops> {
    u32::try_from(column).ok().and_then(MaxHops::new)
}

/// The limits of hops and of pairs of an organization, and its policy for messages of others.
pub(crate) type LimitColumns = (Option<i32>, Option<i32>, Option<String>);

/// The policy of an organization with this column.
pub(crate) fn foreign_policy(column: Option<&str>) -> Result<ForeignPolicy, Fault> {
    column.map_or(Ok(ForeignPolicy::default()), |word| row::word(word, ForeignPolicy::parse))
}

/// The limit of pairs of an organization with this column.
pub(crate) fn max_pair_messages(column: i32) -> Option<MaxPairMessages> {
    u32::try_from(column).ok().and_then(MaxPairMessages::new)
}

/// The column of a limit of hops.
pub(crate) fn max_hops_column(max: MaxHops) -> i32 {
    max.get().cast_signed()
}

/// A membership of a viewer, or of a user's own agent.
#[derive(Queryable, QueryableByName, Selectable)]
#[diesel(table_name = participants)]
pub(crate) struct StandingRow {
    pub(crate) chat_id: Id,
    participant_id: Id,
    kind: String,
    role: String,
    status: String,
}

impl StandingRow {
    pub(crate) fn add_to(self, viewer: ParticipantId, standing: &mut Standing) -> Result<(), Fault> {
        let role = row::word(&self.role, Role::parse)?;
        match row::participant_id(&self.kind, self.participant_id.0)? {
            who if who == viewer => {
                let status = row::word(&self.status, ParticipantStatus::parse)?;
                standing.own = Some(Membership { role, status });
            }
            ParticipantId::Agent(agent) => standing.agents.push((agent, role)),
            ParticipantId::User(_) => {}
        }
        Ok(())
    }
}

/// A membership as its participant finds it.
#[derive(Queryable)]
pub(crate) struct OwnMembershipRow {
    kind: String,
    role: String,
    status: String,
    stopped_at: Option<At>,
    agent_paused_at: Option<At>,
    joined_at: At,
    /// The beginning of a pause of the chat's organization.
    paused_at: Option<At>,
}

impl OwnMembershipRow {
    pub(crate) fn into_membership(self) -> Result<OwnMembership, Fault> {
        let is_paused = self.paused_at.is_some() && self.kind == ParticipantKind::Agent.as_str();
        Ok(OwnMembership {
            role: row::word(&self.role, Role::parse)?,
            state: member_state(&self.status, self.stopped_at.is_some(), self.agent_paused_at.is_some())?
                .or_stopped(is_paused),
            joined_at: self.joined_at.0,
        })
    }
}

/// The state of a membership with this status.
pub(crate) fn member_state(status: &str, is_stopped: bool, is_paused: bool) -> Result<MemberState, Fault> {
    Ok(MemberState { status: row::word(status, ParticipantStatus::parse)?, is_stopped, is_paused })
}

#[derive(Queryable)]
pub(crate) struct ParticipantRow {
    pub(crate) participant_id: Id,
    pub(crate) kind: String,
    pub(crate) role: String,
    pub(crate) status: String,
    pub(crate) joined_at: At,
    pub(crate) account_id: Id,
    /// Handle, first name, last name.
    pub(crate) user: Option<(String, String, String)>,
    /// Handle, name, description, kind.
    pub(crate) agent: Option<(String, String, String, String)>,
}

impl ParticipantRow {
    pub(crate) fn into_participant(self) -> Result<Participant, Fault> {
        let id = row::participant_id(&self.kind, self.participant_id.0)?;
        let (name, handle, description, is_external) = match (id.kind(), self.user, self.agent) {
            (ParticipantKind::User, Some((handle, first, last)), _) => {
                (PersonName { first, last }.full(), handle, None, None)
            }
            (ParticipantKind::Agent, _, Some((handle, name, description, kind))) => {
                (name, handle, Some(description), Some(kind == "external"))
            }
            _ => return Err(Fault::Row(format!("the participant {id} without an account"))),
        };
        let owner = match id {
            ParticipantId::User(_) => None,
            ParticipantId::Agent(_) => Some(UserId::new(self.account_id.0)),
        };
        Ok(Participant {
            id,
            name,
            handle,
            description,
            is_external,
            owner,
            role: row::word(&self.role, Role::parse)?,
            status: row::word(&self.status, ParticipantStatus::parse)?,
            joined_at: self.joined_at.0,
        })
    }
}
