//! The change log.
//!
//! Numbers are assigned when an entry is written, and become visible when its transaction commits.
//! Without further measures a later number could be visible first, and a reader who continues from
//! there would miss the earlier one. A writer therefore holds a lock from the first entry to the
//! end of the transaction, so the next number is assigned when the previous one is visible. Log
//! entries are rare, and writing them is the last step of a change, so a writer waits for one
//! commit at most. (The alternative, reading only up to the oldest open transaction, would let any
//! long transaction, even one of another database of the server, delay revocations.)

use async_trait::async_trait;
use diesel::dsl::max;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::change::{Change, ChangePosition, ChangeRepository, LoggedChange};
use domain::id::SubjectId;
use domain::store::StoreError;
use domain::time::Timestamp;
use futures_util::FutureExt;
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::Fault;
use crate::lock;
use crate::row::At;
use crate::run::Db;
use crate::schema::change_log;

#[async_trait]
impl ChangeRepository for PostgresStore {
    async fn newest_change(&self) -> Result<ChangePosition, StoreError> {
        self.query((), |db, ()| newest_on(db).boxed()).await
    }

    async fn changes_after(
        &self,
        position: ChangePosition,
        limit: u32,
    ) -> Result<Vec<LoggedChange>, StoreError> {
        self.query((position, limit), |db, (position, limit)| after_on(db, *position, *limit).boxed()).await
    }

    async fn has_change(&self, position: ChangePosition) -> Result<bool, StoreError> {
        self.query(position, |db, position| is_kept_on(db, *position).boxed()).await
    }

    async fn forget_changes(&self, before: ChangePosition, limit: u32) -> Result<u32, StoreError> {
        let given = (before, limit);
        self.alter(given, |db, (before, limit)| forget_on(db, *before, *limit).boxed()).await
    }
}

/// Writes entries as part of the change that they record, as its last step.
pub(crate) async fn append_on(
    mut db: &Db,
    made: impl IntoIterator<Item = Change>,
    now: Timestamp,
) -> Result<(), Fault> {
    let entry = |change: Change| {
        let (kind, subject) = change.parts();
        (
            change_log::kind.eq(kind),
            change_log::subject_id.eq(subject.uuid()),
            change_log::changed_at.eq(At(now)),
        )
    };
    let entries = made.into_iter().map(entry).collect::<Vec<_>>();
    if entries.is_empty() {
        return Ok(());
    }
    lock::change_log_on(db).await?;
    diesel::insert_into(change_log::table).values(entries).execute(&mut db).await?;
    Ok(())
}

async fn newest_on(mut db: &Db) -> Result<ChangePosition, Fault> {
    let newest = change_log::table.select(max(change_log::id)).first::<Option<i64>>(&mut db).await?;
    Ok(ChangePosition(newest.unwrap_or(0)))
}

async fn after_on(mut db: &Db, position: ChangePosition, limit: u32) -> Result<Vec<LoggedChange>, Fault> {
    let rows = change_log::table
        .filter(change_log::id.gt(position.0))
        .order(change_log::id)
        .limit(i64::from(limit))
        .select((change_log::id, change_log::kind, change_log::subject_id, change_log::changed_at))
        .load::<(i64, String, Uuid, At)>(&mut db)
        .await?;
    let entry = |(id, kind, subject, At(at)): (i64, String, Uuid, At)| LoggedChange {
        position: ChangePosition(id),
        change: Change::from_parts(&kind, SubjectId::new(subject), at),
    };
    Ok(rows.into_iter().map(entry).collect())
}

async fn is_kept_on(mut db: &Db, position: ChangePosition) -> Result<bool, Fault> {
    let kept = change_log::table.find(position.0).select(change_log::id);
    Ok(diesel::select(diesel::dsl::exists(kept)).get_result(&mut db).await?)
}

async fn forget_on(mut db: &Db, before: ChangePosition, limit: u32) -> Result<u32, Fault> {
    let old = change_log::table
        .filter(change_log::id.lt(before.0))
        .order(change_log::id)
        .limit(i64::from(limit))
        .select(change_log::id)
        .load::<i64>(&mut db)
        .await?;
    if old.is_empty() {
        return Ok(0);
    }
    let gone = diesel::delete(change_log::table.filter(change_log::id.eq_any(old))).execute(&mut db).await?;
    Ok(u32::try_from(gone).unwrap_or(u32::MAX))
}
