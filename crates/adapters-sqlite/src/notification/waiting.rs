//! The notifications of a channel that wait. However many do, a step reads no more than it sends.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::id::NotificationChannelId;
use domain::notification::{MAX_TOGETHER, Notification, NotificationOutcome};
use domain::time::Timestamp;

use super::row::NotificationRow;
use crate::error::Fault;
use crate::row::{At, Id};
use crate::schema::notifications;

/// The first notifications of a channel that are due, as many as are sent together at most, in their order.
pub(super) fn due_of_on(
    connection: &mut SqliteConnection,
    channel: NotificationChannelId,
    now: Timestamp,
) -> Result<Vec<Notification>, Fault> {
    let rows = notifications::table
        .filter(notifications::channel_id.eq(Id(channel.uuid())))
        .filter(notifications::ended_at.is_null())
        .filter(notifications::due_at.le(At(now)))
        .order((notifications::due_at, notifications::id))
        .limit(i64::try_from(MAX_TOGETHER).unwrap_or(i64::MAX))
        .select(NotificationRow::as_select())
        .load(connection)?;
    rows.into_iter().map(NotificationRow::into_notification).collect()
}

/// When the next notification of a channel is due, except for these.
pub(super) fn next_due_on(
    connection: &mut SqliteConnection,
    channel: NotificationChannelId,
    except: &[Id],
) -> Result<Option<Timestamp>, Fault> {
    let next = notifications::table
        .filter(notifications::channel_id.eq(Id(channel.uuid())))
        .filter(notifications::ended_at.is_null())
        .filter(notifications::id.ne_all(except))
        .order(notifications::due_at)
        .select(notifications::due_at)
        .first::<At>(connection)
        .optional()?;
    Ok(next.map(|At(at)| at))
}

/// Drops what waits on a channel.
pub(super) fn drop_open_on(
    connection: &mut SqliteConnection,
    channel: NotificationChannelId,
    now: Timestamp,
) -> Result<(), Fault> {
    let open = notifications::table
        .filter(notifications::channel_id.eq(Id(channel.uuid())))
        .filter(notifications::ended_at.is_null());
    let dropped = NotificationOutcome::Dropped.as_str();
    diesel::update(open)
        .set((notifications::ended_at.eq(At(now)), notifications::outcome.eq(dropped)))
        .execute(connection)?;
    Ok(())
}

/// Those of these notifications that have not ended.
pub(super) fn sent_on(connection: &mut SqliteConnection, sent: &[Id]) -> Result<Vec<Notification>, Fault> {
    let rows = notifications::table
        .filter(notifications::id.eq_any(sent))
        .filter(notifications::ended_at.is_null())
        .select(NotificationRow::as_select())
        .load(connection)?;
    rows.into_iter().map(NotificationRow::into_notification).collect()
}
