//! Deleting an organization.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::organization::{DeleteOrganization, DeleteOrganizationRefused, deleted_name};
use domain::plan::Organization;

use super::{invitation, member};
use crate::audit;
use crate::error::Fault;
use crate::legal_hold;
use crate::memory;
use crate::plan::list::organization_on;
use crate::row;
use crate::schema::{budget_levels, budgets, chats, organizations, users};
use crate::webhook::events;

pub(super) fn delete_on(
    connection: &mut SqliteConnection,
    command: &DeleteOrganization,
) -> Result<Result<Organization, DeleteOrganizationRefused>, Fault> {
    let id = row::bytes(command.organization.uuid());
    let Some(organization) = organization_on(connection, &id)? else {
        return Ok(Err(DeleteOrganizationRefused::NotFound));
    };
    if legal_hold::keeps_organization_on(connection, organization.id)? {
        return Ok(Err(DeleteOrganizationRefused::UnderHold));
    }
    let members = member::count_on(connection, organization.id)?;
    if members > 0 {
        return Ok(Err(DeleteOrganizationRefused::HasMembers(members)));
    }
    let chats = chats::table.filter(chats::organization_id.eq(&id)).filter(chats::deleted_at.is_null());
    let chats = chats.count().get_result::<i64>(connection)?.cast_unsigned();
    if chats > 0 {
        return Ok(Err(DeleteOrganizationRefused::HasChats(chats)));
    }
    // While it still has the name, which the entry repeats.
    audit::append_on(connection, [AuditEntry::organization_deleted(command)])?;
    invitation::revoke_those_of_on(connection, organization.id, None, command.now)?;
    memory::forget_organization_on(connection, organization.id)?;
    events::remove_on(connection, organization.id)?;
    diesel::delete(budgets::table.filter(budgets::organization_id.eq(&id))).execute(connection)?;
    diesel::delete(budget_levels::table.filter(budget_levels::organization_id.eq(&id)))
        .execute(connection)?;
    let owners = users::table.filter(users::own_organization_id.eq(&id));
    diesel::update(owners).set(users::own_organization_id.eq(None::<Vec<u8>>)).execute(connection)?;
    diesel::update(organizations::table.find(&id))
        .set((
            organizations::name.eq(deleted_name(organization.id)),
            organizations::deleted_at.eq(command.now.micros()),
        ))
        .execute(connection)?;
    Ok(Ok(organization))
}
