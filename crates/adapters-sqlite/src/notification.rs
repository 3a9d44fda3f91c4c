//! The store of channels, notifications, and links.

#[path = "../../sql-rows/notification.rs"]
mod row;
mod waiting;

use std::collections::BTreeSet;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use domain::account::KeyDigest;
use domain::attention::AttentionState;
use domain::audit::AuditEntry;
use domain::id::{NotificationChannelId, UserId};
use domain::notification::{
    ChangeChannel, Collect, CreateChannel, DueChannel, MAX_OF_USER, NewLink, Notification,
    NotificationChannel, NotificationKind, NotificationOutcome, NotificationRepository, SettleNotifications,
    Settled, StoredLink, Subject, SubjectContent, TakenNotifications, TestChannel, Untold, batch,
};
use domain::page::{Page, PageRequest, Position};
use domain::store::StoreError;
use domain::time::Timestamp;

use crate::SqliteStore;
use crate::error::Fault;
use crate::row::{At, Id, bytes};
use crate::schema::{notification_channels, notification_links, notifications, users};
use crate::statement::statement;
use crate::{attention, audit};
use row::{ChannelRow, DUE, LinkRow, MentionRow, NotificationRow, UntoldRow, due};
use waiting::{drop_open_on, due_of_on, next_due_on, sent_on};

/// How long a channel rests whose user is disabled.
const DISABLED_REST: std::time::Duration = std::time::Duration::from_secs(60 * 60);

/// Set if the user of the channel is mentioned. The first condition reads the column once.
const MENTIONED: &str = "instr(messages.mentions, lower(substr(hex(notification_channels.user_id), 21))) > 0 \
     AND EXISTS (SELECT 1 FROM json_each(messages.mentions) AS one WHERE json_extract(one.value, '$.kind') = 'mention' \
     AND replace(json_extract(one.value, '$.id'), '-', '') = lower(hex(notification_channels.user_id)))";

#[async_trait]
impl NotificationRepository for SqliteStore {
    async fn notification_channels(&self, user: UserId) -> Result<Vec<NotificationChannel>, StoreError> {
        self.read(move |connection| of_user_on(connection, user)).await
    }

    async fn create_notification_channel(&self, command: CreateChannel) -> Result<bool, StoreError> {
        self.alter(move |connection| create_on(connection, &command.channel)).await
    }

    async fn change_notification_channel(
        &self,
        command: ChangeChannel,
    ) -> Result<Option<NotificationChannel>, StoreError> {
        self.alter(move |connection| change_on(connection, &command)).await
    }

    async fn remove_notification_channel(
        &self,
        user: UserId,
        channel: NotificationChannelId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.alter(move |connection| remove_on(connection, user, channel, now)).await
    }

    async fn test_notification_channel(
        &self,
        command: TestChannel,
    ) -> Result<Option<NotificationChannel>, StoreError> {
        self.alter(move |connection| test_on(connection, &command)).await
    }

    async fn notifications(&self, user: UserId, page: PageRequest) -> Result<Page<Notification>, StoreError> {
        self.read(move |connection| list_on(connection, user, &page)).await
    }

    async fn has_notification_channels(&self) -> Result<bool, StoreError> {
        let any = move |connection: &mut SqliteConnection| {
            let on = notification_channels::table.filter(notification_channels::off_at.is_null());
            Ok(diesel::select(diesel::dsl::exists(on)).get_result::<bool>(connection)?)
        };
        self.read(any).await
    }

    async fn untold(&self, search: Collect) -> Result<Vec<Untold>, StoreError> {
        self.read(move |connection| untold_on(connection, search)).await
    }

    async fn add_notifications(&self, new: Vec<Notification>) -> Result<(), StoreError> {
        self.alter(move |connection| add_on(connection, &new)).await
    }

    async fn mark_told(&self, until: Timestamp, before: Timestamp) -> Result<(), StoreError> {
        self.alter(move |connection| {
            let seen = notification_channels::table.filter(notification_channels::seen_at.lt(At(before)));
            diesel::update(seen).set(notification_channels::seen_at.eq(At(until))).execute(connection)?;
            Ok(())
        })
        .await
    }

