//! Moving users from one organization to another.

use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::account::User;
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::id::OrganizationId;
use domain::organization::{
    Depart, DepartRefused, Enter, EnterBy, EnterRefused, Invitation, InvitationRefused, Moved, NotAdmin,
    OrganizationRole,
};
use domain::time::Timestamp;

use super::{invitation, member, show};
use crate::account::find::user_on;
use crate::error::Fault;
use crate::plan::assign::free_name_on;
use crate::plan::list::organization_on;
use crate::plan::quota;
use crate::schema::{agents, users};
use crate::{audit, change, row};

pub(super) fn depart_on(
    connection: &mut SqliteConnection,
    command: &Depart,
) -> Result<Result<Moved, DepartRefused>, Fault> {
    if command.by.map_or(Ok(Ok(())), |by| member::check_on(connection, by))? == Err(NotAdmin) {
        return Ok(Err(DepartRefused::NotAdmin));
    }
    let found = user_on(connection, command.member)?;
    let found = found.filter(|user| user.organization == command.organization);
    let Some(user) = found else { return Ok(Err(DepartRefused::NotFound)) };
    let others = member::others_on(connection, &user)?;
    if others.let_go(user.organization_role).is_err() {
        return Ok(Err(DepartRefused::LastAdmin));
    }
    let own = own_on(connection, &user)?;
    if own == Some(user.organization) && others.members == 0 {
        return Ok(Err(DepartRefused::Alone));
    }
    let own = empty_or_fresh_on(connection, &user, own, command)?;
    let moved = move_on(connection, user, own, OrganizationRole::Admin, command.now)?;
    let entries = [AuditEntry::member_departed(command), AuditEntry::member_returned(command, own)];
    audit::append_on(connection, entries)?;
    Ok(Ok(moved))
}

/// The organization that was created for a user.
fn own_on(connection: &mut SqliteConnection, user: &User) -> Result<Option<OrganizationId>, Fault> {
    let own = users::table.find(row::bytes(user.id.uuid())).select(users::own_organization_id);
    let own = own.get_result::<Option<Vec<u8>>>(connection)?;
    Ok(own.as_deref().map(row::uuid).transpose()?.map(OrganizationId::new))
}

/// A user's own organization, if it has no members; else a new one, which becomes the user's own.
fn empty_or_fresh_on(
    connection: &mut SqliteConnection,
    user: &User,
    own: Option<OrganizationId>,
    command: &Depart,
) -> Result<OrganizationId, Fault> {
    if let Some(own) = own
        && member::count_on(connection, own)? == 0
    {
        return Ok(own);
    }
    let name = free_name_on(connection, user.handle.as_str())?;
    show::insert_on(connection, command.fresh, &name, &command.plan, command.now)?;
    diesel::update(users::table.find(row::bytes(user.id.uuid())))
        .set(users::own_organization_id.eq(row::bytes(command.fresh.uuid())))
        .execute(connection)?;
    Ok(command.fresh)
}

pub(super) fn enter_on(
    connection: &mut SqliteConnection,
    command: &Enter,
) -> Result<Result<Moved, EnterRefused>, Fault> {
    let Some(user) = user_on(connection, command.user)? else { return Ok(Err(EnterRefused::UserGone)) };
    let (to, role, invitation) = match admission_on(connection, command, &user)? {
        Ok(admission) => admission,
        Err(refused) => return Ok(Err(EnterRefused::Invitation(refused))),
    };
    if to == user.organization {
        return Ok(Err(EnterRefused::AlreadyThere));
    }
    if member::others_on(connection, &user)?.let_go(user.organization_role).is_err() {
        return Ok(Err(EnterRefused::LastAdmin));
    }
    let more = agents_on(connection, &user)?;
    if let Err(reached) = quota::more_agents_on(connection, to, more)? {
        return Ok(Err(EnterRefused::Limit(reached)));
    }
    let role = role.on_coming(member::count_on(connection, to)?);
    if let Some(invitation) = invitation {
        invitation::accept_on(connection, invitation.id, user.id, command.now)?;
    }
    let moved = move_on(connection, user, to, role, command.now)?;
    audit::append_on(connection, AuditEntry::member_entered(command, moved.from, to, role))?;
    Ok(Ok(moved))
}

/// The destination, the role, and the invitation if there is one.
type Admission = (OrganizationId, OrganizationRole, Option<Invitation>);

fn admission_on(
    connection: &mut SqliteConnection,
    command: &Enter,
    user: &User,
) -> Result<Result<Admission, InvitationRefused>, Fault> {
    match command.by {
        EnterBy::Operator(to, role) => {
            let there = organization_on(connection, &row::bytes(to.uuid()))?;
            // An invitation to a deleted organization is invalid as well.
            Ok(there.map_or(Err(InvitationRefused::Unknown), |_| Ok((to, role, None))))
        }
        EnterBy::Invitation(token) => {
            let found = invitation::open_for_on(connection, token, &user.email, command.now)?;
            Ok(found.map(|found| (found.organization, found.role, Some(found))))
        }
    }
}

/// The number of agents that move along.
fn agents_on(connection: &mut SqliteConnection, user: &User) -> Result<u64, Fault> {
    let owned = agents::table
        .filter(agents::owner_id.eq(row::bytes(user.id.uuid())))
        .filter(agents::deleted_at.is_null());
    Ok(owned.select(count_star()).get_result::<i64>(connection)?.cast_unsigned())
}

/// Moves a user, and ends what must not survive the move: the user's own invitations, those of an
/// organization that has no members left, and sessions of the user.
fn move_on(
    connection: &mut SqliteConnection,
    user: User,
    to: OrganizationId,
    role: OrganizationRole,
    now: Timestamp,
) -> Result<Moved, Fault> {
    let (id, from) = (user.id, user.organization);
    let user = member::assign_on(connection, user, to, role, now)?;
    let is_empty = member::count_on(connection, from)? == 0;
    invitation::revoke_those_of_on(connection, from, (!is_empty).then_some(id), now)?;
    change::append_on(connection, [Change::UserMoved(id)], now)?;
    Ok(Moved { user, from })
}
