//! Who belongs to an organization, and what they are there.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::id::{OrganizationId, UserId};
use domain::organization::{Authority, NotAdmin, OrganizationRole};

use crate::error::Fault;
use crate::row;
use crate::schema::users;

/// Whether somebody's word holds.
pub(crate) fn check_on(
    connection: &mut SqliteConnection,
    by: Authority,
) -> Result<Result<(), NotAdmin>, Fault> {
    let standing = match by.user() {
        Some(user) => standing_on(connection, user)?,
        None => None,
    };
    Ok(by.check(standing))
}

/// Where a user belongs, and as what.
pub(super) fn standing_on(
    connection: &mut SqliteConnection,
    user: UserId,
) -> Result<Option<(OrganizationId, OrganizationRole)>, Fault> {
    let found = users::table
        .find(row::bytes(user.uuid()))
        .select((users::organization_id, users::organization_role))
        .first::<(Vec<u8>, String)>(connection)
        .optional()?;
    let Some((organization, role)) = found else { return Ok(None) };
    let role = row::word(&role, OrganizationRole::parse)?;
    Ok(Some((OrganizationId::new(row::uuid(&organization)?), role)))
}

/// How many members an organization has.
pub(crate) fn count_on(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
) -> Result<u64, Fault> {
    let members = users::table.filter(users::organization_id.eq(row::bytes(organization.uuid())));
    Ok(members.count().get_result::<i64>(connection)?.cast_unsigned())
}
