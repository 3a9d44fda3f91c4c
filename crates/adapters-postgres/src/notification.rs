//! The store of channels, notifications, and links.

#[path = "../../sql-rows/notification.rs"]
mod row;
mod waiting;

use std::collections::BTreeSet;
use std::time::Duration;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
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
use futures_util::FutureExt;
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::schema::{notification_channels, notification_links, notifications, users};
use crate::statement::statement;
use crate::{attention, audit};
use row::{ChannelRow, DUE, LinkRow, MentionRow, NotificationRow, UntoldRow, due};
use waiting::{drop_open_on, due_of_on, next_due_on, sent_on};

/// How long a channel rests whose user is disabled.
const DISABLED_REST: Duration = Duration::from_secs(60 * 60);

/// Set if the user of the channel is mentioned. The first condition reads most texts no further.
const MENTIONED: &str = "strpos(messages.mentions, notification_channels.user_id::text) > 0 \
     AND EXISTS (SELECT 1 FROM json_array_elements(messages.mentions::json) AS one \
     WHERE one->>'kind' = 'mention' AND one->>'id' = notification_channels.user_id::text)";

#[async_trait]
impl NotificationRepository for PostgresStore {
    async fn notification_channels(&self, user: UserId) -> Result<Vec<NotificationChannel>, StoreError> {
        self.query(user, |db, user| of_user_on(db, *user).boxed()).await
    }

    async fn create_notification_channel(&self, command: CreateChannel) -> Result<bool, StoreError> {
        self.alter_quietly(command, |db, command| create_on(db, &command.channel).boxed()).await
    }

    async fn change_notification_channel(
        &self,
        command: ChangeChannel,
    ) -> Result<Option<NotificationChannel>, StoreError> {
        self.alter_quietly(command, |db, command| change_on(db, command).boxed()).await
    }

    async fn remove_notification_channel(
        &self,
        user: UserId,
        channel: NotificationChannelId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let given = (user, channel, now);
        self.alter_quietly(given, |db, (user, channel, now)| remove_on(db, *user, *channel, *now).boxed())
            .await
    }

    async fn test_notification_channel(
        &self,
        command: TestChannel,
    ) -> Result<Option<NotificationChannel>, StoreError> {
        self.alter_quietly(command, |db, command| test_on(db, command).boxed()).await
    }

    async fn notifications(&self, user: UserId, page: PageRequest) -> Result<Page<Notification>, StoreError> {
        self.read((user, page), |db, (user, page)| list_on(db, *user, page).boxed()).await
    }

    async fn has_notification_channels(&self) -> Result<bool, StoreError> {
        self.query((), |db, ()| any_on(db).boxed()).await
    }

    async fn untold(&self, search: Collect) -> Result<Vec<Untold>, StoreError> {
        self.query(search, |db, search| untold_on(db, *search).boxed()).await
    }

    async fn add_notifications(&self, new: Vec<Notification>) -> Result<(), StoreError> {
        self.alter_quietly(new, |db, new| add_on(db, new).boxed()).await
    }

    async fn mark_told(&self, until: Timestamp, before: Timestamp) -> Result<(), StoreError> {
        self.alter_quietly((until, before), |db, (until, before)| told_on(db, *until, *before).boxed()).await
    }

