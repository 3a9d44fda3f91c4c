//! Storing a user with its organization and its first key.

use diesel::dsl::{exists, select};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::account::{CreateUserRefused, NewUser, User};

use super::row::UserRow;
use crate::error::Fault;
use crate::row;
use crate::schema::{api_keys, organizations, users};

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
    insert_on(connection, new)?;
    Ok(Ok(user.clone()))
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
    insert_on(connection, new)?;
    Ok(Ok(new.user.clone()))
}

fn insert_on(connection: &mut SqliteConnection, new: &NewUser) -> Result<(), Fault> {
    let user = &new.user;
    let created_at = user.created_at.micros();
    diesel::insert_into(organizations::table)
        .values((
            organizations::id.eq(row::bytes(user.organization.uuid())),
            organizations::name.eq(user.handle.as_str()),
            organizations::created_at.eq(created_at),
        ))
        .execute(connection)?;
    diesel::insert_into(users::table).values(UserRow::of(user)).execute(connection)?;
    diesel::insert_into(api_keys::table)
        .values((
            api_keys::id.eq(row::bytes(new.key.id.uuid())),
            api_keys::digest.eq(new.key.digest.bytes().as_slice()),
            api_keys::user_id.eq(row::bytes(user.id.uuid())),
            api_keys::created_at.eq(created_at),
        ))
        .execute(connection)?;
    Ok(())
}
