//! Passwords, and the tokens with which they may be set.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::account::KeyDigest;
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::id::UserId;
use domain::login::{
    LoginRecord, NewReset, PasswordHash, PasswordHolder, ResetPurpose, SetPassword, StoredPassword, UseReset,
    WhichLogin, set_at,
};
use domain::time::Timestamp;

use super::second_factor;
use crate::account::find::user_on;
use crate::account::row::UserRow;
use crate::audit;
use crate::change;
use crate::error::Fault;
use crate::row;
use crate::schema::{passwords, resets, sessions, users};

pub(super) fn find_on(
    connection: &mut SqliteConnection,
    which: &WhichLogin,
) -> Result<Option<LoginRecord>, Fault> {
    let meant = users::table.left_join(passwords::table).filter(users::deleted_at.is_null()).into_boxed();
    let meant = match which {
        WhichLogin::Handle(handle) => meant.filter(users::handle.eq(handle.as_str().to_owned())),
        WhichLogin::Email(email) => meant.filter(users::email.eq(email.clone())),
        WhichLogin::User(user) => meant.filter(users::id.eq(row::bytes(user.uuid()))),
    };
    let found = meant
        .select((UserRow::as_select(), (passwords::hash, passwords::changed_at).nullable()))
        .get_result::<(UserRow, Option<(String, i64)>)>(connection)
        .optional()?;
    let Some((user, password)) = found else { return Ok(None) };
    let stored = |(hash, at)| StoredPassword { hash: PasswordHash::new(hash), set_at: row::time(at) };
    Ok(Some(LoginRecord { user: user.into_user()?, password: password.map(stored) }))
}

pub(super) fn rehash_on(
    connection: &mut SqliteConnection,
    user: UserId,
    old: &PasswordHash,
    new: &PasswordHash,
) -> Result<(), Fault> {
    let same = passwords::table.find(row::bytes(user.uuid())).filter(passwords::hash.eq(old.as_str()));
    diesel::update(same).set(passwords::hash.eq(new.as_str())).execute(connection)?;
    Ok(())
}

/// The first password of a user who is being created.
pub(crate) fn insert_on(
    connection: &mut SqliteConnection,
    user: UserId,
    hash: &PasswordHash,
    now: Timestamp,
) -> Result<(), Fault> {
    diesel::insert_into(passwords::table)
        .values((
            passwords::user_id.eq(row::bytes(user.uuid())),
            passwords::hash.eq(hash.as_str()),
            passwords::changed_at.eq(now.micros()),
        ))
        .execute(connection)?;
    Ok(())
}

/// Sets a password and ends all sessions; returns the user.
pub(super) fn set_on(
    connection: &mut SqliteConnection,
    command: &SetPassword,
) -> Result<Option<PasswordHolder>, Fault> {
    let Some(user) = user_on(connection, command.user)? else { return Ok(None) };
    let id = row::bytes(user.id.uuid());
    let before =
        passwords::table.find(&id).select(passwords::changed_at).get_result(connection).optional()?;
    let before = before.map(row::time);
    if command.replaces.is_some() && command.replaces != before {
        return Ok(None);
    }
    let password_set_at = set_at(command.now, before);
    let set =
        (passwords::hash.eq(command.password.as_str()), passwords::changed_at.eq(password_set_at.micros()));
    diesel::insert_into(passwords::table)
        .values((passwords::user_id.eq(&id), set))
        .on_conflict(passwords::user_id)
        .do_update()
        .set(set)
        .execute(connection)?;
    diesel::delete(sessions::table.filter(sessions::user_id.eq(&id))).execute(connection)?;
    diesel::delete(resets::table.find(&id)).execute(connection)?;
    let ended = Change::TokensEnded { user: user.id, password_set_at };
    change::append_on(connection, [ended], password_set_at)?;
    let holder = PasswordHolder { user, password_set_at };
    audit::append_on(connection, [AuditEntry::password_set(&holder, command.by)])?;
    Ok(Some(holder))
}

pub(super) fn issue_reset_on(connection: &mut SqliteConnection, new: &NewReset) -> Result<(), Fault> {
    let token = new.token.bytes().as_slice();
    diesel::replace_into(resets::table)
        .values((
            resets::user_id.eq(row::bytes(new.user.uuid())),
            resets::token.eq(token),
            resets::expires_at.eq(new.expires_at.micros()),
            resets::opens_session.eq(new.purpose == ResetPurpose::LogIn),
        ))
        .execute(connection)?;
    audit::append_on(connection, [AuditEntry::password_reset_issued(new)])
}

/// The user of a token for this.
pub(super) fn find_reset_on(
    connection: &mut SqliteConnection,
    token: KeyDigest,
    purpose: ResetPurpose,
    now: Timestamp,
) -> Result<Option<UserId>, Fault> {
    let admitted = users::table.filter(users::disabled_at.is_null()).select(users::id);
    let found = resets::table
        .filter(resets::token.eq(token.bytes().as_slice()))
        .filter(resets::opens_session.eq(purpose == ResetPurpose::LogIn))
        .filter(resets::expires_at.gt(now.micros()))
        .filter(resets::user_id.eq_any(admitted))
        .select(resets::user_id)
        .get_result::<Vec<u8>>(connection)
        .optional()?;
    found.map(|user| row::user_id(&user)).transpose()
}

pub(super) fn reset_on(
    connection: &mut SqliteConnection,
    UseReset { token, password, proof, now }: UseReset,
) -> Result<Option<PasswordHolder>, Fault> {
    let found = find_reset_on(connection, token, ResetPurpose::Password, now)?;
    let Some(user) = found else { return Ok(None) };
    if !second_factor::admit_on(connection, user, &proof, now)? {
        return Ok(None);
    }
    set_on(connection, &SetPassword { user, password, replaces: None, by: user.into(), now })
}
