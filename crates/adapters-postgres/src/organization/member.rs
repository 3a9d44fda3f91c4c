//! Who belongs to an organization, and what they are there.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::id::{OrganizationId, UserId};
use domain::organization::{Authority, NotAdmin, OrganizationRole};
use uuid::Uuid;

use crate::error::Fault;
use crate::row;
use crate::run::Db;
use crate::schema::users;

/// Whether somebody's word holds. It goes on to, if the organization's people are held
/// ([`people_on`](crate::lock::people_on)).
pub(crate) async fn check_on(db: &Db, by: Authority) -> Result<Result<(), NotAdmin>, Fault> {
    let standing = match by.user() {
        Some(user) => standing_on(db, user).await?,
        None => None,
    };
    Ok(by.check(standing))
}

/// Where a user belongs, and as what.
pub(super) async fn standing_on(
    mut db: &Db,
    user: UserId,
) -> Result<Option<(OrganizationId, OrganizationRole)>, Fault> {
    let found = users::table
        .find(user.uuid())
        .select((users::organization_id, users::organization_role))
        .first::<(Uuid, String)>(&mut db)
        .await
        .optional()?;
    let Some((organization, role)) = found else { return Ok(None) };
    Ok(Some((OrganizationId::new(organization), row::word(&role, OrganizationRole::parse)?)))
}

/// How many members an organization has; nobody comes or goes while names are held.
pub(crate) async fn count_on(mut db: &Db, organization: OrganizationId) -> Result<u64, Fault> {
    let members = users::table.filter(users::organization_id.eq(organization.uuid()));
    Ok(members.count().get_result::<i64>(&mut db).await?.cast_unsigned())
}
