//! Users and agents as rows. Compiled into each store, whose tables it names.

use diesel::prelude::*;
use domain::account::{
    Agent, AgentChanges, AgentHandle, AgentKind, AgentMarks, AgentTag, Door, DoorFailure, DoorUse,
    PersonName, User, UserHandle, UserRole,
};
use domain::delivery::{Claims, MaxAttempts};
use domain::id::{AgentId, OrganizationId, UserId};
use domain::organization::OrganizationRole;

use crate::error::Fault;
use crate::plan::row::pause_of;
use crate::row::{self, At, Id};
use crate::schema::{agent_doors, agents, users};

/// What a use of a door changes in the row that is stored: of each pair of times, the later one stays.
pub(super) const DOOR_CONFLICT: &str = " ON CONFLICT (agent_id, door) DO UPDATE SET \
     called_at = CASE WHEN excluded.called_at IS NULL OR agent_doors.called_at >= excluded.called_at \
         THEN agent_doors.called_at ELSE excluded.called_at END, \
     failed_at = CASE WHEN excluded.failed_at IS NULL OR agent_doors.failed_at >= excluded.failed_at \
         THEN agent_doors.failed_at ELSE excluded.failed_at END, \
     failure = CASE WHEN excluded.failed_at IS NULL OR agent_doors.failed_at >= excluded.failed_at \
         THEN agent_doors.failure ELSE excluded.failure END, \
     detail = CASE WHEN excluded.failed_at IS NULL OR agent_doors.failed_at >= excluded.failed_at \
         THEN agent_doors.detail ELSE excluded.detail END";

/// The last use of a door.
#[derive(Queryable, Selectable)]
#[diesel(table_name = agent_doors)]
pub(super) struct DoorRow {
    agent_id: Id,
    door: String,
    called_at: Option<At>,
    failed_at: Option<At>,
    failure: Option<String>,
    detail: Option<String>,
}

impl DoorRow {
    /// Reads it; `None` for a door that only a newer version knows.
    pub(super) fn into_use(self) -> Option<DoorUse> {
        let Self { agent_id: Id(agent), door, called_at, failed_at, failure, detail } = self;
        let called_at = called_at.map(|At(at)| at);
        let failure = failed_at.zip(failure);
        let failure = failure.map(|(At(at), code)| DoorFailure { at, code: code.into(), detail });
        Some(DoorUse { agent: AgentId::new(agent), door: Door::parse(&door)?, called_at, failure })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = users)]
pub(crate) struct UserRow {
    pub(crate) id: Id,
    pub(crate) organization_id: Id,
    pub(crate) handle: String,
    pub(crate) email: String,
    pub(crate) first_name: String,
    pub(crate) last_name: String,
    pub(crate) created_at: At,
    pub(crate) updated_at: At,
    pub(crate) role: String,
    pub(crate) organization_role: String,
    pub(crate) disabled_at: Option<At>,
}

impl UserRow {
    pub(crate) fn of(user: &User) -> Self {
        Self {
            id: Id(user.id.uuid()),
            organization_id: Id(user.organization.uuid()),
            handle: user.handle.as_str().to_owned(),
            email: user.email.clone(),
            first_name: user.name.first.clone(),
            last_name: user.name.last.clone(),
            created_at: At(user.created_at),
            updated_at: At(user.updated_at),
            role: user.role.as_str().to_owned(),
            organization_role: user.organization_role.as_str().to_owned(),
            disabled_at: user.disabled_at.map(At),
        }
    }

    pub(crate) fn into_user(self) -> Result<User, Fault> {
        Ok(User {
            id: UserId::new(self.id.0),
            organization: OrganizationId::new(self.organization_id.0),
            organization_role: row::word(&self.organization_role, OrganizationRole::parse)?,
            handle: UserHandle::from_stored(self.handle),
            email: self.email,
            name: PersonName { first: self.first_name, last: self.last_name },
            role: row::word(&self.role, UserRole::parse)?,
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
            disabled_at: self.disabled_at.map(|At(time)| time),
        })
    }
}

#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = agents, treat_none_as_null = true)]
pub(crate) struct AgentRow {
    pub(crate) id: Id,
    pub(crate) owner_id: Id,
    pub(crate) name: String,
    pub(crate) handle: String,
    pub(crate) description: String,
    pub(crate) kind: String,
    pub(crate) model_type: Option<String>,
    pub(crate) bio: Option<String>,
    pub(crate) tags: String,
    pub(crate) listed_in_directory: bool,
    pub(crate) registry_access: bool,
    pub(crate) shared_with_organization: bool,
    pub(crate) foreign_access: bool,
    pub(crate) is_global: bool,
    pub(crate) max_attempts: Option<i32>,
    pub(crate) created_at: At,
    pub(crate) updated_at: At,
    pub(crate) disabled_at: Option<At>,
    pub(crate) paused_at: Option<At>,
    pub(crate) pause_reason: Option<String>,
    pub(crate) exclusive_claims: bool,
    pub(crate) a2a: bool,
}