    async fn due_notification_channels(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<DueChannel>, StoreError> {
        self.query((now, limit), |db, (now, limit)| due_on(db, *now, *limit).boxed()).await
    }

    async fn take_notifications(
        &self,
        channel: NotificationChannelId,
        now: Timestamp,
    ) -> Result<Option<TakenNotifications>, StoreError> {
        self.alter_quietly((channel, now), |db, (channel, now)| take_on(db, *channel, *now).boxed()).await
    }

    async fn settle_notifications(
        &self,
        command: SettleNotifications,
    ) -> Result<Option<Settled>, StoreError> {
        self.alter_quietly(command, |db, command| settle_on(db, command).boxed()).await
    }

    async fn add_links(&self, links: Vec<NewLink>) -> Result<(), StoreError> {
        self.alter_quietly(links, |db, links| add_links_on(db, links).boxed()).await
    }

    async fn find_link(&self, digest: KeyDigest) -> Result<Option<StoredLink>, StoreError> {
        self.query(digest, |db, digest| find_link_on(db, *digest).boxed()).await
    }

    async fn use_link(&self, digest: KeyDigest, now: Timestamp) -> Result<bool, StoreError> {
        self.alter_quietly((digest, now), |db, (digest, now)| use_link_on(db, *digest, *now).boxed()).await
    }

    async fn release_link(&self, digest: KeyDigest) -> Result<(), StoreError> {
        self.alter_quietly(digest, |db, digest| release_link_on(db, *digest).boxed()).await
    }

    async fn forget_notifications(&self, until: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.alter_quietly((until, limit), |db, (until, limit)| forget_on(db, *until, *limit).boxed()).await
    }
}

async fn any_on(mut db: &Db) -> Result<bool, Fault> {
    let on = notification_channels::table.filter(notification_channels::off_at.is_null());
    Ok(diesel::select(diesel::dsl::exists(on)).get_result::<bool>(&mut db).await?)
}

async fn of_user_on(mut db: &Db, user: UserId) -> Result<Vec<NotificationChannel>, Fault> {
    let rows = notification_channels::table
        .filter(notification_channels::user_id.eq(user.uuid()))
        .order((notification_channels::created_at, notification_channels::id))
        .select(ChannelRow::as_select())
        .load(&mut db)
        .await?;
    rows.into_iter().map(ChannelRow::into_channel).collect()
}

async fn find_on(mut db: &Db, id: NotificationChannelId) -> Result<Option<NotificationChannel>, Fault> {
    let found = notification_channels::table.find(id.uuid()).select(ChannelRow::as_select());
    found.first(&mut db).await.optional()?.map(ChannelRow::into_channel).transpose()
}

/// A channel, which is locked. Its notifications are changed only after it was.
async fn locked_on(mut db: &Db, id: NotificationChannelId) -> Result<Option<NotificationChannel>, Fault> {
    let found = notification_channels::table.find(id.uuid()).select(ChannelRow::as_select()).for_update();
    found.first(&mut db).await.optional()?.map(ChannelRow::into_channel).transpose()
}

async fn save_on(mut db: &Db, channel: &NotificationChannel) -> Result<(), Fault> {
    let row = ChannelRow::of(channel);
    diesel::update(notification_channels::table.find(row.id)).set(&row).execute(&mut db).await?;
    Ok(())
}

async fn save_notification_on(mut db: &Db, one: &Notification, user: UserId) -> Result<(), Fault> {
    let row = NotificationRow::of(one, user);
    diesel::update(notifications::table.find(row.id)).set(&row).execute(&mut db).await?;
    Ok(())
}

async fn create_on(mut db: &Db, channel: &NotificationChannel) -> Result<bool, Fault> {
    // So that of two new channels one comes first.
    let user = users::table.find(channel.user.uuid()).select(users::id).for_no_key_update();
    user.first::<Uuid>(&mut db).await.optional()?;
    if of_user_on(db, channel.user).await?.len() >= MAX_OF_USER {
        return Ok(false);
    }
    let row = ChannelRow::of(channel);
    diesel::insert_into(notification_channels::table).values(row).execute(&mut db).await?;
    audit::append_on(db, [AuditEntry::notification_channel_created(channel)]).await?;
    Ok(true)
}

async fn change_on(db: &Db, command: &ChangeChannel) -> Result<Option<NotificationChannel>, Fault> {
    let found = locked_on(db, command.channel).await?;
    let Some(mut channel) = found.filter(|found| found.user == command.user) else { return Ok(None) };
    if channel.change(&command.changes, command.now) {
        save_on(db, &channel).await?;
        if channel.off.is_some() {
            drop_open_on(db, channel.id, command.now).await?;
        }
        audit::append_on(db, [AuditEntry::notification_channel_changed(&channel)]).await?;
    }
    Ok(Some(channel))
}

async fn remove_on(
    mut db: &Db,
    user: UserId,
    id: NotificationChannelId,
    now: Timestamp,
) -> Result<bool, Fault> {
    let found = locked_on(db, id).await?;
    let Some(channel) = found.filter(|found| found.user == user) else { return Ok(false) };
    let id = id.uuid();
    let links = notification_links::table.filter(notification_links::channel_id.eq(id));
    diesel::delete(links).execute(&mut db).await?;
    let sent = notifications::table.filter(notifications::channel_id.eq(id));
    diesel::delete(sent).execute(&mut db).await?;
    diesel::delete(notification_channels::table.find(id)).execute(&mut db).await?;
    audit::append_on(db, [AuditEntry::notification_channel_removed(&channel, now)]).await?;
    Ok(true)
}

async fn test_on(db: &Db, command: &TestChannel) -> Result<Option<NotificationChannel>, Fault> {
    let found = locked_on(db, command.channel).await?;
    let Some(channel) = found.filter(|found| found.user == command.user) else { return Ok(None) };
    if channel.off.is_none() {
        add_on(db, &[command.notification(&channel)]).await?;
    }
    Ok(Some(channel))
}

async fn list_on(mut db: &Db, user: UserId, page: &PageRequest) -> Result<Page<Notification>, Fault> {
    let of_user = || notifications::table.filter(notifications::user_id.eq(user.uuid()));
    let total = if page.count { Some(of_user().count().get_result::<i64>(&mut db).await?) } else { None };
    let mut wanted = of_user().into_boxed();
    if let Some(Position { key, id, .. }) = page.slice.after() {
        let at = At(Timestamp::from_micros(key));
        let same_time = notifications::created_at.eq(at).and(notifications::id.lt(id.uuid()));
        wanted = wanted
            .filter(notifications::created_at.le(at))
            .filter(notifications::created_at.lt(at).or(same_time));
    }
    let rows = wanted
        .order((notifications::created_at.desc(), notifications::id.desc()))
        .limit(i64::from(page.slice.limit()) + 1)
        .offset(page.slice.offset())
        .select(NotificationRow::as_select())
        .load(&mut db)
        .await?;
    let rows = rows.into_iter().map(NotificationRow::into_notification).collect::<Result<Vec<_>, _>>()?;
    Ok(Page::from_overfetch(rows, page, total.map(i64::cast_unsigned), Notification::position))
}

/// The types of an [`UntoldRow`].
type UntoldTypes = (SqlUuid, SqlUuid, SqlUuid);

async fn untold_on(mut db: &Db, search: Collect) -> Result<Vec<Untold>, Fault> {
    let Collect { chat, since, now, limit } = search;
    let mut items = statement::<UntoldTypes>(row::untold_items(chat.is_some()));
    let mut texts = statement::<UntoldTypes>(row::untold_texts(chat.is_some(), MENTIONED, "greatest"));
    if let Some(chat) = chat {
        items = items.bind::<SqlUuid, _>(chat.uuid());
        texts = texts.bind::<SqlUuid, _>(chat.uuid());
    }
    let items = items.bind::<Timestamptz, _>(At(since)).bind::<Timestamptz, _>(At(now));
    let items = items.bind::<BigInt, _>(i64::from(limit)).load::<UntoldRow>(&mut db).await?;
    let texts = texts.bind::<Timestamptz, _>(At(since)).bind::<BigInt, _>(i64::from(limit));
    let texts = texts.load::<UntoldRow>(&mut db).await?;
    let items = items.into_iter().map(|found| (NotificationKind::Attention, found));
    let texts = texts.into_iter().map(|found| (NotificationKind::Mention, found));
    let found = items.chain(texts).collect::<Vec<_>>();
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let ids = found.iter().map(|(_, row)| row.channel.0).collect::<BTreeSet<_>>();
    let channels = notification_channels::table.filter(notification_channels::id.eq_any(ids));
    row::untold(found, channels.select(ChannelRow::as_select()).load(&mut db).await?)
}

async fn add_on(mut db: &Db, new: &[Notification]) -> Result<(), Fault> {
    let mut new = new.iter().collect::<Vec<_>>();
    // In one order on all servers, as they lock channels.
    new.sort_by_key(|one| (one.channel, one.due_at));
    for one in new {
        let found = locked_on(db, one.channel).await?;
        let Some(mut channel) = found.filter(|channel| channel.off.is_none()) else { continue };
        let added = diesel::insert_into(notifications::table)
            .values(NotificationRow::of(one, channel.user))
            .on_conflict_do_nothing()
            .execute(&mut db)
            .await?;
        if added > 0 {
            channel.wait_for(one.due_at);
            save_on(db, &channel).await?;
        }
    }
    Ok(())
}

async fn told_on(mut db: &Db, until: Timestamp, before: Timestamp) -> Result<(), Fault> {
    let seen = notification_channels::table.filter(notification_channels::seen_at.lt(At(before)));
    diesel::update(seen).set(notification_channels::seen_at.eq(At(until))).execute(&mut db).await?;
    Ok(())
}

async fn due_on(mut db: &Db, now: Timestamp, limit: u32) -> Result<Vec<DueChannel>, Fault> {
    let found = statement::<(SqlUuid, SqlUuid, SqlUuid)>(DUE)
        .bind::<Timestamptz, _>(At(now))
        .bind::<Timestamptz, _>(At(now))
        .bind::<BigInt, _>(i64::from(limit))
        .load::<(Uuid, Uuid, Uuid)>(&mut db)
        .await?;
    Ok(found.into_iter().map(due).collect())
}

async fn take_on(
    mut db: &Db,
    id: NotificationChannelId,
    now: Timestamp,
) -> Result<Option<TakenNotifications>, Fault> {
    let Some(mut channel) = locked_on(db, id).await?.filter(|channel| channel.is_due(now)) else {
        return Ok(None);
    };
    let user = users::table
        .find(channel.user.uuid())
        .select((users::email, users::disabled_at))
        .first::<(String, Option<At>)>(&mut db)
        .await
        .optional()?;
    let Some((email, None)) = user else {
        channel.next_at = Some(now.plus(DISABLED_REST));
        save_on(db, &channel).await?;
        return Ok(None);
    };
    channel.begin(now);
    let mut subjects = Vec::new();
    for mut notification in batch(due_of_on(db, id, now).await?) {
        let content = content_on(db, channel.user, &notification, now).await?;
        match content {
            Some(_) => notification.begin(now),
            None => notification.end(NotificationOutcome::Dropped, now),
        }
        save_notification_on(db, &notification, channel.user).await?;
        subjects.extend(content.map(|content| Subject { notification, content }));
    }
    if subjects.is_empty() {
        channel.leased_until = None;
        channel.next_at = next_due_on(db, id, &[]).await?;
    }
    save_on(db, &channel).await?;
    Ok(Some(TakenNotifications { channel, email, subjects }))
}

/// The row of [`MentionRow`].
type Mention = (Nullable<Text>, SqlUuid, Text, Text, Nullable<Text>, Text, Text);

/// The message of a notification, unless its user has read it, has left the room, or it has ended.
async fn content_on(
    mut db: &Db,
    user: UserId,
    one: &Notification,
    now: Timestamp,
) -> Result<Option<SubjectContent>, Fault> {
    Ok(match one.kind {
        NotificationKind::Test => Some(SubjectContent::Test),
        NotificationKind::Attention => {
            let found = attention::find_on(db, user, one.message).await?;
            let open = found.filter(|item| item.state(now) == AttentionState::Open);
            open.map(|item| SubjectContent::Item(Box::new(item)))
        }
        NotificationKind::Mention => {
            let query = statement::<Mention>(row::mention()).bind::<SqlUuid, _>(one.message.uuid());
            let found = query.bind::<SqlUuid, _>(user.uuid()).get_result::<MentionRow>(&mut db).await;
            found.optional()?.map(MentionRow::into_content).transpose()?
        }
    })
}

async fn settle_on(db: &Db, command: &SettleNotifications) -> Result<Option<Settled>, Fault> {
    let found = locked_on(db, command.lease.channel).await?;
    let Some(mut channel) = found.filter(|channel| command.lease.holds(channel)) else { return Ok(None) };
    let ids = command.sent.iter().map(|id| id.uuid()).collect::<Vec<_>>();
    let mut sent = sent_on(db, &ids).await?;
    let next = next_due_on(db, channel.id, &ids).await?;
    command.apply(&mut channel, &mut sent, next);
    save_on(db, &channel).await?;
    for one in &sent {
        save_notification_on(db, one, channel.user).await?;
    }
    if let Some(off) = &channel.off {
        drop_open_on(db, channel.id, command.now).await?;
        let entry = AuditEntry::notification_channel_disabled(&channel, off.reason, off.at);
        audit::append_on(db, [entry]).await?;
    }
    Ok(Some(Settled { channel }))
}

async fn add_links_on(mut db: &Db, links: &[NewLink]) -> Result<(), Fault> {
    let rows = links.iter().map(LinkRow::of).collect::<Vec<_>>();
    diesel::insert_into(notification_links::table).values(rows).execute(&mut db).await?;
    Ok(())
}

async fn find_link_on(mut db: &Db, digest: KeyDigest) -> Result<Option<StoredLink>, Fault> {
    let found = notification_links::table.find(digest.bytes().to_vec()).select(LinkRow::as_select());
    let Some(row) = found.first::<LinkRow>(&mut db).await.optional()? else { return Ok(None) };
    let channel = find_on(db, row.channel()).await?;
    let works = channel.is_some_and(|channel| channel.has_working_links());
    works.then(|| row.into_link(digest)).transpose()
}

async fn use_link_on(mut db: &Db, digest: KeyDigest, now: Timestamp) -> Result<bool, Fault> {
    let unused = notification_links::table
        .filter(notification_links::digest.eq(digest.bytes().to_vec()))
        .filter(notification_links::used_at.is_null())
        .filter(notification_links::expires_at.gt(At(now)));
    let used = diesel::update(unused).set(notification_links::used_at.eq(At(now)));
    Ok(used.execute(&mut db).await? > 0)
}

async fn release_link_on(mut db: &Db, digest: KeyDigest) -> Result<(), Fault> {
    let link = notification_links::table.find(digest.bytes().to_vec());
    diesel::update(link).set(notification_links::used_at.eq(None::<At>)).execute(&mut db).await?;
    Ok(())
}

async fn forget_on(mut db: &Db, until: Timestamp, limit: u32) -> Result<u64, Fault> {
    let limit = i64::from(limit);
    let expired = notification_links::table
        .filter(notification_links::expires_at.lt(At(until)))
        .select(notification_links::digest)
        .limit(limit)
        .load::<Vec<u8>>(&mut db)
        .await?;
    let links = notification_links::table.filter(notification_links::digest.eq_any(expired));
    diesel::delete(links).execute(&mut db).await?;
    let ended = notifications::table
        .filter(notifications::ended_at.lt(At(until)))
        .select(notifications::id)
        .limit(limit)
        .load::<Uuid>(&mut db)
        .await?;
    let ended = notifications::table.filter(notifications::id.eq_any(ended));
    Ok(diesel::delete(ended).execute(&mut db).await? as u64)
}

/// Removes the channels of a deleted user.
pub(crate) async fn forget_user_on(mut db: &Db, user: UserId) -> Result<(), Fault> {
    let user = user.uuid();
    let links = notification_links::table.filter(notification_links::user_id.eq(user));
    diesel::delete(links).execute(&mut db).await?;
    let sent = notifications::table.filter(notifications::user_id.eq(user));
    diesel::delete(sent).execute(&mut db).await?;
    let channels = notification_channels::table.filter(notification_channels::user_id.eq(user));
    diesel::delete(channels).execute(&mut db).await?;
    Ok(())
}
