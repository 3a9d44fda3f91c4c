//! Sessions and their refresh tokens.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::id::{ApiKeyId, SessionId, UserId};
use domain::login::{
    EndSessions, LOGOUT_SKEW, MAX_SESSIONS, NewSession, RECORDED_EVERY, RefreshRefused, RefreshSession,
    RefreshedSession, ResetPurpose, ResumeSession, SessionHolder, SessionKind, SessionProof, SessionRecord,
    WhichSessions,
};
use domain::time::Timestamp;
use uuid::Uuid;

use super::{identity, passkey, password, second_factor};
use crate::account::row::UserRow;
use crate::audit;
use crate::change;
use crate::error::Fault;
use crate::row;
use crate::schema::{api_keys, passwords, resets, sessions, users};

pub(super) fn begin_on(
    connection: &mut SqliteConnection,
    new: &NewSession,
) -> Result<Option<SessionHolder>, Fault> {
    let user = row::bytes(new.user.uuid());
    let found = users::table
        .left_join(passwords::table)
        .filter(users::id.eq(&user))
        .filter(users::disabled_at.is_null())
        .select((UserRow::as_select(), passwords::changed_at.nullable()))
        .get_result::<(UserRow, Option<i64>)>(connection)
        .optional()?;
    let Some((holder, set_at)) = found else { return Ok(None) };
    let (mut key, mut opened_by, mut expires_at, mut provider) = (None, None, new.expires_at, None);
    match &new.proof {
        SessionProof::Password(proven, second) => {
            if set_at != Some(proven.micros())
                || !second_factor::admit_on(connection, new.user, second, new.now)?
            {
                return Ok(None);
            }
        }
        SessionProof::Key(id) => match expiry_with_on(connection, *id, new.expires_at, new.now)? {
            Some(expiry) => (key, expires_at) = (Some(row::bytes(id.uuid())), expiry),
            None => return Ok(None),
        },
        SessionProof::Identity(identity, session) => {
            if !identity::use_on(connection, identity, new.user, new.now)? {
                return Ok(None);
            }
            provider = Some((identity, session));
        }
        SessionProof::Code(code) => {
            let found = password::find_reset_on(connection, *code, ResetPurpose::LogIn, new.now)?;
            if found != Some(new.user) {
                return Ok(None);
            }
            diesel::delete(resets::table.find(&user)).execute(connection)?;
        }
        SessionProof::Passkey(proof) => {
            if !passkey::use_on(connection, proof, new.user, new.now)? {
                return Ok(None);
            }
            opened_by = Some(row::bytes(proof.passkey.uuid()));
        }
    }
    diesel::insert_into(sessions::table)
        .values((
            sessions::id.eq(row::bytes(new.id.uuid())),
            sessions::user_id.eq(&user),
            sessions::family.eq(new.family.bytes().as_slice()),
            sessions::token.eq(new.token.bytes().as_slice()),
            sessions::created_at.eq(new.now.micros()),
            sessions::used_at.eq(new.now.micros()),
            sessions::expires_at.eq(expires_at.micros()),
            sessions::is_browser.eq(new.kind == SessionKind::Browser),
            sessions::key_id.eq(key),
            sessions::passkey_id.eq(opened_by),
            (
                sessions::issuer.eq(provider.map(|(identity, _)| identity.issuer())),
                sessions::subject.eq(provider.map(|(identity, _)| identity.subject())),
                sessions::provider_session.eq(provider.and_then(|(_, session)| session.as_deref())),
            ),
        ))
        .execute(connection)?;
    let beyond = sessions::table
        .filter(sessions::user_id.eq(&user))
        .order((sessions::used_at.desc(), sessions::id.desc()))
        .offset(i64::from(MAX_SESSIONS))
        .limit(i64::from(MAX_SESSIONS))
        .select(sessions::id)
        .load::<Vec<u8>>(connection)?;
    delete_on(connection, &beyond, new.now)?;
    audit::append_on(connection, [AuditEntry::login_succeeded(new)])?;
    holder_of(holder, set_at).map(Some)
}

