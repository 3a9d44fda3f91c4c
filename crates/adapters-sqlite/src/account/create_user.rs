//! Storing a user with its organization and its first key.

use diesel::dsl::{exists, select};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::account::{CreateUserRefused, InitialOrganization, NewUser, User};
use domain::audit::AuditEntry;
use domain::id::{InvitationId, OrganizationId, ParticipantId};
use domain::login::NewIdentity;
use domain::organization::OrganizationRole;

use super::keys;
use super::row::UserRow;
use crate::audit;
use crate::error::Fault;
use crate::login::{identity, password};
use crate::organization::{invitation, member, show};
use crate::plan::assign::{free_name_on, organization_named_on, plan_exists_on};
use crate::row;
use crate::schema::users;

pub(super) fn create_user_on(
    connection: &mut SqliteConnection,
    new: &NewUser,
) -> Result<Result<User, CreateUserRefused>, Fault> {
    let user = &new.user;
    // First, so that a client without an invitation does not learn which names exist.
    if let InitialOrganization::Invited(token) = &new.initial_organization
        && let Err(refused) = invitation::open_for_on(connection, *token, &user.email, user.created_at)?
    {
        return Ok(Err(CreateUserRefused::Invitation(refused)));
    }
    let handle = users::table.filter(users::handle.eq(user.handle.as_str()));
    if select(exists(handle)).get_result(connection)? {
        return Ok(Err(CreateUserRefused::HandleTaken));
    }
    let email = users::table.filter(users::email.eq(&user.email));
    if select(exists(email)).get_result(connection)? {
        return Ok(Err(CreateUserRefused::EmailTaken));
    }
    if let Some(identity) = &new.identity
        && identity::is_taken_on(connection, identity, user.id)?
    {
        return Ok(Err(CreateUserRefused::IdentityTaken));
    }
    if !plan_exists_on(connection, &new.plan)? {
        return Ok(Err(CreateUserRefused::NoSuchPlan));
    }
    let membership = match initial_membership_on(connection, new)? {
        Ok(membership) => membership,
        Err(refused) => return Ok(Err(refused)),
    };
    insert_on(connection, new, membership).map(Ok)
}

/// The store already has a user.
pub(super) struct NotEmpty;

pub(super) fn create_first_user_on(
    connection: &mut SqliteConnection,
    new: &NewUser,
) -> Result<Result<User, NotEmpty>, Fault> {
    if select(exists(users::table.select(users::id))).get_result(connection)? {
        return Ok(Err(NotEmpty));
    }
    match initial_membership_on(connection, new)? {
        Ok(membership) => insert_on(connection, new, membership).map(Ok),
        // An empty store has no invitations.
        Err(_) => Ok(Err(NotEmpty)),
    }
}

/// The organization of a new user.
struct InitialMembership {
    organization: OrganizationId,
    role: OrganizationRole,
    /// Set if it is created with the user, and is the user's own.
    is_own: bool,
    /// The invitation that the user accepts.
    invitation: Option<InvitationId>,
}

fn insert_on(
    connection: &mut SqliteConnection,
    new: &NewUser,
    membership: InitialMembership,
) -> Result<User, Fault> {
    let InitialMembership { organization, role, is_own, invitation } = membership;
    let user = User { organization, organization_role: role, ..new.user.clone() };
    let own = is_own.then(|| row::bytes(organization.uuid()));
    diesel::insert_into(users::table)
        .values((UserRow::of(&user), users::own_organization_id.eq(own)))
        .execute(connection)?;
    if let Some(key) = &new.key {
        keys::insert_on(connection, key, ParticipantId::User(user.id), user.created_at)?;
    }
    if let Some(hash) = &new.password {
        password::insert_on(connection, user.id, hash, user.created_at)?;
    }
    if let Some(invitation) = invitation {
        invitation::accept_on(connection, invitation, user.id, user.created_at)?;
    }
    audit::append_on(connection, [AuditEntry::user_created(new, &user)])?;
    if let Some(new) = NewIdentity::of(new) {
        identity::insert_on(connection, &new)?;
    }
    Ok(user)
}

/// The organization of the user; created if it does not exist.
fn initial_membership_on(
    connection: &mut SqliteConnection,
    new: &NewUser,
) -> Result<Result<InitialMembership, CreateUserRefused>, Fault> {
    let user = &new.user;
    let (organization, role, invitation) = match &new.initial_organization {
        InitialOrganization::Own => {
            let name = free_name_on(connection, user.handle.as_str())?;
            return make_on(connection, new, &name).map(Ok);
        }
        InitialOrganization::Named(name, role) => match organization_named_on(connection, name.as_str())? {
            Some(id) => (OrganizationId::new(row::uuid(&id)?), *role, None),
            None => return make_on(connection, new, name.as_str()).map(Ok),
        },
        InitialOrganization::Invited(token) => {
            match invitation::open_for_on(connection, *token, &user.email, user.created_at)? {
                Ok(found) => (found.organization, found.role, Some(found.id)),
                Err(refused) => return Ok(Err(CreateUserRefused::Invitation(refused))),
            }
        }
    };
    let role = role.on_coming(member::count_on(connection, organization)?);
    Ok(Ok(InitialMembership { organization, role, is_own: false, invitation }))
}

/// Creates an organization of this name for the user.
fn make_on(connection: &mut SqliteConnection, new: &NewUser, name: &str) -> Result<InitialMembership, Fault> {
    let user = &new.user;
    show::insert_on(connection, user.organization, name, &new.plan, user.created_at)?;
    let (organization, role) = (new.user.organization, OrganizationRole::Admin);
    Ok(InitialMembership { organization, role, is_own: true, invitation: None })
}
