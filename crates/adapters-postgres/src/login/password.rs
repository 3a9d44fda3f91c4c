//! Passwords, and the tokens that allow setting them. A change of a user's credentials locks the
//! user.

use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use diesel_async::RunQueryDsl;
use domain::account::KeyDigest;
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::id::UserId;
use domain::login::{
    LoginRecord, NewReset, PasswordHash, PasswordHolder, ResetPurpose, SetPassword, StoredPassword, UseReset,
    WhichLogin, set_at,
};
use domain::time::Timestamp;
use uuid::Uuid;

use super::second_factor;
use crate::account::find::user_on;
use crate::account::row::UserRow;
use crate::audit;
use crate::change;
use crate::error::Fault;
use crate::lock;
use crate::row::{At, can_be_stored};
use crate::run::Db;
use crate::schema::{passwords, resets, sessions, users};

/// There is no password to change.
pub(super) struct Nothing;

pub(super) async fn find_on(mut db: &Db, which: &WhichLogin) -> Result<Option<LoginRecord>, Fault> {
    let meant = users::table.left_join(passwords::table).filter(users::deleted_at.is_null()).into_boxed();
    let meant = match which {
        WhichLogin::Handle(handle) => meant.filter(users::handle.eq(handle.as_str().to_owned())),
        WhichLogin::Email(email) if !can_be_stored(email) => return Ok(None),
        WhichLogin::Email(email) => {
            let lower = diesel::dsl::sql::<Bool>("lower(users.email) = lower(");
            meant.filter(lower.bind::<Text, _>(email.clone()).sql(" COLLATE \"C\")"))
        }
        WhichLogin::User(user) => meant.filter(users::id.eq(user.uuid())),
    };
    let found = meant
        .select((UserRow::as_select(), (passwords::hash, passwords::changed_at).nullable()))
        .first::<(UserRow, Option<(String, At)>)>(&mut db)
        .await
        .optional()?;
    let Some((user, password)) = found else { return Ok(None) };
    let stored = |(hash, At(set_at))| StoredPassword { hash: PasswordHash::new(hash), set_at };
    Ok(Some(LoginRecord { user: user.into_user()?, password: password.map(stored) }))
}

pub(super) async fn rehash_on(
    mut db: &Db,
    user: UserId,
    old: &PasswordHash,
    new: &PasswordHash,
) -> Result<(), Fault> {
    let same = passwords::table.find(user.uuid()).filter(passwords::hash.eq(old.as_str()));
    diesel::update(same).set(passwords::hash.eq(new.as_str())).execute(&mut db).await?;
    Ok(())
}

/// The first password of a user who is being created.
pub(crate) async fn insert_on(
    mut db: &Db,
    user: UserId,
    hash: &PasswordHash,
    now: Timestamp,
) -> Result<(), Fault> {
    diesel::insert_into(passwords::table)
        .values((
            passwords::user_id.eq(user.uuid()),
            passwords::hash.eq(hash.as_str()),
            passwords::changed_at.eq(At(now)),
        ))
        .execute(&mut db)
        .await?;
    Ok(())
}

/// Sets a password and ends all sessions; returns the user.
pub(super) async fn set_on(
    mut db: &Db,
    command: &SetPassword,
) -> Result<Result<PasswordHolder, Nothing>, Fault> {
    lock::users_on(db, &[command.user]).await?;
    let Some(user) = user_on(db, command.user).await? else { return Ok(Err(Nothing)) };
    let id = user.id.uuid();
    let before = passwords::table.find(id).select(passwords::changed_at);
    let before = before.first::<At>(&mut db).await.optional()?.map(|At(time)| time);
    if command.replaces.is_some() && command.replaces != before {
        return Ok(Err(Nothing));
    }
    let password_set_at = set_at(command.now, before);
    let set = (passwords::hash.eq(command.password.as_str()), passwords::changed_at.eq(At(password_set_at)));
    diesel::insert_into(passwords::table)
        .values((passwords::user_id.eq(id), set))
        .on_conflict(passwords::user_id)
        .do_update()
        .set(set)
        .execute(&mut db)
        .await?;
    diesel::delete(sessions::table.filter(sessions::user_id.eq(id))).execute(&mut db).await?;
    diesel::delete(resets::table.find(id)).execute(&mut db).await?;
    let ended = Change::TokensEnded { user: user.id, password_set_at };
    change::append_on(db, [ended], password_set_at).await?;
    let holder = PasswordHolder { user, password_set_at };
    audit::append_on(db, [AuditEntry::password_set(&holder, command.by)]).await?;
    Ok(Ok(holder))
}

pub(super) async fn issue_reset_on(mut db: &Db, new: &NewReset) -> Result<(), Fault> {
    lock::users_on(db, &[new.user]).await?;
    let set = (
        resets::token.eq(new.token.bytes().as_slice()),
        resets::expires_at.eq(At(new.expires_at)),
        resets::opens_session.eq(new.purpose == ResetPurpose::LogIn),
    );
    diesel::insert_into(resets::table)
        .values((resets::user_id.eq(new.user.uuid()), set))
        .on_conflict(resets::user_id)
        .do_update()
        .set(set)
        .execute(&mut db)
        .await?;
    audit::append_on(db, [AuditEntry::password_reset_issued(new)]).await?;
    Ok(())
}

/// The user of a token for this.
pub(super) async fn find_reset_on(
    mut db: &Db,
    token: KeyDigest,
    purpose: ResetPurpose,
    now: Timestamp,
) -> Result<Option<UserId>, Fault> {
    let admitted = users::table.filter(users::disabled_at.is_null()).select(users::id);
    let found = resets::table
        .filter(resets::token.eq(token.bytes().as_slice()))
        .filter(resets::opens_session.eq(purpose == ResetPurpose::LogIn))
        .filter(resets::expires_at.gt(At(now)))
        .filter(resets::user_id.eq_any(admitted))
        .select(resets::user_id)
        .first::<Uuid>(&mut db)
        .await
        .optional()?;
    Ok(found.map(UserId::new))
}

/// Of two concurrent uses the later one finds the token used.
pub(super) async fn reset_on(db: &Db, command: &UseReset) -> Result<Result<PasswordHolder, Nothing>, Fault> {
    let UseReset { token, password, proof, now } = command;
    let (token, now) = (*token, *now);
    let found = find_reset_on(db, token, ResetPurpose::Password, now).await?;
    let Some(user) = found else { return Ok(Err(Nothing)) };
    lock::users_on(db, &[user]).await?;
    if find_reset_on(db, token, ResetPurpose::Password, now).await? != Some(user)
        || !second_factor::admit_on(db, user, proof, now).await?
    {
        return Ok(Err(Nothing));
    }
    set_on(db, &SetPassword { user, password: password.clone(), replaces: None, by: user.into(), now }).await
}
