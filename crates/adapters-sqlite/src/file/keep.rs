//! Storing, finding, and forgetting records.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::file::{File, FileDigest, FileLimits, NewFile, StoreFileRefused, StoredBytes, StoredFile};
use domain::id::{ChatId, FileId, OrganizationId, ParticipantId};
use domain::time::Timestamp;

use super::row::{FileRow, NewFileRow};
use crate::audit;
use crate::chat::load::{membership_on, standing_on};
use crate::error::Fault;
use crate::plan::quota::bytes_of;
use crate::row::{At, Id};
use crate::schema::{chats, files};
use crate::statement::statement;

pub(super) fn stored_bytes_on(
    connection: &mut SqliteConnection,
    who: ParticipantId,
    chat: ChatId,
    digest: FileDigest,
    limits: &FileLimits,
    now: Timestamp,
) -> Result<Option<StoredBytes>, Fault> {
    if membership_on(connection, who, chat)?.is_none() {
        return Ok(None);
    }
    let has_same = same_on(connection, chat, digest)?.is_some_and(|file| file.is_live(now));
    Ok(Some(StoredBytes { has_same, ..bytes_on(connection, chat, limits)? }))
}

/// The stored bytes that count towards the limits that are set.
fn bytes_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
    limits: &FileLimits,
) -> Result<StoredBytes, Fault> {
    let mut stored = StoredBytes::default();
    if limits.chat_bytes.is_some() {
        let sum = statement!("SELECT coalesce(sum(bytes), 0) FROM files WHERE chat_id = ?" => BigInt);
        stored.chat = bytes_of(sum.bind::<Binary, _>(Id(chat.uuid())).get_result::<i64>(connection)?);
    }
    if limits.organization_bytes.is_some()
        && let Some(organization) = organization_of_on(connection, chat)?
    {
        let sum = statement!(
            "SELECT coalesce(sum(files.bytes), 0) FROM chats CROSS JOIN files ON files.chat_id = chats.id \
             WHERE chats.organization_id = ? AND chats.deleted_at IS NULL" => BigInt
        );
        let sum = sum.bind::<Binary, _>(Id(organization.uuid()));
        stored.organization = bytes_of(sum.get_result::<i64>(connection)?);
    }
    Ok(stored)
}

fn organization_of_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
) -> Result<Option<OrganizationId>, Fault> {
    let found = chats::table.find(Id(chat.uuid())).select(chats::organization_id);
    let found = found.get_result::<Option<Id>>(connection).optional()?.flatten();
    Ok(found.map(|id| OrganizationId::new(id.0)))
}

/// The file of a chat with these bytes, live or not.
fn same_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
    digest: FileDigest,
) -> Result<Option<File>, Fault> {
    let same = files::table
        .filter(files::chat_id.eq(Id(chat.uuid())))
        .filter(files::digest.eq(digest.bytes().to_vec()))
        .select(FileRow::as_select());
    same.get_result(connection).optional()?.map(FileRow::into_file).transpose()
}

pub(super) fn store_on(
    connection: &mut SqliteConnection,
    new: &NewFile,
) -> Result<Result<StoredFile, StoreFileRefused>, Fault> {
    if membership_on(connection, new.by.participant(), new.chat)?.is_none() {
        return Ok(Err(StoreFileRefused::NotFound));
    }
    if let Some(same) = same_on(connection, new.chat, new.file.digest)? {
        let row = files::table.find(Id(same.id.uuid()));
        if same.is_live(new.now) {
            let before = same.expires_at;
            let file = new.merged_into(same);
            if file.expires_at != before {
                diesel::update(row).set(files::expires_at.eq(file.expires_at.map(At))).execute(connection)?;
            }
            return Ok(Ok(StoredFile { file, is_new: false }));
        }
        diesel::delete(row).execute(connection)?;
    }
    let stored = bytes_on(connection, new.chat, &new.limits)?;
    if let Err(full) = stored.check(new.chat, new.file.bytes, &new.limits) {
        return Ok(Err(StoreFileRefused::Full(full)));
    }
    diesel::insert_into(files::table).values(NewFileRow::of(new)).execute(connection)?;
    audit::append_on(connection, [AuditEntry::file_uploaded(new)])?;
    Ok(Ok(StoredFile { file: new.file.clone(), is_new: true }))
}

pub(super) fn find_on(
    connection: &mut SqliteConnection,
    viewer: ParticipantId,
    chat: ChatId,
    file: FileId,
    now: Timestamp,
) -> Result<Option<File>, Fault> {
    if !standing_on(connection, viewer, chat)?.may_read() {
        return Ok(None);
    }
    let found = files::table.find(Id(file.uuid())).filter(files::chat_id.eq(Id(chat.uuid())));
    let found = found.select(FileRow::as_select()).get_result(connection).optional()?;
    let found = found.map(FileRow::into_file).transpose()?;
    Ok(found.filter(|file| file.is_live(now)))
}

pub(super) fn expired_on(
    connection: &mut SqliteConnection,
    before: Timestamp,
    limit: u32,
) -> Result<Vec<FileId>, Fault> {
    let expired = files::table
        .filter(files::expires_at.lt(At(before)))
        .order(files::expires_at)
        .limit(i64::from(limit))
        .select(files::id);
    Ok(expired.load::<Id>(connection)?.into_iter().map(|id| FileId::new(id.0)).collect())
}

pub(super) fn forget_on(
    connection: &mut SqliteConnection,
    files: &[FileId],
    before: Timestamp,
) -> Result<(), Fault> {
    let expired = files::table.filter(files::id.eq_any(ids(files))).filter(files::expires_at.lt(At(before)));
    diesel::delete(expired).execute(connection)?;
    Ok(())
}

pub(super) fn recorded_on(connection: &mut SqliteConnection, files: &[FileId]) -> Result<Vec<FileId>, Fault> {
    let found = files::table.filter(files::id.eq_any(ids(files))).select(files::id);
    Ok(found.load::<Id>(connection)?.into_iter().map(|id| FileId::new(id.0)).collect())
}

fn ids(files: &[FileId]) -> Vec<Id> {
    files.iter().map(|file| Id(file.uuid())).collect()
}
