//! The notifications of a channel that wait. However many do, a step reads no more than it sends.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::id::NotificationChannelId;
use domain::notification::{MAX_TOGETHER, Notification, NotificationOutcome};
use domain::time::Timestamp;
use uuid::Uuid;

use super::row::NotificationRow;
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::schema::notifications;

/// The first notifications of a channel that are due, as many as are sent together at most, in their order.
pub(super) async fn due_of_on(
    mut db: &Db,
    channel: NotificationChannelId,
    now: Timestamp,
) -> Result<Vec<Notification>, Fault> {
    let rows = notifications::table
        .filter(notifications::channel_id.eq(channel.uuid()))
        .filter(notifications::ended_at.is_null())
        .filter(notifications::due_at.le(At(now)))
        .order((notifications::due_at, notifications::id))
        .limit(i64::try_from(MAX_TOGETHER).unwrap_or(i64::MAX))
        .select(NotificationRow::as_select())
        .load(&mut db)
        .await?;
    rows.into_iter().map(NotificationRow::into_notification).collect()
}

/// When the next notification of a channel is due, except for these.
pub(super) async fn next_due_on(
    mut db: &Db,
    channel: NotificationChannelId,
    except: &[Uuid],
) -> Result<Option<Timestamp>, Fault> {
    let next = notifications::table
        .filter(notifications::channel_id.eq(channel.uuid()))
        .filter(notifications::ended_at.is_null())
        .filter(notifications::id.ne_all(except.to_vec()))
        .order(notifications::due_at)
        .select(notifications::due_at)
        .first::<At>(&mut db)
        .await
        .optional()?;
    Ok(next.map(|At(at)| at))
}

/// Drops what waits on a channel.
pub(super) async fn drop_open_on(
    mut db: &Db,
    channel: NotificationChannelId,
    now: Timestamp,
) -> Result<(), Fault> {
    let open = notifications::table
        .filter(notifications::channel_id.eq(channel.uuid()))
        .filter(notifications::ended_at.is_null());
    let dropped = NotificationOutcome::Dropped.as_str();
    diesel::update(open)
        .set((notifications::ended_at.eq(At(now)), notifications::outcome.eq(dropped)))
        .execute(&mut db)
        .await?;
    Ok(())
}

/// Those of these notifications that have not ended.
pub(super) async fn sent_on(mut db: &Db, sent: &[Uuid]) -> Result<Vec<Notification>, Fault> {
    let rows = notifications::table
        .filter(notifications::id.eq_any(sent.to_vec()))
        .filter(notifications::ended_at.is_null())
        .select(NotificationRow::as_select())
        .load(&mut db)
        .await?;
    rows.into_iter().map(NotificationRow::into_notification).collect()
}
