//! Sessions and their refresh tokens.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::account::KeyDigest;
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::id::{SessionId, UserId};
use domain::login::{
    EndSessions, EndedAtProvider, LOGOUT_SKEW, MAX_SESSIONS, NewSession, RECORDED_EVERY, RefreshRefused,
    RefreshSession, RefreshedSession, ResetPurpose, ResumeSession, SessionHolder, SessionKind, SessionProof,
    SessionRecord, WhichSessions,
};
use domain::time::Timestamp;
use uuid::Uuid;

use super::{identity, passkey, password, second_factor};
use crate::account::row::UserRow;
use crate::audit;
use crate::change;
use crate::error::Fault;
use crate::lock;
use crate::row::At;
use crate::run::Db;
use crate::schema::{api_keys, passwords, resets, sessions, users};

/// The user is locked, so that the password and the second factor do not change.
pub(super) async fn begin_on(mut db: &Db, new: &NewSession) -> Result<Option<SessionHolder>, Fault> {
    lock::users_on(db, &[new.user]).await?;
    let user = new.user.uuid();
    let Some(holder) = holder_on(db, user).await? else { return Ok(None) };
    let (mut key, mut opened_by, mut expires_at, mut provider) = (None, None, new.expires_at, None);
    match &new.proof {
        SessionProof::Password(proven, second) => {
            // Of two concurrent uses of a code the later one finds it used.
            if holder.password_set_at != Some(*proven)
                || !second_factor::admit_on(db, new.user, second, new.now).await?
            {
                return Ok(None);
            }
        }
        SessionProof::Key(id) => {
            // Its revocation must find the new session.
            lock::api_keys_on(db, vec![id.uuid()]).await?;
            let Some(expiry) = expiry_with_on(db, id.uuid(), new.expires_at, new.now).await? else {
                return Ok(None);
            };
            (key, expires_at) = (Some(id.uuid()), expiry);
        }
        SessionProof::Identity(identity, session) => {
            if !identity::use_on(db, identity, new.user, new.now).await? {
                return Ok(None);
            }
            provider = Some((identity, session));
        }
        SessionProof::Code(code) => {
            // The user is locked: of two concurrent uses the later one finds the code used.
            let found = password::find_reset_on(db, *code, ResetPurpose::LogIn, new.now).await?;
            if found != Some(new.user) {
                return Ok(None);
            }
            diesel::delete(resets::table.find(user)).execute(&mut db).await?;
        }
        SessionProof::Passkey(proof) => {
            // The user is locked: the passkey stays until the session is stored.
            if !passkey::use_on(db, proof, new.user, new.now).await? {
                return Ok(None);
            }
            opened_by = Some(proof.passkey.uuid());
        }
    }
    diesel::insert_into(sessions::table)
        .values((
            sessions::id.eq(new.id.uuid()),
            sessions::user_id.eq(user),
            sessions::family.eq(new.family.bytes().as_slice()),
            sessions::token.eq(new.token.bytes().as_slice()),
            sessions::created_at.eq(At(new.now)),
            sessions::used_at.eq(At(new.now)),
            sessions::expires_at.eq(At(expires_at)),
            sessions::is_browser.eq(new.kind == SessionKind::Browser),
            sessions::key_id.eq(key),
            sessions::passkey_id.eq(opened_by),
            (
                sessions::issuer.eq(provider.map(|(identity, _)| identity.issuer())),
                sessions::subject.eq(provider.map(|(identity, _)| identity.subject())),
                sessions::provider_session.eq(provider.and_then(|(_, session)| session.as_deref())),
            ),
        ))
        .execute(&mut db)
        .await?;
    let beyond = sessions::table
        .filter(sessions::user_id.eq(user))
        .order((sessions::used_at.desc(), sessions::id.desc()))
        .offset(i64::from(MAX_SESSIONS))
        .limit(i64::from(MAX_SESSIONS))
        .select(sessions::id)
        .load::<Uuid>(&mut db)
        .await?;
    delete_on(db, beyond, new.now).await?;
    audit::append_on(db, [AuditEntry::login_succeeded(new)]).await?;
    Ok(Some(holder))
}

/// The session is locked, so that of two concurrent uses of a token the later one counts as reuse.
pub(super) async fn refresh_on(
    mut db: &Db,
    command: &RefreshSession,
) -> Result<Result<RefreshedSession, RefreshRefused>, Fault> {
    let found = sessions::table
        .filter(sessions::family.eq(command.family.bytes().as_slice()))
        .filter(sessions::expires_at.gt(At(command.now)))
        .filter(sessions::is_browser.eq(false))
        .select((sessions::id, sessions::user_id, sessions::token))
        .for_update()
        .first::<(Uuid, Uuid, Vec<u8>)>(&mut db)
        .await
        .optional()?;
    let Some((id, user, token)) = found else { return Ok(Err(RefreshRefused::Unknown)) };
    let token = <[u8; 32]>::try_from(token);
    let token = token.map_err(|_| Fault::Row("a digest of another length".to_owned()))?;
    let Some(holder) = holder_on(db, user).await? else { return Ok(Err(RefreshRefused::Unknown)) };
    let session = SessionId::new(id);
    if KeyDigest::new(token) != command.token {
        delete_on(db, vec![id], command.now).await?;
        let reused = AuditEntry::token_reused(holder.user.id, session, command.now);
        audit::append_on(db, [reused]).await?;
        return Ok(Err(RefreshRefused::Reused(session)));
    }
    diesel::update(sessions::table.find(id))
        .set((
            sessions::token.eq(command.next.bytes().as_slice()),
            sessions::used_at.eq(At(command.now)),
            sessions::expires_at.eq(At(command.expires_at)),
        ))
        .execute(&mut db)
        .await?;
    Ok(Ok(RefreshedSession { id: session, expires_at: command.expires_at, holder }))
}

