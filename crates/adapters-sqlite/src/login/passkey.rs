//! Passkeys, and the challenges that were used.

#[path = "../../../sql-rows/passkey.rs"]
mod record;

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::id::{PasskeyId, UserId};
use domain::login::{
    AddPasskeyOutcome, MAX_PASSKEYS, NewPasskey, Passkey, PasskeyName, PasskeyUse, RemovePasskeyOutcome,
    RemovePasskeys, UsedChallenge,
};
use domain::time::Timestamp;

use super::{second_factor, session};
use crate::account::find::user_on;
use crate::audit;
use crate::error::Fault;
use crate::row;
use crate::schema::{passkeys, sessions, used_challenges};
use record::PasskeyRow;

pub(super) fn list_on(connection: &mut SqliteConnection, user: UserId) -> Result<Vec<Passkey>, Fault> {
    let all = passkeys::table.filter(passkeys::user_id.eq(row::bytes(user.uuid()))).order(passkeys::id);
    let rows = all.select(PasskeyRow::as_select()).load::<PasskeyRow>(connection)?;
    rows.into_iter().map(PasskeyRow::into_passkey).collect()
}

pub(super) fn find_on(
    connection: &mut SqliteConnection,
    credential: &[u8],
) -> Result<Option<Passkey>, Fault> {
    let named = passkeys::table.filter(passkeys::credential_id.eq(credential));
    let found = named.select(PasskeyRow::as_select()).get_result::<PasskeyRow>(connection).optional()?;
    found.map(PasskeyRow::into_passkey).transpose()
}

pub(super) fn add_on(
    connection: &mut SqliteConnection,
    new: &NewPasskey,
) -> Result<AddPasskeyOutcome, Fault> {
    let passkey = &new.passkey;
    if user_on(connection, passkey.user)?.is_none() {
        return Ok(AddPasskeyOutcome::UserGone);
    }
    if list_on(connection, passkey.user)?.len() >= MAX_PASSKEYS {
        return Ok(AddPasskeyOutcome::TooMany);
    }
    if find_on(connection, &passkey.credential.id)?.is_some() {
        return Ok(AddPasskeyOutcome::Taken);
    }
    if !use_up_on(connection, &new.challenge)? {
        return Ok(AddPasskeyOutcome::Used);
    }
    diesel::insert_into(passkeys::table).values(PasskeyRow::of(passkey)).execute(connection)?;
    audit::append_on(connection, [AuditEntry::passkey_added(passkey)])?;
    Ok(AddPasskeyOutcome::Added)
}

pub(super) fn rename_on(
    connection: &mut SqliteConnection,
    user: UserId,
    passkey: PasskeyId,
    name: &PasskeyName,
) -> Result<Option<Passkey>, Fault> {
    let own = passkeys::table
        .find(row::bytes(passkey.uuid()))
        .filter(passkeys::user_id.eq(row::bytes(user.uuid())));
    let renamed = diesel::update(own)
        .set(passkeys::name.eq(name.as_str()))
        .returning(PasskeyRow::as_returning())
        .get_result::<PasskeyRow>(connection)
        .optional()?;
    renamed.map(PasskeyRow::into_passkey).transpose()
}

pub(super) fn remove_on(
    connection: &mut SqliteConnection,
    command: &RemovePasskeys,
) -> Result<RemovePasskeyOutcome, Fault> {
    let mut removed = list_on(connection, command.user)?;
    removed.retain(|passkey| command.passkey.is_none_or(|id| passkey.id == id));
    if removed.is_empty() {
        return Ok(RemovePasskeyOutcome::NotFound);
    }
    if !second_factor::admit_on(connection, command.user, &command.proof, command.now)? {
        return Ok(RemovePasskeyOutcome::Refused);
    }
    let ids = removed.iter().map(|passkey| row::bytes(passkey.id.uuid())).collect::<Vec<_>>();
    diesel::delete(passkeys::table.filter(passkeys::id.eq_any(&ids))).execute(connection)?;
    let opened = sessions::table
        .filter(sessions::user_id.eq(row::bytes(command.user.uuid())))
        .filter(sessions::passkey_id.eq_any(&ids));
    let opened = opened.order(sessions::id).select(sessions::id).load::<Vec<u8>>(connection)?;
    session::delete_on(connection, &opened, command.now)?;
    let entries = removed.iter().map(|passkey| AuditEntry::passkey_removed(command, passkey));
    audit::append_on(connection, entries)?;
    Ok(RemovePasskeyOutcome::Removed)
}

/// Removes all passkeys of a user who is being deleted; the audit entry of that covers it.
pub(crate) fn forget_on(connection: &mut SqliteConnection, user: UserId) -> Result<(), Fault> {
    let all = passkeys::table.filter(passkeys::user_id.eq(row::bytes(user.uuid())));
    diesel::delete(all).execute(connection)?;
    Ok(())
}

/// Records a log-in, and uses its challenge up; returns whether the passkey of the user may open a session.
pub(super) fn use_on(
    connection: &mut SqliteConnection,
    proof: &PasskeyUse,
    user: UserId,
    now: Timestamp,
) -> Result<bool, Fault> {
    let known = list_on(connection, user)?.into_iter().find(|passkey| passkey.id == proof.passkey);
    if !known.is_some_and(|passkey| passkey.admits(proof.sign_count))
        || !use_up_on(connection, &proof.challenge)?
    {
        return Ok(false);
    }
    diesel::update(passkeys::table.find(row::bytes(proof.passkey.uuid())))
        .set((passkeys::sign_count.eq(i64::from(proof.sign_count)), passkeys::used_at.eq(now.micros())))
        .execute(connection)?;
    Ok(true)
}

/// Uses a challenge up; returns false if it was used already.
fn use_up_on(connection: &mut SqliteConnection, challenge: &UsedChallenge) -> Result<bool, Fault> {
    let used = diesel::insert_into(used_challenges::table)
        .values((
            used_challenges::digest.eq(challenge.digest.bytes().as_slice()),
            used_challenges::expires_at.eq(challenge.expires_at.micros()),
        ))
        .on_conflict_do_nothing()
        .execute(connection)?;
    Ok(used > 0)
}

/// Deletes challenges that have expired; returns their number.
pub(super) fn forget_challenges_on(
    connection: &mut SqliteConnection,
    now: Timestamp,
    limit: i64,
) -> Result<usize, Fault> {
    let old = used_challenges::table.filter(used_challenges::expires_at.le(now.micros())).limit(limit);
    let old = old.select(used_challenges::digest).load::<Vec<u8>>(connection)?;
    let gone = used_challenges::table.filter(used_challenges::digest.eq_any(old));
    Ok(diesel::delete(gone).execute(connection)?)
}
