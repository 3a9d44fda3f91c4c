//! Users and agents as rows.

use diesel::prelude::*;
use domain::account::{Agent, AgentHandle, AgentKind, PersonName, User, UserHandle, UserRole};
use domain::id::OrganizationId;
use domain::organization::OrganizationRole;
use domain::time::Timestamp;

use crate::error::Fault;
use crate::row;
use crate::schema::{agents, users};

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = users)]
pub(crate) struct UserRow {
    pub(crate) id: Vec<u8>,
    pub(crate) organization_id: Vec<u8>,
    pub(crate) handle: String,
    pub(crate) email: String,
    pub(crate) first_name: String,
    pub(crate) last_name: String,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
    pub(crate) role: String,
    pub(crate) organization_role: String,
    pub(crate) disabled_at: Option<i64>,
}

impl UserRow {
    pub(crate) fn of(user: &User) -> Self {
        Self {
            id: row::bytes(user.id.uuid()),
            organization_id: row::bytes(user.organization.uuid()),
            handle: user.handle.as_str().to_owned(),
            email: user.email.clone(),
            first_name: user.name.first.clone(),
            last_name: user.name.last.clone(),
            created_at: user.created_at.micros(),
            updated_at: user.updated_at.micros(),
            role: user.role.as_str().to_owned(),
            organization_role: user.organization_role.as_str().to_owned(),
            disabled_at: user.disabled_at.map(Timestamp::micros),
        }
    }

    pub(crate) fn into_user(self) -> Result<User, Fault> {
        Ok(User {
            id: row::user_id(&self.id)?,
            organization: OrganizationId::new(row::uuid(&self.organization_id)?),
            organization_role: row::word(&self.organization_role, OrganizationRole::parse)?,
            handle: UserHandle::from_stored(self.handle),
            email: self.email,
            name: PersonName { first: self.first_name, last: self.last_name },
            role: row::word(&self.role, UserRole::parse)?,
            created_at: row::time(self.created_at),
            updated_at: row::time(self.updated_at),
            disabled_at: self.disabled_at.map(row::time),
        })
    }
}

#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = agents, treat_none_as_null = true)]
pub(crate) struct AgentRow {
    pub(crate) id: Vec<u8>,
    pub(crate) owner_id: Vec<u8>,
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
    pub(crate) is_global: bool,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
    pub(crate) disabled_at: Option<i64>,
}

impl AgentRow {
    pub(crate) fn into_agent(self) -> Result<Agent, Fault> {
        Ok(Agent {
            id: row::agent_id(&self.id)?,
            owner: row::user_id(&self.owner_id)?,
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
            is_global: self.is_global,
            created_at: row::time(self.created_at),
            updated_at: row::time(self.updated_at),
            disabled_at: self.disabled_at.map(row::time),
        })
    }
}