/// The session is locked, so that it is not continued after its end.
pub(super) async fn resume_on(
    mut db: &Db,
    command: &ResumeSession,
) -> Result<Option<RefreshedSession>, Fault> {
    let found = sessions::table
        .filter(sessions::family.eq(command.family.bytes().as_slice()))
        .filter(sessions::expires_at.gt(At(command.now)))
        .filter(sessions::is_browser.eq(true))
        .select((
            (sessions::id, sessions::user_id, sessions::key_id),
            (sessions::used_at, sessions::expires_at, sessions::issuer.is_not_null()),
        ))
        .for_update()
        .first::<((Uuid, Uuid, Option<Uuid>), (At, At, bool))>(&mut db)
        .await
        .optional()?;
    let Some(((id, user, key), (At(used_at), At(ends_at), is_provided))) = found else { return Ok(None) };
    let mut expires_at = ends_at;
    let Some(holder) = holder_on(db, user).await? else { return Ok(None) };
    if used_at <= command.now.minus(RECORDED_EVERY) {
        let expiry = match key {
            Some(key) => expiry_with_on(db, key, command.expires_at, command.now).await?,
            None if is_provided => Some(ends_at),
            None => Some(command.expires_at),
        };
        let Some(expiry) = expiry else { return Ok(None) };
        expires_at = expiry;
        diesel::update(sessions::table.find(id))
            .set((sessions::used_at.eq(At(command.now)), sessions::expires_at.eq(At(expiry))))
            .execute(&mut db)
            .await?;
    }
    Ok(Some(RefreshedSession { id: SessionId::new(id), expires_at, holder }))
}

/// The expiry of a session that ends with the key, at most `longest`; `None` if the key is not valid.
async fn expiry_with_on(
    mut db: &Db,
    key: Uuid,
    longest: Timestamp,
    now: Timestamp,
) -> Result<Option<Timestamp>, Fault> {
    let expiry = api_keys::table
        .find(key)
        .filter(api_keys::revoked_at.is_null())
        .select(api_keys::expires_at)
        .first::<Option<At>>(&mut db)
        .await
        .optional()?;
    let expiry = expiry.map(|at| at.map_or(longest, |At(time)| time.min(longest)));
    Ok(expiry.filter(|at| *at > now))
}

/// Ends the sessions that these keys have opened; the audit entry of a key's end covers it.
pub(crate) async fn end_of_keys_on(mut db: &Db, keys: &[Uuid], now: Timestamp) -> Result<(), Fault> {
    let opened = sessions::table.filter(sessions::key_id.eq_any(keys)).order(sessions::id);
    let opened = opened.select(sessions::id).for_update().load(&mut db).await?;
    delete_on(db, opened, now).await
}

/// A user who is not disabled.
async fn holder_on(mut db: &Db, user: Uuid) -> Result<Option<SessionHolder>, Fault> {
    let found = users::table
        .left_join(passwords::table)
        .filter(users::id.eq(user))
        .filter(users::disabled_at.is_null())
        .select((UserRow::as_select(), passwords::changed_at.nullable()))
        .first::<(UserRow, Option<At>)>(&mut db)
        .await
        .optional()?;
    let Some((user, set_at)) = found else { return Ok(None) };
    Ok(Some(SessionHolder { user: user.into_user()?, password_set_at: set_at.map(|At(time)| time) }))
}

pub(super) async fn list_on(mut db: &Db, user: UserId, now: Timestamp) -> Result<Vec<SessionRecord>, Fault> {
    let found = sessions::table
        .filter(sessions::user_id.eq(user.uuid()))
        .filter(sessions::expires_at.gt(At(now)))
        .order((sessions::used_at.desc(), sessions::id.desc()))
        .select((sessions::id, sessions::created_at, sessions::used_at, sessions::expires_at))
        .load::<(Uuid, At, At, At)>(&mut db)
        .await?;
    let record = |(id, At(created_at), At(used_at), At(expires_at))| SessionRecord {
        id: SessionId::new(id),
        created_at,
        used_at,
        expires_at,
    };
    Ok(found.into_iter().map(record).collect())
}

