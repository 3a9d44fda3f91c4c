//! Identities at providers. Linking one locks the names of users, so that nobody is created with it meanwhile.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::account::User;
use domain::audit::AuditEntry;
use domain::id::UserId;
use domain::login::{Identity, IdentityRecord, LinkOutcome, NewIdentity};
use domain::time::Timestamp;
use uuid::Uuid;

use super::session;
use crate::account::find::user_on;
use crate::account::row::UserRow;
use crate::audit;
use crate::error::Fault;
use crate::lock;
use crate::row::At;
use crate::run::Db;
use crate::schema::{identities, sessions, users};

pub(super) async fn find_on(mut db: &Db, identity: &Identity) -> Result<Option<User>, Fault> {
    let found = identities::table
        .inner_join(users::table)
        .filter(identities::issuer.eq(identity.issuer()))
        .filter(identities::subject.eq(identity.subject()))
        .select(UserRow::as_select())
        .first(&mut db)
        .await
        .optional()?;
    found.map(UserRow::into_user).transpose()
}

pub(super) async fn list_on(mut db: &Db, user: UserId) -> Result<Vec<IdentityRecord>, Fault> {
    let found = identities::table
        .filter(identities::user_id.eq(user.uuid()))
        .order(identities::issuer)
        .select((identities::issuer, identities::subject, identities::created_at, identities::used_at))
        .load::<(String, String, At, Option<At>)>(&mut db)
        .await?;
    let record =
        |(issuer, subject, At(created_at), used_at): (String, String, At, Option<At>)| IdentityRecord {
            identity: Identity::from_stored(issuer, subject),
            user,
            created_at,
            used_at: used_at.map(|At(time)| time),
        };
    Ok(found.into_iter().map(record).collect())
}

/// Returns whether the identity, or that of the user at the same provider, is linked.
pub(crate) async fn is_taken_on(mut db: &Db, identity: &Identity, user: UserId) -> Result<bool, Fault> {
    let same = identities::subject.eq(identity.subject());
    let taken = identities::table
        .filter(identities::issuer.eq(identity.issuer()))
        .filter(same.or(identities::user_id.eq(user.uuid())));
    Ok(diesel::select(diesel::dsl::exists(taken)).get_result(&mut db).await?)
}

pub(super) async fn link_on(db: &Db, new: &NewIdentity) -> Result<LinkOutcome, Fault> {
    lock::names_on(db).await?;
    lock::users_on(db, &[new.user]).await?;
    if user_on(db, new.user).await?.is_none() {
        return Ok(LinkOutcome::UserGone);
    }
    if is_taken_on(db, &new.identity, new.user).await? {
        return Ok(LinkOutcome::Taken);
    }
    insert_on(db, new).await?;
    Ok(LinkOutcome::Linked)
}

/// Links an identity that is not taken.
pub(crate) async fn insert_on(mut db: &Db, new: &NewIdentity) -> Result<(), Fault> {
    diesel::insert_into(identities::table)
        .values((
            identities::issuer.eq(new.identity.issuer()),
            identities::subject.eq(new.identity.subject()),
            identities::user_id.eq(new.user.uuid()),
            identities::created_at.eq(At(new.now)),
        ))
        .execute(&mut db)
        .await?;
    audit::append_on(db, [AuditEntry::identity_linked(new)]).await
}

/// Records a log-in; returns whether the identity is linked to the user, who is locked.
pub(super) async fn use_on(
    mut db: &Db,
    identity: &Identity,
    user: UserId,
    now: Timestamp,
) -> Result<bool, Fault> {
    let linked = identities::table
        .filter(identities::issuer.eq(identity.issuer()))
        .filter(identities::subject.eq(identity.subject()))
        .filter(identities::user_id.eq(user.uuid()));
    Ok(diesel::update(linked).set(identities::used_at.eq(At(now))).execute(&mut db).await? > 0)
}

pub(super) async fn unlink_on(
    mut db: &Db,
    user: UserId,
    issuer: &str,
    now: Timestamp,
) -> Result<Option<Identity>, Fault> {
    lock::users_on(db, &[user]).await?;
    let linked =
        identities::table.filter(identities::user_id.eq(user.uuid())).filter(identities::issuer.eq(issuer));
    let subject = linked.select(identities::subject).first::<String>(&mut db).await.optional()?;
    let Some(subject) = subject else { return Ok(None) };
    diesel::delete(linked).execute(&mut db).await?;
    let opened =
        sessions::table.filter(sessions::user_id.eq(user.uuid())).filter(sessions::issuer.eq(issuer));
    let opened = opened.order(sessions::id).select(sessions::id).for_update().load::<Uuid>(&mut db).await?;
    session::delete_on(db, opened, now).await?;
    let identity = Identity::from_stored(issuer.to_owned(), subject);
    audit::append_on(db, [AuditEntry::identity_unlinked(user, &identity, now)]).await?;
    Ok(Some(identity))
}
