//! The store of channels, of notifications, and of links.

use async_trait::async_trait;

use super::channel::{ChannelChanges, NotificationChannel, SendResult};
use super::link::NotificationAction;
use super::model::{Notification, NotificationKind, Subject};
use crate::account::KeyDigest;
use crate::id::{ChatId, MessageId, NotificationChannelId, NotificationId, UserId};
use crate::page::{Page, PageRequest};
use crate::store::StoreError;
use crate::time::Timestamp;
use crate::webhook::WebhookOwner;

/// The maximum number of channels of a user.
pub const MAX_OF_USER: usize = 10;

/// A channel to be stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreateChannel {
    /// The channel.
    pub channel: NotificationChannel,
}

/// A change of a channel by its user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChangeChannel {
    /// The user.
    pub user: UserId,
    /// The channel.
    pub channel: NotificationChannelId,
    /// The changes.
    pub changes: ChannelChanges,
    /// The current time.
    pub now: Timestamp,
}

/// A test of a channel by its user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TestChannel {
    /// The user.
    pub user: UserId,
    /// The channel.
    pub channel: NotificationChannelId,
    /// The id of the notification.
    pub id: NotificationId,
    /// The current time.
    pub now: Timestamp,
}

impl TestChannel {
    /// The notification.
    pub fn notification(&self, channel: &NotificationChannel) -> Notification {
        let place = (ChatId::NIL, MessageId::new(self.id.uuid()));
        Notification::new(self.id, channel, NotificationKind::Test, place, self.now)
    }
}

/// A search for messages that were not told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Collect {
    /// Only those of this chat.
    pub chat: Option<ChatId>,
    /// Only those that are newer.
    pub since: Timestamp,
    /// The current time.
    pub now: Timestamp,
    /// The maximum number of each kind.
    pub limit: u32,
}

/// A message that was not told on a channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Untold {
    /// The channel.
    pub channel: NotificationChannel,
    /// What the notification is about.
    pub kind: NotificationKind,
    /// The chat.
    pub chat: ChatId,
    /// The message.
    pub message: MessageId,
}

/// A channel with something that is due, and whose it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DueChannel {
    /// The channel.
    pub id: NotificationChannelId,
    /// The user and the organization.
    pub owner: WebhookOwner,
}

/// What a sender has taken, on a lease.
#[derive(Clone, PartialEq, Debug)]
pub struct TakenNotifications {
    /// The channel.
    pub channel: NotificationChannel,
    /// The address of its user.
    pub email: String,
    /// The notifications with their messages; none if nothing is left of what was due. They are sent together.
    pub subjects: Vec<Subject>,
}

impl TakenNotifications {
    /// Its lease.
    pub const fn lease(&self) -> NotificationLease {
        NotificationLease { channel: self.channel.id, attempt: self.channel.attempts }
    }
}

/// The lease of a sender, which ends when the channel is taken or changed again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotificationLease {
    /// The channel.
    pub channel: NotificationChannelId,
    /// The number of leases and changes, as of this one.
    pub attempt: u32,
}

impl NotificationLease {
    /// Returns whether it is still that of a channel.
    pub fn holds(self, channel: &NotificationChannel) -> bool {
        channel.id == self.channel && channel.leased_until.is_some() && channel.attempts == self.attempt
    }
}

/// What came of sending.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettleNotifications {
    /// The lease.
    pub lease: NotificationLease,
    /// The notifications that were sent together.
    pub sent: Vec<NotificationId>,
    /// The result.
    pub result: SendResult,
    /// The current time.
    pub now: Timestamp,
}

impl SettleNotifications {
    /// Applies it to the channel, and to those of its notifications that were sent and have not ended. Of the others, the first
    /// one is due at `next`. If the channel is off afterwards, they are dropped.
    pub fn apply(
        &self,
        channel: &mut NotificationChannel,
        sent: &mut [Notification],
        next: Option<Timestamp>,
    ) {
        let is_delivered = matches!(self.result, SendResult::Delivered { .. });
        let again = sent.iter().filter(|_| !is_delivered).map(|one| one.due_at);
        channel.apply(&self.result, again.chain(next).min(), self.now);
        for one in sent {
            one.settle(&self.result, channel, self.now);
        }
    }
}

/// A channel after what came of sending was recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settled {
    /// The channel.
    pub channel: NotificationChannel,
}

