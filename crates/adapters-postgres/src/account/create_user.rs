//! Storing a user with its organization and its first key.

use diesel::dsl::{exists, select};
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use diesel_async::RunQueryDsl;
use domain::account::{CreateUserRefused, Membership, NewUser, User};
use domain::audit::AuditEntry;
use domain::id::{OrganizationId, ParticipantId};

use super::keys;
use super::row::UserRow;
use crate::audit;
use crate::error::Fault;
use crate::lock;
use crate::plan::assign::{free_name_on, organization_named_on, plan_exists_on};
use crate::row::At;
use crate::run::Db;
use crate::schema::{organizations, users};
use crate::statement::statement;

/// Whether a handle and an address are taken; the values are they.
const TAKEN: &str = "SELECT EXISTS (SELECT 1 FROM users WHERE handle = ?), \
     EXISTS (SELECT 1 FROM users WHERE lower(email) = lower(? COLLATE \"C\"))";

pub(super) async fn create_user_on(
    mut db: &Db,
    new: &NewUser,
) -> Result<Result<User, CreateUserRefused>, Fault> {
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
    if !plan_exists_on(db, &new.plan).await? {
        return Ok(Err(CreateUserRefused::NoSuchPlan));
    }
    insert_on(db, new).await.map(Ok)
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
    insert_on(db, new).await.map(Ok)
}

async fn insert_on(mut db: &Db, new: &NewUser) -> Result<User, Fault> {
    let organization = organization_on(db, new).await?;
    let user = User { organization, ..new.user.clone() };
    diesel::insert_into(users::table).values(UserRow::of(&user)).execute(&mut db).await?;
    keys::insert_on(db, &new.key, ParticipantId::User(user.id), user.created_at).await?;
    audit::append_on(db, [AuditEntry::user_created(new, &user)]).await?;
    Ok(user)
}

/// The organization that the user is to belong to; made if it is not there.
async fn organization_on(mut db: &Db, new: &NewUser) -> Result<OrganizationId, Fault> {
    let name = match &new.membership {
        Membership::Own => free_name_on(db, new.user.handle.as_str()).await?,
        Membership::Named(name) => match organization_named_on(db, name.as_str()).await? {
            Some(id) => return Ok(OrganizationId::new(id)),
            None => name.as_str().to_owned(),
        },
    };
    diesel::insert_into(organizations::table)
        .values((
            organizations::id.eq(new.user.organization.uuid()),
            organizations::name.eq(name),
            organizations::plan.eq(new.plan.as_str()),
            organizations::created_at.eq(At(new.user.created_at)),
        ))
        .execute(&mut db)
        .await?;
    Ok(new.user.organization)
}
