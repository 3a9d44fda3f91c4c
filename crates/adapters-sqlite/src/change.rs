//! The change log. One process writes at a time, so entries become visible in the order of their
//! numbers.

use async_trait::async_trait;
use diesel::dsl::max;
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::change::{Change, ChangePosition, ChangeRepository, LoggedChange};
use domain::id::SubjectId;
use domain::store::StoreError;
use domain::time::Timestamp;

use crate::SqliteStore;
use crate::error::Fault;
use crate::row;
use crate::schema::change_log;

#[async_trait]
impl ChangeRepository for SqliteStore {
    async fn newest_change(&self) -> Result<ChangePosition, StoreError> {
        let newest = |connection: &mut SqliteConnection| {
            let newest =
                change_log::table.select(max(change_log::id)).get_result::<Option<i64>>(connection)?;
            Ok(ChangePosition(newest.unwrap_or(0)))
        };
        self.read(newest).await
    }

    async fn changes_after(
        &self,
        position: ChangePosition,
        limit: u32,
    ) -> Result<Vec<LoggedChange>, StoreError> {
        self.read(move |connection| after_on(connection, position, limit)).await
    }

    async fn has_change(&self, position: ChangePosition) -> Result<bool, StoreError> {
        let is_kept = move |connection: &mut SqliteConnection| {
            let kept = change_log::table.find(position.0).select(change_log::id);
            Ok(diesel::select(diesel::dsl::exists(kept)).get_result(connection)?)
        };
        self.read(is_kept).await
    }

    async fn forget_changes(&self, before: ChangePosition, limit: u32) -> Result<u32, StoreError> {
        self.alter(move |connection| forget_on(connection, before, limit)).await
    }
}

/// Writes entries as part of the change that they record.
pub(crate) fn append_on(
    connection: &mut SqliteConnection,
    made: impl IntoIterator<Item = Change>,
    now: Timestamp,
) -> Result<(), Fault> {
    for change in made {
        let (kind, subject) = change.parts();
        diesel::insert_into(change_log::table)
            .values((
                change_log::kind.eq(kind),
                change_log::subject_id.eq(row::bytes(subject.uuid())),
                change_log::changed_at.eq(now.micros()),
            ))
            .execute(connection)?;
    }
    Ok(())
}

fn after_on(
    connection: &mut SqliteConnection,
    position: ChangePosition,
    limit: u32,
) -> Result<Vec<LoggedChange>, Fault> {
    let rows = change_log::table
        .filter(change_log::id.gt(position.0))
        .order(change_log::id)
        .limit(i64::from(limit))
        .select((change_log::id, change_log::kind, change_log::subject_id, change_log::changed_at))
        .load::<(i64, String, Vec<u8>, i64)>(connection)?;
    let entry = |(id, kind, subject, at): (i64, String, Vec<u8>, i64)| {
        let change = Change::from_parts(&kind, SubjectId::new(row::uuid(&subject)?), row::time(at));
        Ok(LoggedChange { position: ChangePosition(id), change })
    };
    rows.into_iter().map(entry).collect()
}

fn forget_on(connection: &mut SqliteConnection, before: ChangePosition, limit: u32) -> Result<u32, Fault> {
    let old = change_log::table
        .filter(change_log::id.lt(before.0))
        .order(change_log::id)
        .limit(i64::from(limit))
        .select(change_log::id)
        .load::<i64>(connection)?;
    if old.is_empty() {
        return Ok(0);
    }
    let gone = diesel::delete(change_log::table.filter(change_log::id.eq_any(old))).execute(connection)?;
    Ok(u32::try_from(gone).unwrap_or(u32::MAX))
}
