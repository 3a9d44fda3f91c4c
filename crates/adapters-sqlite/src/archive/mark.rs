//! The mark of a store that holds part of an archive.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::time::Timestamp;

use crate::error::Fault;
use crate::row::time;
use crate::schema::{imports, memories, organizations, plans};

pub(super) fn find_on(connection: &mut SqliteConnection) -> Result<Option<Timestamp>, Fault> {
    let begun = imports::table.select(imports::begun_at).first::<i64>(connection).optional()?;
    Ok(begun.map(time))
}

pub(super) fn set_on(connection: &mut SqliteConnection, now: Timestamp) -> Result<(), Fault> {
    let marked = diesel::insert_or_ignore_into(imports::table)
        .values((imports::one.eq(1), imports::begun_at.eq(now.micros())))
        .execute(connection)?;
    if marked > 0 {
        let used = organizations::table.select(organizations::plan);
        diesel::delete(plans::table.filter(plans::name.ne_all(used))).execute(connection)?;
    }
    Ok(())
}

/// Deleted memories, which archives of former versions hold with their texts, go with the mark.
pub(super) fn remove_on(connection: &mut SqliteConnection) -> Result<(), Fault> {
    diesel::delete(memories::table.filter(memories::status.eq("deleted"))).execute(connection)?;
    diesel::delete(imports::table).execute(connection)?;
    Ok(())
}