/// A link to be stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewLink {
    /// The digest of its token.
    pub digest: KeyDigest,
    /// The channel, with which it ends.
    pub channel: NotificationChannelId,
    /// Whose it is.
    pub user: UserId,
    /// The item.
    pub item: MessageId,
    /// What it does.
    pub action: NotificationAction,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// A stored link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredLink {
    /// The digest of its token.
    pub digest: KeyDigest,
    /// Whose it is.
    pub user: UserId,
    /// The item.
    pub item: MessageId,
    /// What it does.
    pub action: NotificationAction,
    /// When it ends.
    pub expires_at: Timestamp,
    /// When it was followed.
    pub used_at: Option<Timestamp>,
}

/// Channels, notifications, and links.
#[async_trait]
pub trait NotificationRepository: Send + Sync {
    /// The channels of a user, oldest first.
    async fn notification_channels(&self, user: UserId) -> Result<Vec<NotificationChannel>, StoreError>;

    /// Stores a channel, with an entry in the audit log; false if the user has [`MAX_OF_USER`].
    async fn create_notification_channel(&self, command: CreateChannel) -> Result<bool, StoreError>;

    /// Changes a channel of a user ([`NotificationChannel::change`]), with an entry in the audit log if that changes anything.
    /// What waits is dropped if the channel is off. `None` if the user has no such channel.
    async fn change_notification_channel(
        &self,
        command: ChangeChannel,
    ) -> Result<Option<NotificationChannel>, StoreError>;

    /// Removes a channel of a user with its notifications and links, with an entry in the audit log; returns whether there was
    /// one.
    async fn remove_notification_channel(
        &self,
        user: UserId,
        channel: NotificationChannelId,
        now: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Makes a notification that is a test ([`TestChannel::notification`]); `None` if the user has no such channel. Nothing is
    /// stored if the channel is off.
    async fn test_notification_channel(
        &self,
        command: TestChannel,
    ) -> Result<Option<NotificationChannel>, StoreError>;

    /// The notifications of a user, newest first.
    async fn notifications(&self, user: UserId, page: PageRequest) -> Result<Page<Notification>, StoreError>;

    /// Returns whether there is a channel that is on.
    async fn has_notification_channels(&self) -> Result<bool, StoreError>;

    /// Messages that were not told on channels that are on, newer than [`NotificationChannel::seen_at`]: open items in rooms of
    /// the user, and texts that mention the user, which the user has neither written nor read, in rooms that are not muted.
    async fn untold(&self, search: Collect) -> Result<Vec<Untold>, StoreError>;

    /// Stores notifications, unless there is one of the same message on the channel, or the channel is gone or off; their
    /// channels wait for them ([`NotificationChannel::wait_for`]).
    async fn add_notifications(&self, new: Vec<Notification>) -> Result<(), StoreError>;

    /// Notes that what is older than `until` was told on all channels that have seen nothing since `before`.
    async fn mark_told(&self, until: Timestamp, before: Timestamp) -> Result<(), StoreError>;

    /// Channels that are due and on no lease, the longest waiting first.
    async fn due_notification_channels(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<DueChannel>, StoreError>;

    /// Takes what is due on a channel ([`batch`](super::batch)), on a lease; `None` if nothing is, or the user is disabled. What
    /// the user has read or left meanwhile, and items that have ended, are dropped.
    async fn take_notifications(
        &self,
        channel: NotificationChannelId,
        now: Timestamp,
    ) -> Result<Option<TakenNotifications>, StoreError>;

    /// Records what came of sending ([`SettleNotifications::apply`]); `None` if the lease has ended. A channel that is switched
    /// off has an entry in the audit log.
    async fn settle_notifications(&self, command: SettleNotifications)
    -> Result<Option<Settled>, StoreError>;

    /// Stores links.
    async fn add_links(&self, links: Vec<NewLink>) -> Result<(), StoreError>;

    /// A link by the digest of its token. Its channel must be on, and have links.
    async fn find_link(&self, digest: KeyDigest) -> Result<Option<StoredLink>, StoreError>;

    /// Uses a link up; returns false if it was used before. Of several calls at the same time, one uses it.
    async fn use_link(&self, digest: KeyDigest, now: Timestamp) -> Result<bool, StoreError>;

    /// Lets a link be used again.
    async fn release_link(&self, digest: KeyDigest) -> Result<(), StoreError>;

    /// Erases at most `limit` notifications that ended before `until`, and as many links that expired before; returns how many
    /// notifications.
    async fn forget_notifications(&self, until: Timestamp, limit: u32) -> Result<u64, StoreError>;
}
