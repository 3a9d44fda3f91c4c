//! Identities at providers.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::id::UserId;
use domain::login::{Identity, IdentityRecord, LinkOutcome, NewIdentity};
use domain::time::Timestamp;

use super::session;
use crate::account::find::user_on;
use crate::account::row::UserRow;
use crate::audit;
use crate::error::Fault;
use crate::row;
use crate::schema::{identities, sessions, users};

pub(super) fn find_on(
    connection: &mut SqliteConnection,
    identity: &Identity,
) -> Result<Option<domain::account::User>, Fault> {
    let found = identities::table
        .inner_join(users::table)
        .filter(identities::issuer.eq(identity.issuer()))
        .filter(identities::subject.eq(identity.subject()))
        .select(UserRow::as_select())
        .get_result(connection)
        .optional()?;
    found.map(UserRow::into_user).transpose()
}

pub(super) fn list_on(connection: &mut SqliteConnection, user: UserId) -> Result<Vec<IdentityRecord>, Fault> {
    let found = identities::table
        .filter(identities::user_id.eq(row::bytes(user.uuid())))
        .order(identities::issuer)
        .select((identities::issuer, identities::subject, identities::created_at, identities::used_at))
        .load::<(String, String, i64, Option<i64>)>(connection)?;
    let record =
        |(issuer, subject, created_at, used_at): (String, String, i64, Option<i64>)| IdentityRecord {
            identity: Identity::from_stored(issuer, subject),
            user,
            created_at: row::time(created_at),
            used_at: used_at.map(row::time),
        };
    Ok(found.into_iter().map(record).collect())
}

/// Returns whether the identity, or that of the user at the same provider, is linked.
pub(crate) fn is_taken_on(
    connection: &mut SqliteConnection,
    identity: &Identity,
    user: UserId,
) -> Result<bool, Fault> {
    let same = identities::subject.eq(identity.subject());
    let taken = identities::table
        .filter(identities::issuer.eq(identity.issuer()))
        .filter(same.or(identities::user_id.eq(row::bytes(user.uuid()))));
    Ok(diesel::select(diesel::dsl::exists(taken)).get_result(connection)?)
}

pub(super) fn link_on(connection: &mut SqliteConnection, new: &NewIdentity) -> Result<LinkOutcome, Fault> {
    if user_on(connection, new.user)?.is_none() {
        return Ok(LinkOutcome::UserGone);
    }
    if is_taken_on(connection, &new.identity, new.user)? {
        return Ok(LinkOutcome::Taken);
    }
    insert_on(connection, new)?;
    Ok(LinkOutcome::Linked)
}

/// Links an identity that is not taken.
pub(crate) fn insert_on(connection: &mut SqliteConnection, new: &NewIdentity) -> Result<(), Fault> {
    diesel::insert_into(identities::table)
        .values((
            identities::issuer.eq(new.identity.issuer()),
            identities::subject.eq(new.identity.subject()),
            identities::user_id.eq(row::bytes(new.user.uuid())),
            identities::created_at.eq(new.now.micros()),
        ))
        .execute(connection)?;
    audit::append_on(connection, [AuditEntry::identity_linked(new)])
}

/// Records a log-in; returns whether the identity is linked to the user.
pub(super) fn use_on(
    connection: &mut SqliteConnection,
    identity: &Identity,
    user: UserId,
    now: Timestamp,
) -> Result<bool, Fault> {
    let linked = identities::table
        .filter(identities::issuer.eq(identity.issuer()))
        .filter(identities::subject.eq(identity.subject()))
        .filter(identities::user_id.eq(row::bytes(user.uuid())));
    Ok(diesel::update(linked).set(identities::used_at.eq(now.micros())).execute(connection)? > 0)
}

pub(super) fn unlink_on(
    connection: &mut SqliteConnection,
    user: UserId,
    issuer: &str,
    now: Timestamp,
) -> Result<Option<Identity>, Fault> {
    let id = row::bytes(user.uuid());
    let linked = identities::table.filter(identities::user_id.eq(&id)).filter(identities::issuer.eq(issuer));
    let subject = linked.select(identities::subject).get_result::<String>(connection).optional()?;
    let Some(subject) = subject else { return Ok(None) };
    diesel::delete(linked).execute(connection)?;
    let opened = sessions::table.filter(sessions::user_id.eq(&id)).filter(sessions::issuer.eq(issuer));
    let opened = opened.order(sessions::id).select(sessions::id).load::<Vec<u8>>(connection)?;
    session::delete_on(connection, &opened, now)?;
    let identity = Identity::from_stored(issuer.to_owned(), subject);
    audit::append_on(connection, [AuditEntry::identity_unlinked(user, &identity, now)])?;
    Ok(Some(identity))
}
