//! Storing, finding, and forgetting records.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::file::{File, FileDigest, FileLimits, NewFile, StoreFileRefused, StoredBytes, StoredFile};
use domain::id::{ChatId, FileId, OrganizationId, ParticipantId};
use domain::time::Timestamp;
use uuid::Uuid;

use super::row::{FileRow, NewFileRow};
use crate::chat::load::{membership_on, standing_on};
use crate::error::Fault;
use crate::plan::quota::bytes_of;
use crate::row::At;
use crate::run::Db;
use crate::schema::{chats, files};
use crate::statement::statement;
use crate::{audit, lock};

/// The bytes of the files of an organization's chats, added up by the database without overflow.
const OF_ORGANIZATION: &str = "SELECT coalesce(sum(files.bytes), 0)::bigint FROM chats JOIN files ON files.chat_id = chats.id \
     WHERE chats.organization_id = ? AND chats.deleted_at IS NULL";

const OF_CHAT: &str = "SELECT coalesce(sum(bytes), 0)::bigint FROM files WHERE chat_id = ?";

pub(super) async fn stored_bytes_on(
    db: &Db,
    who: ParticipantId,
    chat: ChatId,
    digest: FileDigest,
    limits: &FileLimits,
    now: Timestamp,
) -> Result<Option<StoredBytes>, Fault> {
    if membership_on(db, who, chat).await?.is_none() {
        return Ok(None);
    }
    let has_same = same_on(db, chat, digest).await?.is_some_and(|file| file.is_live(now));
    let organization = organization_of_on(db, chat, limits).await?;
    Ok(Some(StoredBytes { has_same, ..bytes_on(db, chat, organization, limits).await? }))
}

/// The stored bytes that count towards the limits that are set.
async fn bytes_on(
    mut db: &Db,
    chat: ChatId,
    organization: Option<OrganizationId>,
    limits: &FileLimits,
) -> Result<StoredBytes, Fault> {
    let mut stored = StoredBytes::default();
    if limits.chat_bytes.is_some() {
        let sum = statement::<BigInt>(OF_CHAT).bind::<SqlUuid, _>(chat.uuid());
        stored.chat = bytes_of(sum.get_result::<i64>(&mut db).await?);
    }
    if let Some(organization) = organization {
        let sum = statement::<BigInt>(OF_ORGANIZATION).bind::<SqlUuid, _>(organization.uuid());
        stored.organization = bytes_of(sum.get_result::<i64>(&mut db).await?);
    }
    Ok(stored)
}

/// The organization of a chat, if it has a limit.
async fn organization_of_on(
    mut db: &Db,
    chat: ChatId,
    limits: &FileLimits,
) -> Result<Option<OrganizationId>, Fault> {
    if limits.organization_bytes.is_none() {
        return Ok(None);
    }
    let found = chats::table.find(chat.uuid()).select(chats::organization_id);
    let found = found.first::<Option<Uuid>>(&mut db).await.optional()?.flatten();
    Ok(found.map(OrganizationId::new))
}

/// The file of a chat with these bytes, live or not.
async fn same_on(mut db: &Db, chat: ChatId, digest: FileDigest) -> Result<Option<File>, Fault> {
    let same = files::table
        .filter(files::chat_id.eq(chat.uuid()))
        .filter(files::digest.eq(digest.bytes().to_vec()))
        .select(FileRow::as_select());
    same.first(&mut db).await.optional()?.map(FileRow::into_file).transpose()
}

pub(super) async fn store_on(
    mut db: &Db,
    new: &NewFile,
) -> Result<Result<StoredFile, StoreFileRefused>, Fault> {
    let organization = organization_of_on(db, new.chat, &new.limits).await?;
    if let Some(organization) = organization {
        // No other chat of it adds files meanwhile.
        lock::people_on(db, organization).await?;
    }
    lock::chat_on(db, new.chat).await?;
    if membership_on(db, new.by.participant(), new.chat).await?.is_none() {
        return Ok(Err(StoreFileRefused::NotFound));
    }
    if let Some(same) = same_on(db, new.chat, new.file.digest).await? {
        let row = files::table.find(same.id.uuid());
        if same.is_live(new.now) {
            let before = same.expires_at;
            let file = new.merged_into(same);
            if file.expires_at != before {
                diesel::update(row)
                    .set(files::expires_at.eq(file.expires_at.map(At)))
                    .execute(&mut db)
                    .await?;
            }
            return Ok(Ok(StoredFile { file, is_new: false }));
        }
        diesel::delete(row).execute(&mut db).await?;
    }
    let stored = bytes_on(db, new.chat, organization, &new.limits).await?;
    if let Err(full) = stored.check(new.chat, new.file.bytes, &new.limits) {
        return Ok(Err(StoreFileRefused::Full(full)));
    }
    diesel::insert_into(files::table).values(NewFileRow::of(new)).execute(&mut db).await?;
    audit::append_on(db, [AuditEntry::file_uploaded(new)]).await?;
    Ok(Ok(StoredFile { file: new.file.clone(), is_new: true }))
}

pub(super) async fn find_on(
    mut db: &Db,
    viewer: ParticipantId,
    chat: ChatId,
    file: FileId,
    now: Timestamp,
) -> Result<Option<File>, Fault> {
    if !standing_on(db, viewer, chat).await?.may_read() {
        return Ok(None);
    }
    let found = files::table.find(file.uuid()).filter(files::chat_id.eq(chat.uuid()));
    let found = found.select(FileRow::as_select()).first(&mut db).await.optional()?;
    let found = found.map(FileRow::into_file).transpose()?;
    Ok(found.filter(|file| file.is_live(now)))
}

pub(super) async fn expired_on(mut db: &Db, before: Timestamp, limit: u32) -> Result<Vec<FileId>, Fault> {
    let expired = files::table
        .filter(files::expires_at.lt(At(before)))
        .order(files::expires_at)
        .limit(i64::from(limit))
        .select(files::id);
    Ok(expired.load::<Uuid>(&mut db).await?.into_iter().map(FileId::new).collect())
}

pub(super) async fn forget_on(mut db: &Db, files: &[FileId], before: Timestamp) -> Result<(), Fault> {
    // By id, as everybody locks them. What another node removes is left to it.
    let expired = files::table
        .filter(files::id.eq_any(uuids(files)))
        .filter(files::expires_at.lt(At(before)))
        .order(files::id)
        .for_update()
        .skip_locked()
        .select(files::id);
    let expired = expired.load::<Uuid>(&mut db).await?;
    diesel::delete(files::table.filter(files::id.eq_any(expired))).execute(&mut db).await?;
    Ok(())
}

pub(super) async fn recorded_on(mut db: &Db, files: &[FileId]) -> Result<Vec<FileId>, Fault> {
    let found = files::table.filter(files::id.eq_any(uuids(files))).select(files::id);
    Ok(found.load::<Uuid>(&mut db).await?.into_iter().map(FileId::new).collect())
}

fn uuids(files: &[FileId]) -> Vec<Uuid> {
    files.iter().map(|file| file.uuid()).collect()
}
