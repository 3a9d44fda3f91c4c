//! Deleting a user.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::account::{Belongings, DeleteUser, DeleteUserRefused, DeletedUser, User};
use domain::audit::{Actor, AuditEntry};
use domain::board::{Actor as BoardActor, DropReason};
use domain::change::Change;
use domain::chat::Participant;
use domain::id::ParticipantId;

use super::find::user_on;
use super::{keys, leave};
use crate::audit;
use crate::board;
use crate::change;
use crate::contact;
use crate::error::Fault;
use crate::legal_hold;
use crate::login::{passkey, second_factor, session};
use crate::notification;
use crate::organization::{invitation, member};
use crate::push;
use crate::reminder;
use crate::row;
use crate::schema::{agents, identities, participants, passwords, resets, users};

pub(super) fn delete_user_on(
    connection: &mut SqliteConnection,
    command: &DeleteUser,
) -> Result<Result<DeletedUser, DeleteUserRefused>, Fault> {
    let Some(user) = user_on(connection, command.user)? else { return Ok(Err(DeleteUserRefused::NotFound)) };
    if member::others_on(connection, &user)?.let_go(user.organization_role).is_err() {
        return Ok(Err(DeleteUserRefused::LastAdmin));
    }
    if legal_hold::keeps_party_on(connection, user.id.into())? {
        return Ok(Err(DeleteUserRefused::UnderHold));
    }
    let belongings = belongings_on(connection, &user)?;
    if belongings.agents > 0 || (belongings.chats > 0 && !command.force) {
        return Ok(Err(DeleteUserRefused::InUse(belongings)));
    }
    let (who, now) = (ParticipantId::User(user.id), command.now);
    audit::append_on(connection, [AuditEntry::user_deleted(command)])?;
    keys::revoke_all_of_on(connection, who, Actor::Operator, now)?;
    session::end_all_on(connection, user.id, now)?;
    let parted = contact::forget_on(connection, who, now)?;
    let left = leave::all_on(connection, who, |role, since| Participant::of_user(&user, role, since), now)?;
    reminder::erase_of_sender_on(connection, who)?;
    let dropped = board::drop_on(connection, &BoardActor::from(&user), None, DropReason::Deleted, now)?;
    invitation::revoke_those_of_on(connection, user.organization, Some(user.id), now)?;
    erase_on(connection, &user, command)?;
    change::append_on(connection, [Change::Disabled(who), Change::UserUpdated(user.id)], now)?;
    Ok(Ok(DeletedUser { user, left, dropped, parted }))
}

fn belongings_on(connection: &mut SqliteConnection, user: &User) -> Result<Belongings, Fault> {
    let id = row::bytes(user.id.uuid());
    let agents = agents::table.filter(agents::owner_id.eq(&id)).filter(agents::deleted_at.is_null());
    let agents = agents.count().get_result::<i64>(connection)?;
    let chats = participants::table
        .filter(participants::participant_id.eq(&id))
        .filter(participants::left_at.is_null());
    let chats = chats.count().get_result::<i64>(connection)?;
    Ok(Belongings { agents: agents.cast_unsigned(), chats: chats.cast_unsigned() })
}

/// Erases identifying data and credentials of the user.
fn erase_on(connection: &mut SqliteConnection, user: &User, command: &DeleteUser) -> Result<(), Fault> {
    let id = row::bytes(user.id.uuid());
    diesel::delete(passwords::table.find(&id)).execute(connection)?;
    diesel::delete(identities::table.filter(identities::user_id.eq(&id))).execute(connection)?;
    second_factor::replace_on(connection, user.id, None)?;
    passkey::forget_on(connection, user.id)?;
    diesel::delete(resets::table.find(&id)).execute(connection)?;
    invitation::forget_guest_on(connection, user.id)?;
    push::forget_on(connection, ParticipantId::User(user.id))?;
    notification::forget_user_on(connection, user.id)?;
    let deleted = user.deleted(command.now);
    diesel::update(users::table.find(&id))
        .set((
            users::email.eq(&deleted.email),
            users::first_name.eq(&deleted.name.first),
            users::last_name.eq(&deleted.name.last),
            users::updated_at.eq(command.now.micros()),
            users::disabled_at.eq(deleted.disabled_at.map(domain::time::Timestamp::micros)),
            users::deleted_at.eq(command.now.micros()),
        ))
        .execute(connection)?;
    Ok(())
}