pub(super) fn refresh_on(
    connection: &mut SqliteConnection,
    command: &RefreshSession,
) -> Result<Result<RefreshedSession, RefreshRefused>, Fault> {
    let found = sessions::table
        .inner_join(users::table.inner_join(passwords::table))
        .filter(sessions::family.eq(command.family.bytes().as_slice()))
        .filter(sessions::expires_at.gt(command.now.micros()))
        .filter(sessions::is_browser.eq(false))
        .filter(users::disabled_at.is_null())
        .select((sessions::id, sessions::token, UserRow::as_select(), passwords::changed_at))
        .get_result::<(Vec<u8>, Vec<u8>, UserRow, i64)>(connection)
        .optional()?;
    let Some((id, token, user, set_at)) = found else { return Ok(Err(RefreshRefused::Unknown)) };
    let session = SessionId::new(row::uuid(&id)?);
    if row::digest(token)? != command.token {
        delete_on(connection, &[id], command.now)?;
        let reused = AuditEntry::token_reused(user.into_user()?.id, session, command.now);
        audit::append_on(connection, [reused])?;
        return Ok(Err(RefreshRefused::Reused(session)));
    }
    diesel::update(sessions::table.find(&id))
        .set((
            sessions::token.eq(command.next.bytes().as_slice()),
            sessions::used_at.eq(command.now.micros()),
            sessions::expires_at.eq(command.expires_at.micros()),
        ))
        .execute(connection)?;
    let (holder, expires_at) = (holder_of(user, Some(set_at))?, command.expires_at);
    Ok(Ok(RefreshedSession { id: session, expires_at, holder }))
}

fn holder_of(user: UserRow, set_at: Option<i64>) -> Result<SessionHolder, Fault> {
    Ok(SessionHolder { user: user.into_user()?, password_set_at: set_at.map(row::time) })
}

/// The expiry of a session that ends with the key, at most `longest`; `None` if the key is not valid.
fn expiry_with_on(
    connection: &mut SqliteConnection,
    key: ApiKeyId,
    longest: Timestamp,
    now: Timestamp,
) -> Result<Option<Timestamp>, Fault> {
    let expiry = api_keys::table
        .find(row::bytes(key.uuid()))
        .filter(api_keys::revoked_at.is_null())
        .select(api_keys::expires_at)
        .get_result::<Option<i64>>(connection)
        .optional()?;
    let expiry = expiry.map(|at| at.map_or(longest, |at| row::time(at).min(longest)));
    Ok(expiry.filter(|at| *at > now))
}

pub(super) fn resume_on(
    connection: &mut SqliteConnection,
    command: &ResumeSession,
) -> Result<Option<RefreshedSession>, Fault> {
    let found = sessions::table
        .inner_join(users::table.left_join(passwords::table))
        .filter(sessions::family.eq(command.family.bytes().as_slice()))
        .filter(sessions::expires_at.gt(command.now.micros()))
        .filter(sessions::is_browser.eq(true))
        .filter(users::disabled_at.is_null())
        .select((
            (
                sessions::id,
                sessions::key_id,
                sessions::used_at,
                sessions::expires_at,
                sessions::issuer.is_not_null(),
            ),
            UserRow::as_select(),
            passwords::changed_at.nullable(),
        ))
        .get_result::<((Vec<u8>, Option<Vec<u8>>, i64, i64, bool), UserRow, Option<i64>)>(connection)
        .optional()?;
    let Some(((id, key, used_at, ends_at, is_provided), user, set_at)) = found else { return Ok(None) };
    let mut expires_at = row::time(ends_at);
    if row::time(used_at) <= command.now.minus(RECORDED_EVERY) {
        let expiry = match key {
            Some(key) => {
                let key = ApiKeyId::new(row::uuid(&key)?);
                expiry_with_on(connection, key, command.expires_at, command.now)?
            }
            None if is_provided => Some(expires_at),
            None => Some(command.expires_at),
        };
        let Some(expiry) = expiry else { return Ok(None) };
        expires_at = expiry;
        diesel::update(sessions::table.find(&id))
            .set((sessions::used_at.eq(command.now.micros()), sessions::expires_at.eq(expiry.micros())))
            .execute(connection)?;
    }
    let holder = holder_of(user, set_at)?;
    Ok(Some(RefreshedSession { id: SessionId::new(row::uuid(&id)?), expires_at, holder }))
}

/// Ends the sessions that these keys have opened; the audit entry of a key's end covers it.
pub(crate) fn end_of_keys_on(
    connection: &mut SqliteConnection,
    keys: &[Vec<u8>],
    now: Timestamp,
) -> Result<(), Fault> {
    let opened = sessions::table.filter(sessions::key_id.eq_any(keys)).order(sessions::id);
    let opened = opened.select(sessions::id).load::<Vec<u8>>(connection)?;
    delete_on(connection, &opened, now)
}

pub(super) fn list_on(
    connection: &mut SqliteConnection,
    user: UserId,
    now: Timestamp,
) -> Result<Vec<SessionRecord>, Fault> {
    let found = sessions::table
        .filter(sessions::user_id.eq(row::bytes(user.uuid())))
        .filter(sessions::expires_at.gt(now.micros()))
        .order((sessions::used_at.desc(), sessions::id.desc()))
        .select((sessions::id, sessions::created_at, sessions::used_at, sessions::expires_at))
        .load::<(Vec<u8>, i64, i64, i64)>(connection)?;
    let record = |(id, created_at, used_at, expires_at): (Vec<u8>, i64, i64, i64)| {
        Ok(SessionRecord {
            id: SessionId::new(row::uuid(&id)?),
            created_at: row::time(created_at),
            used_at: row::time(used_at),
            expires_at: row::time(expires_at),
        })
    };
    found.into_iter().map(record).collect()
}

