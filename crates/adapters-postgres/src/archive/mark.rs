//! The mark of a store that holds part of an archive.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::time::Timestamp;

use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::schema::{imports, memories, organizations, plans};

pub(super) async fn find_on(mut db: &Db) -> Result<Option<Timestamp>, Fault> {
    let begun = imports::table.select(imports::begun_at).first::<At>(&mut db).await.optional()?;
    Ok(begun.map(|At(begun)| begun))
}

pub(super) async fn set_on(mut db: &Db, now: Timestamp) -> Result<(), Fault> {
    let marked = diesel::insert_into(imports::table)
        .values((imports::one.eq(1), imports::begun_at.eq(At(now))))
        .on_conflict_do_nothing()
        .execute(&mut db)
        .await?;
    if marked > 0 {
        let used = organizations::table.select(organizations::plan);
        diesel::delete(plans::table.filter(plans::name.ne_all(used))).execute(&mut db).await?;
    }
    Ok(())
}

/// Deleted memories, which archives of former versions hold with their texts, go with the mark.
pub(super) async fn remove_on(mut db: &Db) -> Result<(), Fault> {
    diesel::delete(memories::table.filter(memories::status.eq("deleted"))).execute(&mut db).await?;
    diesel::delete(imports::table).execute(&mut db).await?;
    Ok(())
}
