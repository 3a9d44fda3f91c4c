//! Sessions, and their refresh tokens.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::account::KeyDigest;
use domain::audit::AuditEntry;
use domain::id::SessionId;
use domain::login::{MAX_SESSIONS, NewSession, RefreshRefused, RefreshSession, SessionHolder};
use domain::time::Timestamp;

use crate::account::row::UserRow;
use crate::audit;
use crate::error::Fault;
use crate::row;
use crate::schema::{passwords, resets, sessions, users};

pub(super) fn begin_on(
    connection: &mut SqliteConnection,
    new: &NewSession,
) -> Result<Option<SessionHolder>, Fault> {
    let user = row::bytes(new.user.uuid());
    let found = users::table
        .inner_join(passwords::table)
        .filter(users::id.eq(&user))
        .filter(users::disabled_at.is_null())
        .filter(passwords::changed_at.eq(new.password_set_at.micros()))
        .select((UserRow::as_select(), passwords::changed_at))
        .get_result::<(UserRow, i64)>(connection)
        .optional()?;
    let Some((holder, set_at)) = found else { return Ok(None) };
    diesel::insert_into(sessions::table)
        .values((
            sessions::id.eq(row::bytes(new.id.uuid())),
            sessions::user_id.eq(&user),
            sessions::family.eq(new.family.bytes().as_slice()),
            sessions::token.eq(new.token.bytes().as_slice()),
            sessions::created_at.eq(new.now.micros()),
            sessions::used_at.eq(new.now.micros()),
            sessions::expires_at.eq(new.expires_at.micros()),
        ))
        .execute(connection)?;
    let beyond = sessions::table
        .filter(sessions::user_id.eq(&user))
        .order((sessions::used_at.desc(), sessions::id.desc()))
        .offset(i64::from(MAX_SESSIONS))
        .limit(i64::from(MAX_SESSIONS))
        .select(sessions::id)
        .load::<Vec<u8>>(connection)?;
    diesel::delete(sessions::table.filter(sessions::id.eq_any(beyond))).execute(connection)?;
    audit::append_on(connection, [AuditEntry::login_succeeded(new)])?;
    holder_of(holder, set_at).map(Some)
}

pub(super) fn refresh_on(
    connection: &mut SqliteConnection,
    command: &RefreshSession,
) -> Result<Result<SessionHolder, RefreshRefused>, Fault> {
    let found = sessions::table
        .inner_join(users::table.inner_join(passwords::table))
        .filter(sessions::family.eq(command.family.bytes().as_slice()))
        .filter(sessions::expires_at.gt(command.now.micros()))
        .filter(users::disabled_at.is_null())
        .select((sessions::id, sessions::token, UserRow::as_select(), passwords::changed_at))
        .get_result::<(Vec<u8>, Vec<u8>, UserRow, i64)>(connection)
        .optional()?;
    let Some((id, token, user, set_at)) = found else { return Ok(Err(RefreshRefused::Unknown)) };
    let session = sessions::table.find(&id);
    if row::digest(token)? != command.token {
        diesel::delete(session).execute(connection)?;
        let (user, session) = (user.into_user()?.id, SessionId::new(row::uuid(&id)?));
        audit::append_on(connection, [AuditEntry::token_reused(user, session, command.now)])?;
        return Ok(Err(RefreshRefused::Reused));
    }
    diesel::update(session)
        .set((
            sessions::token.eq(command.next.bytes().as_slice()),
            sessions::used_at.eq(command.now.micros()),
            sessions::expires_at.eq(command.expires_at.micros()),
        ))
        .execute(connection)?;
    holder_of(user, set_at).map(Ok)
}

fn holder_of(user: UserRow, set_at: i64) -> Result<SessionHolder, Fault> {
    Ok(SessionHolder { user: user.into_user()?, password_set_at: row::time(set_at) })
}

pub(super) fn end_on(connection: &mut SqliteConnection, family: KeyDigest) -> Result<bool, Fault> {
    let session = sessions::table.filter(sessions::family.eq(family.bytes().as_slice()));
    Ok(diesel::delete(session).execute(connection)? > 0)
}

pub(super) fn forget_on(connection: &mut SqliteConnection, now: Timestamp, limit: u32) -> Result<u32, Fault> {
    let (now, limit) = (now.micros(), i64::from(limit));
    let over = sessions::table.filter(sessions::expires_at.le(now)).order(sessions::expires_at).limit(limit);
    let over = over.select(sessions::id).load::<Vec<u8>>(connection)?;
    let ended = diesel::delete(sessions::table.filter(sessions::id.eq_any(over))).execute(connection)?;
    let old = resets::table.filter(resets::expires_at.le(now)).order(resets::expires_at).limit(limit);
    let old = old.select(resets::user_id).load::<Vec<u8>>(connection)?;
    let gone = diesel::delete(resets::table.filter(resets::user_id.eq_any(old))).execute(connection)?;
    Ok(u32::try_from(ended + gone).unwrap_or(u32::MAX))
}