pub(super) fn end_on(
    connection: &mut SqliteConnection,
    command: &EndSessions,
) -> Result<Vec<SessionId>, Fault> {
    let meant = sessions::table.select((sessions::id, sessions::user_id)).into_boxed();
    let meant = match &command.which {
        WhichSessions::Family(family) => meant.filter(sessions::family.eq(family.bytes().to_vec())),
        WhichSessions::Own(user, session) => meant
            .filter(sessions::user_id.eq(row::bytes(user.uuid())))
            .filter(sessions::id.eq(row::bytes(session.uuid()))),
        WhichSessions::AtProvider(ended) => {
            let latest = ended.issued_at.plus(LOGOUT_SKEW);
            let mut meant = meant
                .filter(sessions::issuer.eq(ended.issuer.clone()))
                .filter(sessions::created_at.le(latest.micros()));
            if let Some(subject) = &ended.subject {
                meant = meant.filter(sessions::subject.eq(subject.clone()));
            }
            match &ended.session {
                // A session of which the provider did not tell the id counts as one of the person.
                Some(session) if ended.subject.is_some() => {
                    let unknown = sessions::provider_session.is_null();
                    meant.filter(sessions::provider_session.eq(session.clone()).or(unknown))
                }
                Some(session) => meant.filter(sessions::provider_session.eq(session.clone())),
                None => meant,
            }
        }
        WhichSessions::Others(user, current) => {
            let current = current.map_or_else(Uuid::nil, SessionId::uuid);
            meant
                .filter(sessions::user_id.eq(row::bytes(user.uuid())))
                .filter(sessions::id.ne(row::bytes(current)))
        }
    };
    let found = meant.order(sessions::id).load::<(Vec<u8>, Vec<u8>)>(connection)?;
    let (mut ids, mut ended, mut entries) = (Vec::new(), Vec::new(), Vec::new());
    for (id, user) in found {
        let session = SessionId::new(row::uuid(&id)?);
        let user = row::user_id(&user)?;
        entries.push(match &command.which {
            WhichSessions::AtProvider(ended) => {
                AuditEntry::session_ended_at_provider(user, session, &ended.issuer, command.now)
            }
            _ => AuditEntry::session_ended(user, session, command.now),
        });
        ended.push(session);
        ids.push(id);
    }
    delete_on(connection, &ids, command.now)?;
    audit::append_on(connection, entries)?;
    Ok(ended)
}

/// Ends all sessions of a disabled user; the audit entry of that change covers it.
pub(crate) fn end_all_on(
    connection: &mut SqliteConnection,
    user: UserId,
    now: Timestamp,
) -> Result<(), Fault> {
    let all = sessions::table.filter(sessions::user_id.eq(row::bytes(user.uuid()))).order(sessions::id);
    let all = all.select(sessions::id).load::<Vec<u8>>(connection)?;
    delete_on(connection, &all, now)
}

/// Deletes sessions and notifies all servers, since their access tokens end.
pub(super) fn delete_on(
    connection: &mut SqliteConnection,
    ids: &[Vec<u8>],
    now: Timestamp,
) -> Result<(), Fault> {
    if ids.is_empty() {
        return Ok(());
    }
    diesel::delete(sessions::table.filter(sessions::id.eq_any(ids))).execute(connection)?;
    let ended = ids.iter().map(|id| Ok(Change::SessionEnded(SessionId::new(row::uuid(id)?))));
    change::append_on(connection, ended.collect::<Result<Vec<_>, Fault>>()?, now)
}

/// Deletes expired sessions, reset tokens, and challenges. Sockets outlive access tokens, but not the session, so its end is
/// announced.
pub(super) fn forget_on(connection: &mut SqliteConnection, at: Timestamp, limit: u32) -> Result<u32, Fault> {
    let (now, limit) = (at.micros(), i64::from(limit));
    let over = sessions::table.filter(sessions::expires_at.le(now)).order(sessions::expires_at).limit(limit);
    let over = over.select(sessions::id).load::<Vec<u8>>(connection)?;
    delete_on(connection, &over, at)?;
    let old = resets::table.filter(resets::expires_at.le(now)).order(resets::expires_at).limit(limit);
    let old = old.select(resets::user_id).load::<Vec<u8>>(connection)?;
    let gone = diesel::delete(resets::table.filter(resets::user_id.eq_any(old))).execute(connection)?;
    let challenges = passkey::forget_challenges_on(connection, at, limit)?;
    Ok(u32::try_from(over.len() + gone + challenges).unwrap_or(u32::MAX))
}
