//! Storing a user with its organization and its first key.

use diesel::dsl::{exists, select};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::account::{CreateUserRefused, Membership, NewUser, User};
use domain::audit::AuditEntry;
use domain::id::{OrganizationId, ParticipantId};

use super::keys;
use super::row::UserRow;
use crate::audit;
use crate::error::Fault;
use crate::plan::assign::{free_name_on, organization_named_on, plan_exists_on};
use crate::row;
use crate::schema::{organizations, users};

pub(super) fn create_user_on(
    connection: &mut SqliteConnection,
    new: &NewUser,
) -> Result<Result<User, CreateUserRefused>, Fault> {
    let user = &new.user;
    let handle = users::table.filter(users::handle.eq(user.handle.as_str()));
    if select(exists(handle)).get_result(connection)? {
        return Ok(Err(CreateUserRefused::HandleTaken));
    }
    let email = users::table.filter(users::email.eq(&user.email));
    if select(exists(email)).get_result(connection)? {
        return Ok(Err(CreateUserRefused::EmailTaken));
    }
    if !plan_exists_on(connection, &new.plan)? {
        return Ok(Err(CreateUserRefused::NoSuchPlan));
    }
    insert_on(connection, new).map(Ok)
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
    insert_on(connection, new).map(Ok)
}

fn insert_on(connection: &mut SqliteConnection, new: &NewUser) -> Result<User, Fault> {
    let organization = organization_on(connection, new)?;
    let user = User { organization, ..new.user.clone() };
    diesel::insert_into(users::table).values(UserRow::of(&user)).execute(connection)?;
    keys::insert_on(connection, &new.key, ParticipantId::User(user.id), user.created_at)?;
    audit::append_on(connection, [AuditEntry::user_created(new, &user)])?;
    Ok(user)
}

/// The organization that the user is to belong to; made if it is not there.
fn organization_on(connection: &mut SqliteConnection, new: &NewUser) -> Result<OrganizationId, Fault> {
    let name = match &new.membership {
        Membership::Own => free_name_on(connection, new.user.handle.as_str())?,
        Membership::Named(name) => match organization_named_on(connection, name.as_str())? {
            Some(id) => return Ok(OrganizationId::new(row::uuid(&id)?)),
            None => name.as_str().to_owned(),
        },
    };
    diesel::insert_into(organizations::table)
        .values((
            organizations::id.eq(row::bytes(new.user.organization.uuid())),
            organizations::name.eq(name),
            organizations::plan.eq(new.plan.as_str()),
            organizations::created_at.eq(new.user.created_at.micros()),
        ))
        .execute(connection)?;
    Ok(new.user.organization)
}
