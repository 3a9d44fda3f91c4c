//! The members of an organization and their roles.

use std::collections::HashMap;
use std::slice::from_ref;

use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel::sqlite::{Sqlite, SqliteConnection};
use domain::account::User;
use domain::audit::AuditEntry;
use domain::id::OrganizationId;
use domain::organization::{Authority, Member, NotAdmin, OrganizationRole, Others, SetRole, SetRoleRefused};
use domain::page::{Page, PageRequest, Position};
use domain::time::Timestamp;
use uuid::Uuid;

use super::invitation;
use crate::account::find::user_on;
use crate::account::row::UserRow;
use crate::audit;
use crate::error::Fault;
use crate::plan::list::organization_on;
use crate::row::{self, At, Id};
use crate::schema::{invitations, users};

type Users = users::BoxedQuery<'static, Sqlite>;

fn of(organization: OrganizationId) -> Users {
    let members = users::table.filter(users::organization_id.eq(row::bytes(organization.uuid())));
    members.filter(users::deleted_at.is_null()).into_boxed()
}

/// Checks that `by` has authority over an organization; the operator has it over every organization
/// that was not deleted.
pub(crate) fn check_on(
    connection: &mut SqliteConnection,
    by: Authority,
) -> Result<Result<(), NotAdmin>, Fault> {
    let Some(user) = by.user() else {
        let there = organization_on(connection, &row::bytes(by.organization().uuid()))?;
        return Ok(there.map_or(Err(NotAdmin), |_| Ok(())));
    };
    let user = user_on(connection, user)?;
    Ok(by.check(user.map(|user| (user.organization, user.organization_role))))
}

/// The number of members of an organization.
pub(crate) fn count_on(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
) -> Result<u64, Fault> {
    Ok(of(organization).select(count_star()).get_result::<i64>(connection)?.cast_unsigned())
}

/// The other members of the user's organization.
pub(crate) fn others_on(connection: &mut SqliteConnection, user: &User) -> Result<Others, Fault> {
    let others = || of(user.organization).filter(users::id.ne(row::bytes(user.id.uuid())));
    let admins = others().filter(users::organization_role.eq(OrganizationRole::Admin.as_str()));
    Ok(Others {
        members: others().select(count_star()).get_result::<i64>(connection)?.cast_unsigned(),
        admins: admins.select(count_star()).get_result::<i64>(connection)?.cast_unsigned(),
    })
}

pub(super) fn list_on(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    page: &PageRequest,
) -> Result<Page<Member>, Fault> {
    let total = if page.count { Some(count_on(connection, organization)?) } else { None };
    let mut rows = of(organization);
    if let Some(Position { key, id, .. }) = page.slice.after() {
        // The first condition is redundant; it lets the index scan start at the right row.
        let younger = users::created_at.gt(key);
        let as_old = users::created_at.eq(key).and(users::id.gt(row::bytes(id.uuid())));
        rows = rows.filter(users::created_at.ge(key)).filter(younger.or(as_old));
    }
    let rows = rows
        .order((users::created_at, users::id))
        .limit(i64::from(page.slice.limit()) + 1)
        .offset(page.slice.offset())
        .select(UserRow::as_select())
        .load(connection)?;
    let users = rows.into_iter().map(UserRow::into_user).collect::<Result<Vec<_>, Fault>>()?;
    let accepted = accepted_on(connection, organization, &users)?;
    let rows = users.into_iter().map(|user| into_member(user, &accepted)).collect();
    let position = |one: &Member| Position::at(one.created_at.micros(), one.id);
    Ok(Page::from_overfetch(rows, page, total, position))
}

/// When these users last accepted an invitation to the organization.
fn accepted_on(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    users: &[User],
) -> Result<HashMap<Uuid, Timestamp>, Fault> {
    let users = users.iter().map(|user| Some(Id(user.id.uuid())));
    let accepted = invitations::table
        .filter(invitations::organization_id.eq(row::bytes(organization.uuid())))
        .filter(invitations::accepted_by.eq_any(users))
        .order(invitations::accepted_at)
        .select((invitations::accepted_by, invitations::accepted_at))
        .load::<(Option<Id>, Option<At>)>(connection)?;
    Ok(accepted.into_iter().filter_map(|(by, at)| Some((by?.0, at?.0))).collect())
}

fn into_member(user: User, accepted: &HashMap<Uuid, Timestamp>) -> Member {
    Member {
        joined_at: accepted.get(&user.id.uuid()).copied().unwrap_or(user.created_at),
        id: user.id,
        handle: user.handle,
        name: user.name.full(),
        role: user.organization_role,
        created_at: user.created_at,
    }
}

pub(super) fn set_role_on(
    connection: &mut SqliteConnection,
    command: &SetRole,
) -> Result<Result<Member, SetRoleRefused>, Fault> {
    if check_on(connection, command.by)? == Err(NotAdmin) {
        return Ok(Err(SetRoleRefused::NotAdmin));
    }
    let organization = command.by.organization();
    let found = user_on(connection, command.member)?.filter(|user| user.organization == organization);
    let Some(user) = found else { return Ok(Err(SetRoleRefused::NotFound)) };
    let accepted = accepted_on(connection, organization, from_ref(&user))?;
    if user.organization_role == command.role {
        return Ok(Ok(into_member(user, &accepted)));
    }
    if others_on(connection, &user)?.let_change(user.organization_role, command.role).is_err() {
        return Ok(Err(SetRoleRefused::LastAdmin));
    }
    if command.role == OrganizationRole::Member {
        invitation::revoke_those_of_on(connection, organization, Some(user.id), command.now)?;
    }
    let user = assign_on(connection, user, organization, command.role, command.now)?;
    audit::append_on(connection, [AuditEntry::role_set(command)])?;
    Ok(Ok(into_member(user, &accepted)))
}

/// Stores the new organization of a user, and the role there.
pub(super) fn assign_on(
    connection: &mut SqliteConnection,
    user: User,
    organization: OrganizationId,
    role: OrganizationRole,
    now: Timestamp,
) -> Result<User, Fault> {
    diesel::update(users::table.find(row::bytes(user.id.uuid())))
        .set((
            users::organization_id.eq(row::bytes(organization.uuid())),
            users::organization_role.eq(role.as_str()),
            users::updated_at.eq(now.micros()),
        ))
        .execute(connection)?;
    Ok(User { organization, organization_role: role, updated_at: now, ..user })
}
