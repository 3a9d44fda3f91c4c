//! Attachments: the files that messages show. Sending and reading a message without files costs no query here.

use std::collections::{BTreeMap, HashMap};

use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::file::File;
use domain::id::{ChatId, FileId};
use domain::message::{Message, NewMessage};
use domain::time::Timestamp;
use uuid::Uuid;

use super::row::{Attached, FileRow, attachments_column};
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::schema::files;
use crate::statement::statement;

/// The files that new messages name, with their chats, locked to the end of the transaction.
pub(crate) async fn locked_on(
    mut db: &Db,
    news: &[NewMessage],
) -> Result<HashMap<FileId, (ChatId, File)>, Fault> {
    let ids = news.iter().flat_map(|new| &new.attachments).map(|file| file.uuid()).collect::<Vec<_>>();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = files::table
        .filter(files::id.eq_any(ids))
        .order(files::id)
        .select((files::chat_id, FileRow::as_select()))
        .for_no_key_update()
        .load::<(Uuid, FileRow)>(&mut db)
        .await?;
    let found =
        rows.into_iter().map(|(chat, row)| row.into_file().map(|file| (file.id, (ChatId::new(chat), file))));
    found.collect()
}

const SHOW: &str = "UPDATE messages SET attachments = shown.attachments FROM unnest(?, ?) AS shown (id, attachments) \
     WHERE messages.id = shown.id";

const USE: &str = "UPDATE files SET uses = files.uses + used.number, expires_at = NULL \
     FROM unnest(?, ?) AS used (id, number) WHERE files.id = used.id";

/// Stores which files new messages show; they are locked.
pub(crate) async fn attach_on<'m>(
    mut db: &Db,
    messages: impl Iterator<Item = &'m Message>,
) -> Result<(), Fault> {
    let (mut ids, mut columns, mut used) = (Vec::new(), Vec::new(), BTreeMap::<Uuid, i64>::new());
    for message in messages.filter(|message| !message.attachments.is_empty()) {
        ids.push(message.id.uuid());
        columns.push(attachments_column(&message.attachments)?);
        for file in &message.attachments {
            *used.entry(file.id.uuid()).or_default() += 1;
        }
    }
    if ids.is_empty() {
        return Ok(());
    }
    let (files, numbers) = used.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
    let show = statement::<()>(SHOW).bind::<Array<SqlUuid>, _>(ids).bind::<Array<Text>, _>(columns);
    show.execute(&mut db).await?;
    let used = statement::<()>(USE).bind::<Array<SqlUuid>, _>(files).bind::<Array<BigInt>, _>(numbers);
    used.execute(&mut db).await?;
    Ok(())
}

const DETACH: &str = "UPDATE files SET uses = files.uses - used.number, \
     expires_at = CASE WHEN files.uses > used.number THEN files.expires_at ELSE coalesce(files.expires_at, ?) END \
     FROM (SELECT shown.file::uuid AS id, count(*) AS number FROM messages, \
         json_array_elements_text(messages.attachments::json) AS shown (file) \
         WHERE messages.id = ANY(?) AND messages.attachments IS NOT NULL GROUP BY 1) AS used \
     WHERE files.id = used.id";

/// Frees the files of messages that are about to be deleted, whose chats are locked: those that no other message shows
/// expire at this time.
pub(crate) async fn detach_on(mut db: &Db, messages: Vec<Uuid>, expiry: Timestamp) -> Result<(), Fault> {
    let detach = statement::<()>(DETACH).bind::<Timestamptz, _>(At(expiry));
    detach.bind::<Array<SqlUuid>, _>(messages).execute(&mut db).await?;
    Ok(())
}

/// Makes all files of a deleted chat expire now.
pub(crate) async fn expire_on(mut db: &Db, chat: ChatId, now: Timestamp) -> Result<(), Fault> {
    let own = files::table.filter(files::chat_id.eq(chat.uuid()));
    diesel::update(own).set(files::expires_at.eq(At(now))).execute(&mut db).await?;
    Ok(())
}

/// Gives messages the files that they show, in one query, and without one if they show none.
pub(crate) async fn fill_on(mut db: &Db, messages: &mut [Message], attached: Attached) -> Result<(), Fault> {
    if attached.is_empty() {
        return Ok(());
    }
    // What a message shows has no expiry.
    let shown = files::table.filter(files::id.eq_any(attached.ids())).filter(files::expires_at.is_null());
    attached.give(messages, shown.select(FileRow::as_select()).load(&mut db).await?)
}
