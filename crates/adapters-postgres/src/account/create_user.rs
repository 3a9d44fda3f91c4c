//! Storing a user with its organization and its first key.

use diesel::dsl::{exists, select};
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use diesel_async::RunQueryDsl;
use domain::account::{CreateUserRefused, InitialOrganization, NewUser, User};
use domain::audit::AuditEntry;
use domain::id::{InvitationId, OrganizationId, ParticipantId};
use domain::login::NewIdentity;
use domain::organization::{InvitationRefused, OrganizationRole};

use super::keys;
use super::row::UserRow;
use crate::audit;
use crate::error::Fault;
use crate::lock;
use crate::login::{identity, password};
use crate::organization::{invitation, member, show};
use crate::plan::assign::{free_name_on, organization_named_on, plan_exists_on};
use crate::run::Db;
use crate::schema::users;
use crate::statement::statement;

/// Tests whether a handle and an e-mail address are taken, which are the values.
const TAKEN: &str = "SELECT EXISTS (SELECT 1 FROM users WHERE handle = ?), \
     EXISTS (SELECT 1 FROM users WHERE lower(email) = lower(? COLLATE \"C\"))";

pub(super) async fn create_user_on(
    mut db: &Db,
    new: &NewUser,
) -> Result<Result<User, CreateUserRefused>, Fault> {
    // First, so that a client without an invitation does not learn which names exist. Nothing is
    // locked for it yet.
    if let InitialOrganization::Invited(token) = &new.initial_organization {
        let found = invitation::find_on(db, *token).await?.ok_or(InvitationRefused::Unknown);
        let checked = found.and_then(|found| found.check(&new.user.email, new.user.created_at));
        if let Err(refused) = checked {
            return Ok(Err(CreateUserRefused::Invitation(refused)));
        }
    }
    lock::names_on(db).await?;
    let (handle_taken, email_taken) = statement::<(Bool, Bool)>(TAKEN)
        .bind::<Text, _>(new.user.handle.as_str().to_owned())
        .bind::<Text, _>(new.user.email.clone())
        .get_result::<(bool, bool)>(&mut db)
        .await?;
    if handle_taken {
        return Ok(Err(CreateUserRefused::HandleTaken));
    }
    if email_taken {
        return Ok(Err(CreateUserRefused::EmailTaken));
    }
    if let Some(identity) = &new.identity
        && identity::is_taken_on(db, identity, new.user.id).await?
    {
        return Ok(Err(CreateUserRefused::IdentityTaken));
    }
    if !plan_exists_on(db, &new.plan).await? {
        return Ok(Err(CreateUserRefused::NoSuchPlan));
    }
    let membership = match initial_membership_on(db, new).await? {
        Ok(membership) => membership,
        Err(refused) => return Ok(Err(refused)),
    };
    insert_on(db, new, membership).await.map(Ok)
}

/// The store already has a user.
pub(super) struct NotEmpty;

pub(super) async fn create_first_user_on(
    mut db: &Db,
    new: &NewUser,
) -> Result<Result<User, NotEmpty>, Fault> {
    lock::names_on(db).await?;
    if select(exists(users::table.select(users::id))).get_result(&mut db).await? {
        return Ok(Err(NotEmpty));
    }
    match initial_membership_on(db, new).await? {
        Ok(membership) => insert_on(db, new, membership).await.map(Ok),
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

async fn insert_on(mut db: &Db, new: &NewUser, membership: InitialMembership) -> Result<User, Fault> {
    let InitialMembership { organization, role, is_own, invitation } = membership;
    let user = User { organization, organization_role: role, ..new.user.clone() };
    let own = is_own.then_some(organization.uuid());
    diesel::insert_into(users::table)
        .values((UserRow::of(&user), users::own_organization_id.eq(own)))
        .execute(&mut db)
        .await?;
    if let Some(key) = &new.key {
        keys::insert_on(db, key, ParticipantId::User(user.id), user.created_at).await?;
    }
    if let Some(hash) = &new.password {
        password::insert_on(db, user.id, hash, user.created_at).await?;
    }
    if let Some(invitation) = invitation {
        invitation::accept_on(db, invitation, user.id, user.created_at).await?;
    }
    audit::append_on(db, [AuditEntry::user_created(new, &user)]).await?;
    if let Some(new) = NewIdentity::of(new) {
        identity::insert_on(db, &new).await?;
    }
    Ok(user)
}

/// The organization of the user; created if it does not exist. Names are locked.
async fn initial_membership_on(
    db: &Db,
    new: &NewUser,
) -> Result<Result<InitialMembership, CreateUserRefused>, Fault> {
    let user = &new.user;
    let (organization, role, invitation) = match &new.initial_organization {
        InitialOrganization::Own => {
            let name = free_name_on(db, user.handle.as_str()).await?;
            return make_on(db, new, &name).await.map(Ok);
        }
        InitialOrganization::Named(name, role) => match organization_named_on(db, name.as_str()).await? {
            Some(id) => (OrganizationId::new(id), *role, None),
            None => return make_on(db, new, name.as_str()).await.map(Ok),
        },
        InitialOrganization::Invited(token) => {
            match invitation::open_for_on(db, *token, &user.email, user.created_at).await? {
                Ok(found) => (found.organization, found.role, Some(found.id)),
                Err(refused) => return Ok(Err(CreateUserRefused::Invitation(refused))),
            }
        }
    };
    let role = role.on_coming(member::count_on(db, organization).await?);
    Ok(Ok(InitialMembership { organization, role, is_own: false, invitation }))
}

/// Creates an organization of this name for the user.
async fn make_on(db: &Db, new: &NewUser, name: &str) -> Result<InitialMembership, Fault> {
    let user = &new.user;
    show::insert_on(db, user.organization, name, &new.plan, user.created_at).await?;
    let (organization, role) = (new.user.organization, OrganizationRole::Admin);
    Ok(InitialMembership { organization, role, is_own: true, invitation: None })
}
