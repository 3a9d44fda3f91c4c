//! Deleting an organization.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::organization::{DeleteOrganization, DeleteOrganizationRefused, deleted_name};
use domain::plan::Organization;
use uuid::Uuid;

use super::{invitation, member};
use crate::error::Fault;
use crate::memory;
use crate::plan::list::organization_on;
use crate::row::At;
use crate::run::Db;
use crate::schema::{budget_levels, budgets, chats, organizations, users};
use crate::webhook::events;
use crate::{audit, legal_hold, lock};

pub(super) async fn delete_on(
    mut db: &Db,
    command: &DeleteOrganization,
) -> Result<Result<Organization, DeleteOrganizationRefused>, Fault> {
    let is_kept = legal_hold::keeps_organization_on(db, command.organization).await?;
    // From here on no user can enter it, and nothing can be added to it.
    lock::names_on(db).await?;
    let id = command.organization.uuid();
    lock::organization_on(db, id).await?;
    let Some(organization) = organization_on(db, id).await? else {
        return Ok(Err(DeleteOrganizationRefused::NotFound));
    };
    if is_kept {
        return Ok(Err(DeleteOrganizationRefused::UnderHold));
    }
    let members = member::count_on(db, organization.id).await?;
    if members > 0 {
        return Ok(Err(DeleteOrganizationRefused::HasMembers(members)));
    }
    let chats = chats::table.filter(chats::organization_id.eq(id)).filter(chats::deleted_at.is_null());
    let chats = chats.count().get_result::<i64>(&mut db).await?.cast_unsigned();
    if chats > 0 {
        return Ok(Err(DeleteOrganizationRefused::HasChats(chats)));
    }
    // While it still has the name, which the entry repeats.
    audit::append_on(db, [AuditEntry::organization_deleted(command)]).await?;
    invitation::revoke_those_of_on(db, organization.id, None, command.now).await?;
    memory::forget_organization_on(db, organization.id).await?;
    events::remove_on(db, organization.id).await?;
    diesel::delete(budgets::table.filter(budgets::organization_id.eq(id))).execute(&mut db).await?;
    let levels = budget_levels::table.filter(budget_levels::organization_id.eq(id));
    diesel::delete(levels).execute(&mut db).await?;
    let owners = users::table.filter(users::own_organization_id.eq(id));
    diesel::update(owners).set(users::own_organization_id.eq(None::<Uuid>)).execute(&mut db).await?;
    diesel::update(organizations::table.find(id))
        .set((
            organizations::name.eq(deleted_name(organization.id)),
            organizations::deleted_at.eq(At(command.now)),
        ))
        .execute(&mut db)
        .await?;
    Ok(Ok(organization))
}
