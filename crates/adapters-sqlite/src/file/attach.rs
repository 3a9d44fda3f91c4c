//! Attachments: the files that messages show. Sending and reading a message without files costs no query here.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel::sqlite::SqliteConnection;
use domain::file::File;
use domain::id::{ChatId, FileId};
use domain::message::{Message, NewMessage};
use domain::time::Timestamp;

use super::row::{Attached, FileRow, attachments_column};
use crate::error::Fault;
use crate::row::{self, At, Id};
use crate::schema::{files, messages};
use crate::statement::statement;

/// Those of the files that a new message names that are live files of its chat.
pub(crate) fn found_on(
    connection: &mut SqliteConnection,
    new: &NewMessage,
) -> Result<HashMap<FileId, File>, Fault> {
    if new.attachments.is_empty() {
        return Ok(HashMap::new());
    }
    let ids = new.attachments.iter().map(|file| Id(file.uuid()));
    let rows = files::table
        .filter(files::id.eq_any(ids))
        .filter(files::chat_id.eq(Id(new.chat.uuid())))
        .select(FileRow::as_select())
        .load(connection)?;
    let mut found = rows.into_iter().map(FileRow::into_file).collect::<Result<Vec<_>, _>>()?;
    found.retain(|file| file.is_live(new.now));
    Ok(found.into_iter().map(|file| (file.id, file)).collect())
}

/// Stores which files a new message shows.
pub(crate) fn attach_on(connection: &mut SqliteConnection, message: &Message) -> Result<(), Fault> {
    if message.attachments.is_empty() {
        return Ok(());
    }
    diesel::update(messages::table.find(Id(message.id.uuid())))
        .set(messages::attachments.eq(attachments_column(&message.attachments)?))
        .execute(connection)?;
    let ids = message.attachments.iter().map(|file| Id(file.id.uuid()));
    diesel::update(files::table.filter(files::id.eq_any(ids)))
        .set((files::uses.eq(files::uses + 1), files::expires_at.eq(None::<At>)))
        .execute(connection)?;
    Ok(())
}

/// Frees the files of messages that are about to be deleted: those that no other message shows expire at this time.
pub(crate) fn detach_on(
    connection: &mut SqliteConnection,
    messages: &[Id],
    expiry: Timestamp,
) -> Result<(), Fault> {
    let detach = statement!(
        "UPDATE files SET uses = uses - used.number, \
         expires_at = CASE WHEN uses > used.number THEN expires_at ELSE coalesce(expires_at, ?) END \
         FROM (SELECT unhex(shown.value) AS id, count(*) AS number FROM json_each(?) AS gone \
             CROSS JOIN messages ON messages.id = unhex(gone.value) CROSS JOIN json_each(messages.attachments) AS shown \
             GROUP BY 1) AS used \
         WHERE files.id = used.id"
    );
    let messages = messages.iter().map(|message| message.hex()).collect::<Vec<_>>();
    detach.bind::<BigInt, _>(At(expiry)).bind::<Text, _>(row::to_json(&messages)?).execute(connection)?;
    Ok(())
}

/// Makes all files of a deleted chat expire now.
pub(crate) fn expire_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
    now: Timestamp,
) -> Result<(), Fault> {
    let own = files::table.filter(files::chat_id.eq(Id(chat.uuid())));
    diesel::update(own).set(files::expires_at.eq(At(now))).execute(connection)?;
    Ok(())
}

/// Gives messages the files that they show, in one query, and without one if they show none.
pub(crate) fn fill_on(
    connection: &mut SqliteConnection,
    messages: &mut [Message],
    attached: Attached,
) -> Result<(), Fault> {
    if attached.is_empty() {
        return Ok(());
    }
    // What a message shows has no expiry.
    let shown = files::table.filter(files::id.eq_any(attached.ids())).filter(files::expires_at.is_null());
    attached.give(messages, shown.select(FileRow::as_select()).load(connection)?)
}
