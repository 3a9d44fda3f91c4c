//! What the sender does: it makes notifications, takes those that are due, and records what came of them.

use std::time::Duration;

use super::channel::SendResult;
use super::link::{LINK_PATH, NotificationAction};
use super::model::{Notification, SubjectContent};
use super::notice::{Notice, actions_of, notice_of};
use super::port::{
    Collect, DueChannel, NewLink, NotificationLease, SettleNotifications, Settled, TakenNotifications,
};
use super::service::NotificationService;
use super::set::NotificationWakes;
use crate::account::KeyKind;
use crate::id::{ChatId, NotificationChannelId, NotificationId};
use crate::store::StoreError;
use crate::time::Timestamp;

/// What is older is not told any more, as after days without a server. Notifications are kept for longer than this.
const TOLD_FOR: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// How long a notification can be read after its end.
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The time for which a link works at most.
const LINK_LASTS: Duration = Duration::from_secs(24 * 60 * 60);

/// How long before a search a message may have been written that it does not find: its transaction, or a clock, may be late.
const LATE: Duration = Duration::from_secs(5 * 60);

/// How often it is noted up to when all was told.
const NOTED_EVERY: Duration = Duration::from_secs(15 * 60);

/// The maximum number of messages of each kind of one search.
const SEARCHED: u32 = 500;

/// The maximum number of channels of one search.
const CHANNELS: u32 = 500;

/// The maximum number of notifications that are erased at a time.
const ERASED: u32 = 1_000;

/// A link of a notification.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PreparedLink {
    /// What it does.
    pub action: NotificationAction,
    /// The URL.
    pub url: String,
}

/// A notification to be sent, or several together.
#[derive(Clone, PartialEq, Debug)]
pub struct Prepared {
    /// What was taken.
    pub taken: TakenNotifications,
    /// What it says.
    pub notice: Notice,
    /// What the user can do.
    pub links: Vec<PreparedLink>,
    /// The URL of the console.
    pub console: Option<String>,
}

impl NotificationService {
    /// What is to be looked at because of events.
    pub fn take_wakes(&self) -> NotificationWakes {
        self.ports.set.take_wakes()
    }

    /// Reads whether there are channels.
    pub async fn reload(&self) -> Result<(), StoreError> {
        let has_any = self.ports.store.has_notification_channels().await?;
        self.ports.set.set_any(has_any);
        Ok(())
    }

    /// Makes the notifications of a chat, or of all; none if there are no channels.
    pub async fn collect(&self, chat: Option<ChatId>) -> Result<(), StoreError> {
        if !self.ports.set.has_any() {
            return Ok(());
        }
        let now = self.now();
        let search = Collect { chat, since: now.minus(TOLD_FOR), now, limit: SEARCHED };
        loop {
            let found = self.ports.store.untold(search).await?;
            let is_all = found.len() < SEARCHED as usize;
            let new = found.into_iter().map(|untold| {
                let id = NotificationId::new(self.ports.ids.generate(now));
                Notification::new(id, &untold.channel, untold.kind, (untold.chat, untold.message), now)
            });
            let new = new.collect::<Vec<_>>();
            if !new.is_empty() {
                self.ports.store.add_notifications(new).await?;
            }
            if is_all {
                break;
            }
        }
        if chat.is_none() {
            let until = now.minus(LATE);
            self.ports.store.mark_told(until, until.minus(NOTED_EVERY)).await?;
        }
        Ok(())
    }

    /// Channels that are due; none if there are no channels.
    pub async fn due(&self) -> Result<Vec<DueChannel>, StoreError> {
        if !self.ports.set.has_any() {
            return Ok(Vec::new());
        }
        self.ports.store.due_notification_channels(self.now(), CHANNELS).await
    }

    /// Takes what is due on a channel. `None` if nothing is; `Some(None)` if all of it was dropped, and more may be due.
    pub async fn take(&self, channel: NotificationChannelId) -> Result<Option<Option<Prepared>>, StoreError> {
        let now = self.now();
        let Some(taken) = self.ports.store.take_notifications(channel, now).await? else { return Ok(None) };
        if taken.subjects.is_empty() {
            return Ok(Some(None));
        }
        let notice = notice_of(&taken.subjects, taken.channel.settings.content);
        let links = self.links(&taken, now).await?;
        let console = self.ports.public_url.as_ref().map(|url| format!("{url}/console/"));
        Ok(Some(Some(Prepared { taken, notice, links, console })))
    }

    /// Makes the links of a notification about one item.
    async fn links(
        &self,
        taken: &TakenNotifications,
        now: Timestamp,
    ) -> Result<Vec<PreparedLink>, StoreError> {
        let (channel, base) = (&taken.channel, self.ports.public_url.as_ref());
        let base = base.filter(|_| channel.settings.has_links);
        let (Some(base), [subject]) = (base, taken.subjects.as_slice()) else { return Ok(Vec::new()) };
        let SubjectContent::Item(item) = &subject.content else { return Ok(Vec::new()) };
        let latest = now.plus(LINK_LASTS);
        let expires_at = item.expires_at.map_or(latest, |at| at.min(latest));
        let (mut prepared, mut stored) = (Vec::new(), Vec::new());
        for action in actions_of(&subject.content, channel.settings.content) {
            let key = self.ports.mint.mint(KeyKind::Link, now);
            prepared.push(PreparedLink { action, url: format!("{base}{LINK_PATH}?token={}", key.reveal()) });
            stored.push(NewLink {
                digest: key.digest(),
                channel: channel.id,
                user: channel.user,
                item: item.message,
                action,
                expires_at,
            });
        }
        if !stored.is_empty() {
            self.ports.store.add_links(stored).await?;
        }
        Ok(prepared)
    }

    /// Records what came of sending; `None` if the lease has ended meanwhile.
    pub async fn settle(
        &self,
        lease: NotificationLease,
        sent: Vec<NotificationId>,
        result: SendResult,
    ) -> Result<Option<Settled>, StoreError> {
        let command = SettleNotifications { lease, sent, result, now: self.now() };
        self.ports.store.settle_notifications(command).await
    }

    /// Erases old notifications and links.
    pub async fn forget_old(&self, now: Timestamp) -> Result<(), StoreError> {
        let until = now.minus(KEPT_FOR);
        while self.ports.store.forget_notifications(until, ERASED).await? >= u64::from(ERASED) {}
        Ok(())
    }
}
