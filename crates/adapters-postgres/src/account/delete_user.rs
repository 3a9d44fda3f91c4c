//! Deleting a user.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::account::{Belongings, DeleteUser, DeleteUserRefused, DeletedUser, User};
use domain::audit::{Actor, AuditEntry};
use domain::board::{Actor as BoardActor, DropReason};
use domain::change::Change;
use domain::chat::Participant;
use domain::id::ParticipantId;
use futures_util::future::try_join5;

use super::find::user_on;
use super::{keys, leave};
use crate::audit;
use crate::board;
use crate::change;
use crate::contact;
use crate::error::Fault;
use crate::legal_hold;
use crate::lock;
use crate::login::{passkey, second_factor, session};
use crate::notification;
use crate::organization::{invitation, member};
use crate::push;
use crate::reminder;
use crate::row::At;
use crate::run::Db;
use crate::schema::{agents, identities, participants, passwords, resets, users};

pub(super) async fn delete_user_on(
    db: &Db,
    command: &DeleteUser,
) -> Result<Result<DeletedUser, DeleteUserRefused>, Fault> {
    let is_kept = legal_hold::keeps_party_on(db, command.user.into()).await?;
    // From here on no user changes organizations.
    lock::names_on(db).await?;
    let Some(user) = user_on(db, command.user).await? else { return Ok(Err(DeleteUserRefused::NotFound)) };
    // Roles in the organization cannot change, nothing is created for the user, and the user cannot
    // be added to a chat.
    lock::people_on(db, user.organization).await?;
    lock::lock_user_for_deletion_on(db, user.id).await?;
    let Some(user) = user_on(db, command.user).await? else { return Ok(Err(DeleteUserRefused::NotFound)) };
    if member::others_on(db, &user).await?.let_go(user.organization_role).is_err() {
        return Ok(Err(DeleteUserRefused::LastAdmin));
    }
    if is_kept {
        return Ok(Err(DeleteUserRefused::UnderHold));
    }
    let (who, now) = (ParticipantId::User(user.id), command.now);
    lock::chats_of_on(db, who).await?;
    let belongings = belongings_on(db, &user).await?;
    if belongings.agents > 0 || (belongings.chats > 0 && !command.force) {
        return Ok(Err(DeleteUserRefused::InUse(belongings)));
    }
    audit::append_on(db, [AuditEntry::user_deleted(command)]).await?;
    let keys = keys::revoke_all_of_on(db, who, Actor::Operator, now).await?;
    let left = leave::all_on(db, who, |role, since| Participant::of_user(&user, role, since), now).await?;
    reminder::erase_of_sender_on(db, who).await?;
    let dropped = board::drop_on(db, &BoardActor::from(&user), None, DropReason::Deleted, now).await?;
    let parted = contact::forget_on(db, who, now).await?;
    invitation::revoke_those_of_on(db, user.organization, Some(user.id), now).await?;
    erase_on(db, &user, command).await?;
    push::forget_on(db, who).await?;
    notification::forget_user_on(db, user.id).await?;
    // The change log comes last, as its lock does.
    session::end_all_on(db, user.id, now).await?;
    let changes = keys.into_iter().map(|key| Change::KeyRevoked(key.id));
    change::append_on(db, changes.chain([Change::Disabled(who), Change::UserUpdated(user.id)]), now).await?;
    Ok(Ok(DeletedUser { user, left, dropped, parted }))
}

async fn belongings_on(mut db: &Db, user: &User) -> Result<Belongings, Fault> {
    let id = user.id.uuid();
    let agents = agents::table.filter(agents::owner_id.eq(id)).filter(agents::deleted_at.is_null());
    let agents = agents.count().get_result::<i64>(&mut db).await?;
    let chats = participants::table
        .filter(participants::participant_id.eq(id))
        .filter(participants::left_at.is_null());
    let chats = chats.count().get_result::<i64>(&mut db).await?;
    Ok(Belongings { agents: agents.cast_unsigned(), chats: chats.cast_unsigned() })
}

/// Erases identifying data and credentials of the user.
async fn erase_on(mut db: &Db, user: &User, command: &DeleteUser) -> Result<(), Fault> {
    let id = user.id.uuid();
    let password = async {
        let mut db = db;
        Ok(diesel::delete(passwords::table.find(id)).execute(&mut db).await?)
    };
    let reset = async {
        let mut db = db;
        Ok(diesel::delete(resets::table.find(id)).execute(&mut db).await?)
    };
    let identities = async {
        let mut db = db;
        let all = identities::table.filter(identities::user_id.eq(id));
        Ok(diesel::delete(all).execute(&mut db).await?)
    };
    let devices = async {
        second_factor::replace_on(db, user.id, None).await?;
        passkey::forget_on(db, user.id).await
    };
    let guest = invitation::forget_guest_on(db, user.id);
    try_join5(password, reset, identities, devices, guest).await?;
    let (deleted, now) = (user.deleted(command.now), At(command.now));
    diesel::update(users::table.find(id))
        .set((
            users::email.eq(&deleted.email),
            users::first_name.eq(&deleted.name.first),
            users::last_name.eq(&deleted.name.last),
            users::updated_at.eq(now),
            users::disabled_at.eq(deleted.disabled_at.map(At)),
            users::deleted_at.eq(now),
        ))
        .execute(&mut db)
        .await?;
    Ok(())
}
