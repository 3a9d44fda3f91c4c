//! The members of an organization and their roles.

use std::collections::HashMap;
use std::slice::from_ref;

use diesel::dsl::count_star;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::account::User;
use domain::audit::AuditEntry;
use domain::id::OrganizationId;
use domain::organization::{Authority, Member, NotAdmin, OrganizationRole, Others, SetRole, SetRoleRefused};
use domain::page::{Page, PageRequest, Position};
use domain::time::Timestamp;
use futures_util::future::try_join;
use uuid::Uuid;

use super::invitation;
use crate::account::find::user_on;
use crate::account::row::UserRow;
use crate::audit;
use crate::error::Fault;
use crate::lock;
use crate::plan::list::organization_on;
use crate::row::At;
use crate::run::Db;
use crate::schema::{invitations, users};

type Users = users::BoxedQuery<'static, Pg>;

fn of(organization: OrganizationId) -> Users {
    let members = users::table.filter(users::organization_id.eq(organization.uuid()));
    members.filter(users::deleted_at.is_null()).into_boxed()
}

/// Checks that `by` has authority over an organization; the operator has it over every organization
/// that was not deleted. The result stays valid if the organization's people are locked
/// ([`people_on`](crate::lock::people_on)).
pub(crate) async fn check_on(db: &Db, by: Authority) -> Result<Result<(), NotAdmin>, Fault> {
    let Some(user) = by.user() else {
        let there = organization_on(db, by.organization().uuid()).await?;
        return Ok(there.map_or(Err(NotAdmin), |_| Ok(())));
    };
    let user = user_on(db, user).await?;
    Ok(by.check(user.map(|user| (user.organization, user.organization_role))))
}

/// The number of members of an organization; it cannot change while names are locked.
pub(crate) async fn count_on(mut db: &Db, organization: OrganizationId) -> Result<u64, Fault> {
    Ok(of(organization).select(count_star()).first::<i64>(&mut db).await?.cast_unsigned())
}

/// The other members of the user's organization; their roles cannot change while the organization's
/// people are locked.
pub(crate) async fn others_on(mut db: &Db, user: &User) -> Result<Others, Fault> {
    let others = || of(user.organization).filter(users::id.ne(user.id.uuid()));
    let admins = others().filter(users::organization_role.eq(OrganizationRole::Admin.as_str()));
    Ok(Others {
        members: others().select(count_star()).first::<i64>(&mut db).await?.cast_unsigned(),
        admins: admins.select(count_star()).first::<i64>(&mut db).await?.cast_unsigned(),
    })
}

pub(super) async fn list_on(
    db: &Db,
    organization: OrganizationId,
    page: &PageRequest,
) -> Result<Page<Member>, Fault> {
    let total = async { Ok(if page.count { Some(count_on(db, organization).await?) } else { None }) };
    let (total, rows) = try_join(total, page_on(db, organization, page)).await?;
    let users = rows.into_iter().map(UserRow::into_user).collect::<Result<Vec<_>, Fault>>()?;
    let accepted = accepted_on(db, organization, &users).await?;
    let rows = users.into_iter().map(|user| into_member(user, &accepted)).collect();
    let position = |one: &Member| Position::at(one.created_at.micros(), one.id);
    Ok(Page::from_overfetch(rows, page, total, position))
}

/// When these users last accepted an invitation to the organization.
async fn accepted_on(
    mut db: &Db,
    organization: OrganizationId,
    users: &[User],
) -> Result<HashMap<Uuid, Timestamp>, Fault> {
    let users = users.iter().map(|user| user.id.uuid()).collect::<Vec<_>>();
    let accepted = invitations::table
        .filter(invitations::organization_id.eq(organization.uuid()))
        .filter(invitations::accepted_by.eq_any(users))
        .order(invitations::accepted_at)
        .select((invitations::accepted_by, invitations::accepted_at))
        .load::<(Option<Uuid>, Option<At>)>(&mut db)
        .await?;
    Ok(accepted.into_iter().filter_map(|(by, at)| Some((by?, at?.0))).collect())
}

async fn page_on(
    mut db: &Db,
    organization: OrganizationId,
    page: &PageRequest,
) -> Result<Vec<UserRow>, Fault> {
    let mut rows = of(organization);
    if let Some(Position { key, id, .. }) = page.slice.after() {
        let key = At(Timestamp::from_micros(key));
        // The first condition is redundant; it lets the index scan start at the right row.
        let younger = users::created_at.gt(key);
        let as_old = users::created_at.eq(key).and(users::id.gt(id.uuid()));
        rows = rows.filter(users::created_at.ge(key)).filter(younger.or(as_old));
    }
    let rows = rows
        .order((users::created_at, users::id))
        .limit(i64::from(page.slice.limit()) + 1)
        .offset(page.slice.offset())
        .select(UserRow::as_select());
    Ok(rows.load(&mut db).await?)
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

pub(super) async fn set_role_on(db: &Db, command: &SetRole) -> Result<Result<Member, SetRoleRefused>, Fault> {
    let organization = command.by.organization();
    lock::people_on(db, organization).await?;
    if check_on(db, command.by).await? == Err(NotAdmin) {
        return Ok(Err(SetRoleRefused::NotAdmin));
    }
    let found = user_on(db, command.member).await?.filter(|user| user.organization == organization);
    let Some(user) = found else { return Ok(Err(SetRoleRefused::NotFound)) };
    let accepted = accepted_on(db, organization, from_ref(&user)).await?;
    if user.organization_role == command.role {
        return Ok(Ok(into_member(user, &accepted)));
    }
    if others_on(db, &user).await?.let_change(user.organization_role, command.role).is_err() {
        return Ok(Err(SetRoleRefused::LastAdmin));
    }
    if command.role == OrganizationRole::Member {
        invitation::revoke_those_of_on(db, organization, Some(user.id), command.now).await?;
    }
    let user = assign_on(db, user, organization, command.role, command.now).await?;
    audit::append_on(db, [AuditEntry::role_set(command)]).await?;
    Ok(Ok(into_member(user, &accepted)))
}

/// Stores the new organization of a user, and the role there.
pub(super) async fn assign_on(
    mut db: &Db,
    user: User,
    organization: OrganizationId,
    role: OrganizationRole,
    now: Timestamp,
) -> Result<User, Fault> {
    diesel::update(users::table.find(user.id.uuid()))
        .set((
            users::organization_id.eq(organization.uuid()),
            users::organization_role.eq(role.as_str()),
            users::updated_at.eq(At(now)),
        ))
        .execute(&mut db)
        .await?;
    Ok(User { organization, organization_role: role, updated_at: now, ..user })
}