    async fn due_notification_channels(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<DueChannel>, StoreError> {
        let due = move |connection: &mut SqliteConnection| {
            let found = statement!(DUE => (Binary, Binary, Binary))
                .bind::<BigInt, _>(At(now))
                .bind::<BigInt, _>(At(now))
                .bind::<BigInt, _>(i64::from(limit))
                .load::<(Id, Id, Id)>(connection)?;
            Ok(found.into_iter().map(|(Id(id), Id(user), Id(of))| due((id, user, of))).collect())
        };
        self.read(due).await
    }

    async fn take_notifications(
        &self,
        channel: NotificationChannelId,
        now: Timestamp,
    ) -> Result<Option<TakenNotifications>, StoreError> {
        self.alter(move |connection| take_on(connection, channel, now)).await
    }

    async fn settle_notifications(
        &self,
        command: SettleNotifications,
    ) -> Result<Option<Settled>, StoreError> {
        self.alter(move |connection| settle_on(connection, &command)).await
    }

    async fn add_links(&self, links: Vec<NewLink>) -> Result<(), StoreError> {
        self.alter(move |connection| {
            for link in &links {
                diesel::insert_into(notification_links::table)
                    .values(LinkRow::of(link))
                    .execute(connection)?;
            }
            Ok(())
        })
        .await
    }

    async fn find_link(&self, digest: KeyDigest) -> Result<Option<StoredLink>, StoreError> {
        let find = move |connection: &mut SqliteConnection| {
            let found = notification_links::table.find(digest.bytes().to_vec()).select(LinkRow::as_select());
            let Some(row) = found.get_result::<LinkRow>(connection).optional()? else { return Ok(None) };
            let channel = find_on(connection, row.channel())?;
            let works = channel.is_some_and(|channel| channel.has_working_links());
            works.then(|| row.into_link(digest)).transpose()
        };
        self.read(find).await
    }

    async fn use_link(&self, digest: KeyDigest, now: Timestamp) -> Result<bool, StoreError> {
        self.alter(move |connection| {
            let unused = notification_links::table
                .filter(notification_links::digest.eq(digest.bytes().to_vec()))
                .filter(notification_links::used_at.is_null())
                .filter(notification_links::expires_at.gt(At(now)));
            let used = notification_links::used_at.eq(At(now));
            Ok(diesel::update(unused).set(used).execute(connection)? > 0)
        })
        .await
    }

    async fn release_link(&self, digest: KeyDigest) -> Result<(), StoreError> {
        self.alter(move |connection| {
            let link = notification_links::table.find(digest.bytes().to_vec());
            diesel::update(link).set(notification_links::used_at.eq(None::<At>)).execute(connection)?;
            Ok(())
        })
        .await
    }

    async fn forget_notifications(&self, until: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.alter(move |connection| forget_on(connection, until, limit)).await
    }
}

fn of_user_on(connection: &mut SqliteConnection, user: UserId) -> Result<Vec<NotificationChannel>, Fault> {
    let rows = notification_channels::table
        .filter(notification_channels::user_id.eq(Id(user.uuid())))
        .order((notification_channels::created_at, notification_channels::id))
        .select(ChannelRow::as_select())
        .load(connection)?;
    rows.into_iter().map(ChannelRow::into_channel).collect()
}

fn find_on(
    connection: &mut SqliteConnection,
    id: NotificationChannelId,
) -> Result<Option<NotificationChannel>, Fault> {
    let found = notification_channels::table.find(Id(id.uuid())).select(ChannelRow::as_select());
    found.get_result(connection).optional()?.map(ChannelRow::into_channel).transpose()
}

fn save_on(connection: &mut SqliteConnection, channel: &NotificationChannel) -> Result<(), Fault> {
    let row = ChannelRow::of(channel);
    diesel::update(notification_channels::table.find(row.id)).set(&row).execute(connection)?;
    Ok(())
}

fn save_notification_on(
    connection: &mut SqliteConnection,
    one: &Notification,
    user: UserId,
) -> Result<(), Fault> {
    let row = NotificationRow::of(one, user);
    diesel::update(notifications::table.find(row.id)).set(&row).execute(connection)?;
    Ok(())
}

fn create_on(connection: &mut SqliteConnection, channel: &NotificationChannel) -> Result<bool, Fault> {
    if of_user_on(connection, channel.user)?.len() >= MAX_OF_USER {
        return Ok(false);
    }
    diesel::insert_into(notification_channels::table).values(ChannelRow::of(channel)).execute(connection)?;
    audit::append_on(connection, [AuditEntry::notification_channel_created(channel)])?;
    Ok(true)
}

fn change_on(
    connection: &mut SqliteConnection,
    command: &ChangeChannel,
) -> Result<Option<NotificationChannel>, Fault> {
    let found = find_on(connection, command.channel)?;
    let Some(mut channel) = found.filter(|found| found.user == command.user) else { return Ok(None) };
    if channel.change(&command.changes, command.now) {
        save_on(connection, &channel)?;
        audit::append_on(connection, [AuditEntry::notification_channel_changed(&channel)])?;
        if channel.off.is_some() {
            drop_open_on(connection, channel.id, command.now)?;
        }
    }
    Ok(Some(channel))
}

fn remove_on(
    connection: &mut SqliteConnection,
    user: UserId,
    id: NotificationChannelId,
    now: Timestamp,
) -> Result<bool, Fault> {
    let found = find_on(connection, id)?;
    let Some(channel) = found.filter(|found| found.user == user) else { return Ok(false) };
    let id = Id(id.uuid());
    diesel::delete(notification_links::table.filter(notification_links::channel_id.eq(id)))
        .execute(connection)?;
    diesel::delete(notifications::table.filter(notifications::channel_id.eq(id))).execute(connection)?;
    diesel::delete(notification_channels::table.find(id)).execute(connection)?;
    audit::append_on(connection, [AuditEntry::notification_channel_removed(&channel, now)])?;
    Ok(true)
}

fn test_on(
    connection: &mut SqliteConnection,
    command: &TestChannel,
) -> Result<Option<NotificationChannel>, Fault> {
    let found = find_on(connection, command.channel)?;
    let Some(channel) = found.filter(|found| found.user == command.user) else { return Ok(None) };
    if channel.off.is_none() {
        add_on(connection, &[command.notification(&channel)])?;
    }
    Ok(Some(channel))
}

fn list_on(
    connection: &mut SqliteConnection,
    user: UserId,
    page: &PageRequest,
) -> Result<Page<Notification>, Fault> {
    let of_user = || notifications::table.filter(notifications::user_id.eq(Id(user.uuid())));
    let total = page.count.then(|| of_user().count().get_result::<i64>(connection)).transpose()?;
    let mut wanted = of_user().into_boxed();
    if let Some(Position { key, id, .. }) = page.slice.after() {
        let at = At(Timestamp::from_micros(key));
        let same_time = notifications::created_at.eq(at).and(notifications::id.lt(Id(id.uuid())));
        wanted = wanted
            .filter(notifications::created_at.le(at))
            .filter(notifications::created_at.lt(at).or(same_time));
    }
    let rows = wanted
        .order((notifications::created_at.desc(), notifications::id.desc()))
        .limit(i64::from(page.slice.limit()) + 1)
        .offset(page.slice.offset())
        .select(NotificationRow::as_select())
        .load(connection)?;
    let rows = rows.into_iter().map(NotificationRow::into_notification).collect::<Result<Vec<_>, _>>()?;
    Ok(Page::from_overfetch(rows, page, total.map(i64::cast_unsigned), Notification::position))
}

fn untold_on(connection: &mut SqliteConnection, search: Collect) -> Result<Vec<Untold>, Fault> {
    let Collect { chat, since, now, limit } = search;
    let mut items = diesel::sql_query(row::untold_items(chat.is_some())).into_boxed();
    let mut texts = diesel::sql_query(row::untold_texts(chat.is_some(), MENTIONED, "max")).into_boxed();
    if let Some(chat) = chat {
        items = items.bind::<Binary, _>(Id(chat.uuid()));
        texts = texts.bind::<Binary, _>(Id(chat.uuid()));
    }
    let items = items.bind::<BigInt, _>(At(since)).bind::<BigInt, _>(At(now));
    let items = items.bind::<BigInt, _>(i64::from(limit)).load::<UntoldRow>(connection)?;
    let texts = texts.bind::<BigInt, _>(At(since)).bind::<BigInt, _>(i64::from(limit));
    let texts = texts.load::<UntoldRow>(connection)?;
    let items = items.into_iter().map(|found| (NotificationKind::Attention, found));
    let texts = texts.into_iter().map(|found| (NotificationKind::Mention, found));
    let found = items.chain(texts).collect::<Vec<_>>();
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let ids = found.iter().map(|(_, row)| row.channel).collect::<BTreeSet<_>>();
    let channels = notification_channels::table.filter(notification_channels::id.eq_any(ids));
    row::untold(found, channels.select(ChannelRow::as_select()).load(connection)?)
}

fn add_on(connection: &mut SqliteConnection, new: &[Notification]) -> Result<(), Fault> {
    for one in new {
        let found = find_on(connection, one.channel)?;
        let Some(mut channel) = found.filter(|channel| channel.off.is_none()) else { continue };
        let added = diesel::insert_into(notifications::table)
            .values(NotificationRow::of(one, channel.user))
            .on_conflict_do_nothing()
            .execute(connection)?;
        if added > 0 {
            channel.wait_for(one.due_at);
            save_on(connection, &channel)?;
        }
    }
    Ok(())
}

fn take_on(
    connection: &mut SqliteConnection,
    id: NotificationChannelId,
    now: Timestamp,
) -> Result<Option<TakenNotifications>, Fault> {
    let Some(mut channel) = find_on(connection, id)?.filter(|channel| channel.is_due(now)) else {
        return Ok(None);
    };
    let user = users::table
        .find(bytes(channel.user.uuid()))
        .select((users::email, users::disabled_at))
        .get_result::<(String, Option<i64>)>(connection)
        .optional()?;
    let Some((email, None)) = user else {
        channel.next_at = Some(now.plus(DISABLED_REST));
        save_on(connection, &channel)?;
        return Ok(None);
    };
    channel.begin(now);
    let mut subjects = Vec::new();
    for mut notification in batch(due_of_on(connection, id, now)?) {
        let content = content_on(connection, channel.user, &notification, now)?;
        match content {
            Some(_) => notification.begin(now),
            None => notification.end(NotificationOutcome::Dropped, now),
        }
        save_notification_on(connection, &notification, channel.user)?;
        subjects.extend(content.map(|content| Subject { notification, content }));
    }
    if subjects.is_empty() {
        channel.leased_until = None;
        channel.next_at = next_due_on(connection, id, &[])?;
    }
    save_on(connection, &channel)?;
    Ok(Some(TakenNotifications { channel, email, subjects }))
}

/// The message of a notification, unless its user has read it, has left the room, or it has ended.
fn content_on(
    connection: &mut SqliteConnection,
    user: UserId,
    one: &Notification,
    now: Timestamp,
) -> Result<Option<SubjectContent>, Fault> {
    Ok(match one.kind {
        NotificationKind::Test => Some(SubjectContent::Test),
        NotificationKind::Attention => {
            let found = attention::find_on(connection, user, one.message)?;
            let open = found.filter(|item| item.state(now) == AttentionState::Open);
            open.map(|item| SubjectContent::Item(Box::new(item)))
        }
        NotificationKind::Mention => {
            let query = diesel::sql_query(row::mention()).bind::<Binary, _>(Id(one.message.uuid()));
            let found = query.bind::<Binary, _>(Id(user.uuid())).get_result::<MentionRow>(connection);
            found.optional()?.map(MentionRow::into_content).transpose()?
        }
    })
}

fn settle_on(
    connection: &mut SqliteConnection,
    command: &SettleNotifications,
) -> Result<Option<Settled>, Fault> {
    let found = find_on(connection, command.lease.channel)?;
    let Some(mut channel) = found.filter(|channel| command.lease.holds(channel)) else { return Ok(None) };
    let ids = command.sent.iter().map(|id| Id(id.uuid())).collect::<Vec<_>>();
    let mut sent = sent_on(connection, &ids)?;
    let next = next_due_on(connection, channel.id, &ids)?;
    command.apply(&mut channel, &mut sent, next);
    save_on(connection, &channel)?;
    for one in &sent {
        save_notification_on(connection, one, channel.user)?;
    }
    if let Some(off) = &channel.off {
        drop_open_on(connection, channel.id, command.now)?;
        let entry = AuditEntry::notification_channel_disabled(&channel, off.reason, off.at);
        audit::append_on(connection, [entry])?;
    }
    Ok(Some(Settled { channel }))
}

fn forget_on(connection: &mut SqliteConnection, until: Timestamp, limit: u32) -> Result<u64, Fault> {
    let limit = i64::from(limit);
    let expired = notification_links::table
        .filter(notification_links::expires_at.lt(At(until)))
        .select(notification_links::digest)
        .limit(limit)
        .load::<Vec<u8>>(connection)?;
    // A list without elements is not searched along an index.
    if !expired.is_empty() {
        let links = notification_links::table.filter(notification_links::digest.eq_any(expired));
        diesel::delete(links).execute(connection)?;
    }
    let ended = notifications::table
        .filter(notifications::ended_at.lt(At(until)))
        .select(notifications::id)
        .limit(limit)
        .load::<Id>(connection)?;
    if ended.is_empty() {
        return Ok(0);
    }
    let ended = notifications::table.filter(notifications::id.eq_any(ended));
    Ok(diesel::delete(ended).execute(connection)? as u64)
}

/// Removes the channels of a deleted user.
pub(crate) fn forget_user_on(connection: &mut SqliteConnection, user: UserId) -> Result<(), Fault> {
    let user = Id(user.uuid());
    diesel::delete(notification_links::table.filter(notification_links::user_id.eq(user)))
        .execute(connection)?;
    diesel::delete(notifications::table.filter(notifications::user_id.eq(user))).execute(connection)?;
    diesel::delete(notification_channels::table.filter(notification_channels::user_id.eq(user)))
        .execute(connection)?;
    Ok(())
}
