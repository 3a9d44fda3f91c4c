//! Passkeys, and the challenges that were used. A change of passkeys, and the use of one, lock the user.

#[path = "../../../sql-rows/passkey.rs"]
mod record;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::id::{PasskeyId, UserId};
use domain::login::{
    AddPasskeyOutcome, MAX_PASSKEYS, NewPasskey, Passkey, PasskeyName, PasskeyUse, RemovePasskeyOutcome,
    RemovePasskeys, SecondProof, UsedChallenge,
};
use domain::time::Timestamp;
use uuid::Uuid;

use super::{second_factor, session};
use crate::account::find::user_on;
use crate::audit;
use crate::error::Fault;
use crate::lock;
use crate::row::At;
use crate::run::Db;
use crate::schema::{passkeys, sessions, used_challenges};
use record::PasskeyRow;

pub(super) async fn list_on(mut db: &Db, user: UserId) -> Result<Vec<Passkey>, Fault> {
    let all = passkeys::table.filter(passkeys::user_id.eq(user.uuid())).order(passkeys::id);
    let rows = all.select(PasskeyRow::as_select()).load::<PasskeyRow>(&mut db).await?;
    rows.into_iter().map(PasskeyRow::into_passkey).collect()
}

pub(super) async fn find_on(mut db: &Db, credential: &[u8]) -> Result<Option<Passkey>, Fault> {
    let named = passkeys::table.filter(passkeys::credential_id.eq(credential));
    let found = named.select(PasskeyRow::as_select()).first::<PasskeyRow>(&mut db).await.optional()?;
    found.map(PasskeyRow::into_passkey).transpose()
}

pub(super) async fn use_second_proof_on(
    db: &Db,
    user: UserId,
    proof: &SecondProof,
    now: Timestamp,
) -> Result<bool, Fault> {
    lock::users_on(db, &[user]).await?;
    second_factor::admit_on(db, user, proof, now).await
}

pub(super) async fn add_on(mut db: &Db, new: &NewPasskey) -> Result<AddPasskeyOutcome, Fault> {
    let passkey = &new.passkey;
    lock::users_on(db, &[passkey.user]).await?;
    if user_on(db, passkey.user).await?.is_none() {
        return Ok(AddPasskeyOutcome::UserGone);
    }
    if list_on(db, passkey.user).await?.len() >= MAX_PASSKEYS {
        return Ok(AddPasskeyOutcome::TooMany);
    }
    if find_on(db, &passkey.credential.id).await?.is_some() {
        return Ok(AddPasskeyOutcome::Taken);
    }
    if !use_up_on(db, &new.challenge).await? {
        return Ok(AddPasskeyOutcome::Used);
    }
    // Another user, who is not locked, may add the same key at this moment.
    let added = diesel::insert_into(passkeys::table).values(PasskeyRow::of(passkey));
    if added.on_conflict(passkeys::credential_id).do_nothing().execute(&mut db).await? == 0 {
        return Ok(AddPasskeyOutcome::Taken);
    }
    audit::append_on(db, [AuditEntry::passkey_added(passkey)]).await?;
    Ok(AddPasskeyOutcome::Added)
}

pub(super) async fn rename_on(
    mut db: &Db,
    user: UserId,
    passkey: PasskeyId,
    name: &PasskeyName,
) -> Result<Option<Passkey>, Fault> {
    let own = passkeys::table.find(passkey.uuid()).filter(passkeys::user_id.eq(user.uuid()));
    let renamed = diesel::update(own)
        .set(passkeys::name.eq(name.as_str()))
        .returning(PasskeyRow::as_returning())
        .get_result::<PasskeyRow>(&mut db)
        .await
        .optional()?;
    renamed.map(PasskeyRow::into_passkey).transpose()
}

pub(super) async fn remove_on(mut db: &Db, command: &RemovePasskeys) -> Result<RemovePasskeyOutcome, Fault> {
    lock::users_on(db, &[command.user]).await?;
    let mut removed = list_on(db, command.user).await?;
    removed.retain(|passkey| command.passkey.is_none_or(|id| passkey.id == id));
    if removed.is_empty() {
        return Ok(RemovePasskeyOutcome::NotFound);
    }
    if !second_factor::admit_on(db, command.user, &command.proof, command.now).await? {
        return Ok(RemovePasskeyOutcome::Refused);
    }
    let ids = removed.iter().map(|passkey| passkey.id.uuid()).collect::<Vec<_>>();
    diesel::delete(passkeys::table.filter(passkeys::id.eq_any(&ids))).execute(&mut db).await?;
    let opened = sessions::table
        .filter(sessions::user_id.eq(command.user.uuid()))
        .filter(sessions::passkey_id.eq_any(&ids));
    let opened = opened.order(sessions::id).select(sessions::id).for_update().load::<Uuid>(&mut db).await?;
    session::delete_on(db, opened, command.now).await?;
    let entries = removed.iter().map(|passkey| AuditEntry::passkey_removed(command, passkey));
    audit::append_on(db, entries.collect::<Vec<_>>()).await?;
    Ok(RemovePasskeyOutcome::Removed)
}

/// Removes all passkeys of a user who is being deleted; the audit entry of that covers it.
pub(crate) async fn forget_on(mut db: &Db, user: UserId) -> Result<(), Fault> {
    diesel::delete(passkeys::table.filter(passkeys::user_id.eq(user.uuid()))).execute(&mut db).await?;
    Ok(())
}

/// Records a log-in of a user, who is locked, and uses its challenge up; returns whether the passkey may open a session.
pub(super) async fn use_on(
    mut db: &Db,
    proof: &PasskeyUse,
    user: UserId,
    now: Timestamp,
) -> Result<bool, Fault> {
    let known = list_on(db, user).await?.into_iter().find(|passkey| passkey.id == proof.passkey);
    if !known.is_some_and(|passkey| passkey.admits(proof.sign_count))
        || !use_up_on(db, &proof.challenge).await?
    {
        return Ok(false);
    }
    diesel::update(passkeys::table.find(proof.passkey.uuid()))
        .set((passkeys::sign_count.eq(i64::from(proof.sign_count)), passkeys::used_at.eq(At(now))))
        .execute(&mut db)
        .await?;
    Ok(true)
}

/// Uses a challenge up; returns false if it was used already.
async fn use_up_on(mut db: &Db, challenge: &UsedChallenge) -> Result<bool, Fault> {
    let used = diesel::insert_into(used_challenges::table)
        .values((
            used_challenges::digest.eq(challenge.digest.bytes().as_slice()),
            used_challenges::expires_at.eq(At(challenge.expires_at)),
        ))
        .on_conflict_do_nothing()
        .execute(&mut db)
        .await?;
    Ok(used > 0)
}

/// Deletes challenges that have expired; returns their number.
pub(super) async fn forget_challenges_on(mut db: &Db, now: Timestamp, limit: i64) -> Result<usize, Fault> {
    let old = used_challenges::table.filter(used_challenges::expires_at.le(At(now))).limit(limit);
    let old = old.select(used_challenges::digest).load::<Vec<u8>>(&mut db).await?;
    let gone = used_challenges::table.filter(used_challenges::digest.eq_any(old));
    Ok(diesel::delete(gone).execute(&mut db).await?)
}