/// The sessions are locked in the order of their ids, so that concurrent changes do not deadlock.
pub(super) async fn end_on(mut db: &Db, command: &EndSessions) -> Result<Vec<SessionId>, Fault> {
    let meant = sessions::table.select((sessions::id, sessions::user_id)).order(sessions::id).for_update();
    let found = match &command.which {
        WhichSessions::Family(family) => {
            let meant = meant.filter(sessions::family.eq(family.bytes().as_slice()));
            meant.load::<(Uuid, Uuid)>(&mut db).await?
        }
        WhichSessions::Own(user, session) => {
            let meant = meant.filter(sessions::user_id.eq(user.uuid()));
            meant.filter(sessions::id.eq(session.uuid())).load(&mut db).await?
        }
        WhichSessions::AtProvider(ended) => at_provider_on(db, ended).await?,
        WhichSessions::Others(user, current) => {
            let current = current.map_or_else(Uuid::nil, SessionId::uuid);
            let meant = meant.filter(sessions::user_id.eq(user.uuid()));
            meant.filter(sessions::id.ne(current)).load(&mut db).await?
        }
    };
    let ids = found.iter().map(|(id, _)| *id).collect();
    delete_on(db, ids, command.now).await?;
    let entry = |(id, user): &(Uuid, Uuid)| {
        let (user, session) = (UserId::new(*user), SessionId::new(*id));
        match &command.which {
            WhichSessions::AtProvider(ended) => {
                AuditEntry::session_ended_at_provider(user, session, &ended.issuer, command.now)
            }
            _ => AuditEntry::session_ended(user, session, command.now),
        }
    };
    audit::append_on(db, found.iter().map(entry)).await?;
    Ok(found.into_iter().map(|(id, _)| SessionId::new(id)).collect())
}

/// The sessions that a provider says have ended, locked, with their users.
async fn at_provider_on(mut db: &Db, ended: &EndedAtProvider) -> Result<Vec<(Uuid, Uuid)>, Fault> {
    let latest = ended.issued_at.plus(LOGOUT_SKEW);
    let mut meant = sessions::table
        .select(sessions::id)
        .filter(sessions::issuer.eq(ended.issuer.clone()))
        .filter(sessions::created_at.le(At(latest)))
        .into_boxed();
    if let Some(subject) = &ended.subject {
        meant = meant.filter(sessions::subject.eq(subject.clone()));
    }
    match &ended.session {
        // A session of which the provider did not tell the id counts as one of the person.
        Some(session) if ended.subject.is_some() => {
            let unknown = sessions::provider_session.is_null();
            meant = meant.filter(sessions::provider_session.eq(session.clone()).or(unknown));
        }
        Some(session) => meant = meant.filter(sessions::provider_session.eq(session.clone())),
        None => {}
    }
    let ids = meant.load::<Uuid>(&mut db).await?;
    let found = sessions::table.select((sessions::id, sessions::user_id)).filter(sessions::id.eq_any(ids));
    Ok(found.order(sessions::id).for_update().load(&mut db).await?)
}

/// Ends all sessions of a disabled user; the audit entry of that change covers it.
pub(crate) async fn end_all_on(mut db: &Db, user: UserId, now: Timestamp) -> Result<(), Fault> {
    let all = sessions::table.filter(sessions::user_id.eq(user.uuid())).order(sessions::id);
    let all = all.select(sessions::id).for_update().load(&mut db).await?;
    delete_on(db, all, now).await
}

/// Deletes sessions and notifies all servers, since their access tokens end.
pub(super) async fn delete_on(mut db: &Db, ids: Vec<Uuid>, now: Timestamp) -> Result<(), Fault> {
    if ids.is_empty() {
        return Ok(());
    }
    diesel::delete(sessions::table.filter(sessions::id.eq_any(&ids))).execute(&mut db).await?;
    record_ended_on(db, ids, now).await
}

async fn record_ended_on(db: &Db, ended: Vec<Uuid>, now: Timestamp) -> Result<(), Fault> {
    change::append_on(db, ended.into_iter().map(|id| Change::SessionEnded(SessionId::new(id))), now).await
}

/// Deletes expired sessions, reset tokens, and challenges. Sockets outlive access tokens, but not the session, so all servers are
/// notified.
pub(super) async fn forget_on(mut db: &Db, at: Timestamp, limit: u32) -> Result<u32, Fault> {
    let (now, limit) = (At(at), i64::from(limit));
    let over = sessions::table.filter(sessions::expires_at.le(now)).order(sessions::expires_at).limit(limit);
    let over = over.select(sessions::id).load::<Uuid>(&mut db).await?;
    let still = sessions::table.filter(sessions::id.eq_any(over)).filter(sessions::expires_at.le(now));
    let ended = diesel::delete(still).returning(sessions::id).load::<Uuid>(&mut db).await?;
    let count = ended.len();
    record_ended_on(db, ended, at).await?;
    let old = resets::table.filter(resets::expires_at.le(now)).order(resets::expires_at).limit(limit);
    let old = old.select(resets::user_id).load::<Uuid>(&mut db).await?;
    let still = resets::table.filter(resets::user_id.eq_any(old)).filter(resets::expires_at.le(now));
    let gone = diesel::delete(still).execute(&mut db).await?;
    let challenges = passkey::forget_challenges_on(db, at, limit).await?;
    Ok(u32::try_from(count + gone + challenges).unwrap_or(u32::MAX))
}
