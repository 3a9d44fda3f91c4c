//! Moving users from one organization to another.
//!
//! A move locks names, so that no other user enters or leaves, and both organizations, so that it
//! waits for concurrent additions of agents or chats, and later ones find the user in the new
//! organization.

use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::account::User;
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::id::{OrganizationId, UserId};
use domain::organization::{
    Depart, DepartRefused, Enter, EnterBy, EnterRefused, Invitation, InvitationRefused, Moved, NotAdmin,
    OrganizationRole,
};
use domain::time::Timestamp;
use uuid::Uuid;

use super::{invitation, member, show};
use crate::account::find::user_on;
use crate::error::Fault;
use crate::plan::assign::free_name_on;
use crate::plan::list::organization_on;
use crate::plan::quota;
use crate::run::Db;
use crate::schema::{agents, users};
use crate::{audit, change, lock};

pub(super) async fn depart_on(db: &Db, command: &Depart) -> Result<Result<Moved, DepartRefused>, Fault> {
    lock::names_on(db).await?;
    let own = own_on(db, command.member).await?;
    let held = [Some(command.organization), own].into_iter().flatten();
    lock::organizations_on(db, held).await?;
    if let Some(by) = command.by
        && member::check_on(db, by).await? == Err(NotAdmin)
    {
        return Ok(Err(DepartRefused::NotAdmin));
    }
    let found = user_on(db, command.member).await?;
    let found = found.filter(|user| user.organization == command.organization);
    let Some(user) = found else { return Ok(Err(DepartRefused::NotFound)) };
    let others = member::others_on(db, &user).await?;
    if others.let_go(user.organization_role).is_err() {
        return Ok(Err(DepartRefused::LastAdmin));
    }
    if own == Some(user.organization) && others.members == 0 {
        return Ok(Err(DepartRefused::Alone));
    }
    let own = empty_or_fresh_on(db, &user, own, command).await?;
    let entries = [AuditEntry::member_departed(command), AuditEntry::member_returned(command, own)];
    audit::append_on(db, entries).await?;
    move_on(db, user, own, OrganizationRole::Admin, command.now).await.map(Ok)
}

/// The organization that was created for a user; it only changes while names are locked.
async fn own_on(mut db: &Db, user: UserId) -> Result<Option<OrganizationId>, Fault> {
    let own = users::table.find(user.uuid()).select(users::own_organization_id);
    let own = own.first::<Option<Uuid>>(&mut db).await.optional()?;
    Ok(own.flatten().map(OrganizationId::new))
}

/// A user's own organization, if it has no members; else a new one, which becomes the user's own.
async fn empty_or_fresh_on(
    mut db: &Db,
    user: &User,
    own: Option<OrganizationId>,
    command: &Depart,
) -> Result<OrganizationId, Fault> {
    if let Some(own) = own
        && member::count_on(db, own).await? == 0
    {
        return Ok(own);
    }
    let name = free_name_on(db, user.handle.as_str()).await?;
    show::insert_on(db, command.fresh, &name, &command.plan, command.now).await?;
    diesel::update(users::table.find(user.id.uuid()))
        .set(users::own_organization_id.eq(command.fresh.uuid()))
        .execute(&mut db)
        .await?;
    Ok(command.fresh)
}

pub(super) async fn enter_on(db: &Db, command: &Enter) -> Result<Result<Moved, EnterRefused>, Fault> {
    lock::names_on(db).await?;
    let Some(user) = user_on(db, command.user).await? else { return Ok(Err(EnterRefused::UserGone)) };
    let to = match command.by {
        EnterBy::Operator(to, _) => to,
        EnterBy::Invitation(token) => match invitation::destination_on(db, token).await? {
            Ok(to) => to,
            Err(refused) => return Ok(Err(EnterRefused::Invitation(refused))),
        },
    };
    lock::organizations_on(db, [user.organization, to]).await?;
    // Roles may have changed before.
    let Some(user) = user_on(db, command.user).await? else { return Ok(Err(EnterRefused::UserGone)) };
    let (role, invitation) = match admission_on(db, command, &user).await? {
        Ok(admission) => admission,
        Err(refused) => return Ok(Err(EnterRefused::Invitation(refused))),
    };
    if to == user.organization {
        return Ok(Err(EnterRefused::AlreadyThere));
    }
    if member::others_on(db, &user).await?.let_go(user.organization_role).is_err() {
        return Ok(Err(EnterRefused::LastAdmin));
    }
    if let Err(reached) = quota::more_agents_on(db, to, agents_on(db, user.id).await?).await? {
        return Ok(Err(EnterRefused::Limit(reached)));
    }
    let role = role.on_coming(member::count_on(db, to).await?);
    if let Some(invitation) = invitation {
        invitation::accept_on(db, invitation.id, user.id, command.now).await?;
    }
    audit::append_on(db, AuditEntry::member_entered(command, user.organization, to, role)).await?;
    move_on(db, user, to, role, command.now).await.map(Ok)
}

/// The role, and the invitation if there is one.
type Admission = (OrganizationRole, Option<Invitation>);

async fn admission_on(
    db: &Db,
    command: &Enter,
    user: &User,
) -> Result<Result<Admission, InvitationRefused>, Fault> {
    match command.by {
        EnterBy::Operator(to, role) => {
            let there = organization_on(db, to.uuid()).await?;
            // An invitation to a deleted organization is invalid as well.
            Ok(there.map_or(Err(InvitationRefused::Unknown), |_| Ok((role, None))))
        }
        EnterBy::Invitation(token) => {
            let found = invitation::open_for_on(db, token, &user.email, command.now).await?;
            Ok(found.map(|found| (found.role, Some(found))))
        }
    }
}

/// The number of agents that move along; none can be created while their owner's organization is
/// locked.
async fn agents_on(mut db: &Db, owner: UserId) -> Result<u64, Fault> {
    let theirs = agents::table.filter(agents::owner_id.eq(owner.uuid())).filter(agents::deleted_at.is_null());
    Ok(theirs.select(count_star()).first::<i64>(&mut db).await?.cast_unsigned())
}

/// Moves a user, and ends what must not survive the move: the user's own invitations, those of an
/// organization that has no members left, and sessions of the user.
async fn move_on(
    db: &Db,
    user: User,
    to: OrganizationId,
    role: OrganizationRole,
    now: Timestamp,
) -> Result<Moved, Fault> {
    let (id, from) = (user.id, user.organization);
    let user = member::assign_on(db, user, to, role, now).await?;
    let is_empty = member::count_on(db, from).await? == 0;
    invitation::revoke_those_of_on(db, from, (!is_empty).then_some(id), now).await?;
    change::append_on(db, [Change::UserMoved(id)], now).await?;
    Ok(Moved { user, from })
}