impl AgentRow {
    /// Makes the changes of its owner. The pattern names every field, so that none is forgotten.
    pub(crate) fn apply(&mut self, changes: &AgentChanges) -> Result<(), Fault> {
        let AgentChanges {
            name,
            description,
            model_type,
            bio,
            tags,
            listed_in_directory,
            registry_access,
            shared_with_organization,
            foreign_access,
            max_attempts,
            claims,
            a2a,
        } = changes;
        if let Some(name) = name {
            name.as_str().clone_into(&mut self.name);
        }
        if let Some(description) = description {
            description.as_str().clone_into(&mut self.description);
        }
        if let Some(model_type) = model_type {
            self.model_type = model_type.as_ref().map(|model| model.as_str().to_owned());
        }
        if let Some(bio) = bio {
            self.bio = bio.as_ref().map(|bio| bio.as_str().to_owned());
        }
        if let Some(tags) = tags {
            self.tags = row::to_json(&tags.iter().map(AgentTag::as_str).collect::<Vec<_>>())?;
        }
        if let Some(max_attempts) = max_attempts {
            self.max_attempts = max_attempts.map(max_attempts_column);
        }
        set(&mut self.listed_in_directory, *listed_in_directory);
        set(&mut self.registry_access, *registry_access);
        set(&mut self.shared_with_organization, *shared_with_organization);
        set(&mut self.foreign_access, *foreign_access);
        set(&mut self.exclusive_claims, claims.map(Claims::is_exclusive));
        set(&mut self.a2a, *a2a);
        Ok(())
    }

    /// Makes the changes of the operator.
    pub(crate) fn mark(&mut self, marks: AgentMarks) {
        let AgentMarks {
            is_global,
            shared_with_organization,
            listed_in_directory,
            max_attempts,
            claims,
            a2a,
        } = marks;
        if let Some(max_attempts) = max_attempts {
            self.max_attempts = max_attempts.map(max_attempts_column);
        }
        set(&mut self.is_global, is_global);
        set(&mut self.shared_with_organization, shared_with_organization);
        set(&mut self.listed_in_directory, listed_in_directory);
        set(&mut self.exclusive_claims, claims.map(Claims::is_exclusive));
        set(&mut self.a2a, a2a);
    }

    pub(crate) fn into_agent(self) -> Result<Agent, Fault> {
        Ok(Agent {
            id: AgentId::new(self.id.0),
            owner: UserId::new(self.owner_id.0),
            name: self.name,
            handle: AgentHandle::from_stored(self.handle),
            description: self.description,
            kind: row::word(&self.kind, AgentKind::parse)?,
            model_type: self.model_type,
            bio: self.bio,
            tags: row::json(&self.tags)?,
            listed_in_directory: self.listed_in_directory,
            registry_access: self.registry_access,
            shared_with_organization: self.shared_with_organization,
            foreign_access: self.foreign_access,
            is_global: self.is_global,
            max_attempts: self.max_attempts.map(max_attempts).transpose()?,
            claims: Claims::of(self.exclusive_claims),
            a2a: self.a2a,
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
            disabled_at: self.disabled_at.map(|At(time)| time),
            pause: pause_of((self.paused_at, self.pause_reason)),
        })
    }
}

fn max_attempts_column(max: MaxAttempts) -> i32 {
    i32::try_from(max.get()).unwrap_or(i32::MAX)
}

/// The columns of an agent that its steps depend on.
#[derive(Queryable, Clone, Copy, Default)]
pub(crate) struct StepSettings {
    max_attempts: Option<i32>,
    exclusive_claims: bool,
}

impl StepSettings {
    /// The settings as values of the domain.
    pub(crate) fn into_settings(self) -> Result<(Option<MaxAttempts>, Claims), Fault> {
        Ok((self.max_attempts.map(max_attempts).transpose()?, Claims::of(self.exclusive_claims)))
    }
}

/// The column `max_attempts`.
fn max_attempts(column: i32) -> Result<MaxAttempts, Fault> {
    let max = u32::try_from(column).ok().and_then(MaxAttempts::new);
    max.ok_or_else(|| Fault::Row(format!("{column} attempts")))
}

fn set(flag: &mut bool, wanted: Option<bool>) {
    *flag = wanted.unwrap_or(*flag);
}
