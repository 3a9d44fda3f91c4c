//! A channel, and what becomes of it.

use std::time::Duration;

use super::model::NotificationKind;
use super::quiet::QuietHours;
use crate::id::{NotificationChannelId, UserId};
use crate::push::PushSecret;
use crate::time::Timestamp;
use crate::webhook::{DISABLED_AFTER, Reply, WebhookSecret, WebhookUrl};
use crate::words::words;

/// How long a lease lasts: longer than sending takes.
pub const LEASE: Duration = Duration::from_secs(60);

/// The longest time over which notifications are gathered.
pub const MAX_DIGEST_MINUTES: u32 = 24 * 60;

words! {
    /// The kind of a channel.
    ChannelKind {
        /// To the address of the account.
        Email = "email",
        /// To a topic of an ntfy server.
        Ntfy = "ntfy",
        /// To a browser.
        WebPush = "web_push",
        /// To a URL, signed.
        Webhook = "webhook",
    }

    /// How much of a room a notification shows.
    #[derive(Default)]
    ShownContent {
        /// Only what kind of thing waits.
        #[default]
        None = "none",
        /// Also the title of the room, and who wrote.
        Title = "title",
        /// Also the beginning of the text.
        Excerpt = "excerpt",
    }

    /// Why a channel is off.
    ChannelEnd {
        /// Its user has switched it off.
        User = "user",
        /// The receiver has refused for good.
        Refused = "refused",
        /// Nothing has succeeded for too long.
        Failing = "failing",
    }
}

/// The keys of a browser's subscription, as the browser gives them: base64url without padding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WebPushKeys {
    /// The public key.
    pub p256dh: String,
    /// The authentication secret.
    pub auth: String,
}

impl WebPushKeys {
    /// The keys without padding, if they can be those of a subscription: a point of P-256 without compression, and 16 bytes.
    pub(super) fn checked(self) -> Option<Self> {
        let plain = |text: String| text.trim_end_matches('=').to_owned();
        let keys = Self { p256dh: plain(self.p256dh), auth: plain(self.auth) };
        let is_base64 = |text: &str, chars| {
            let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            text.len() == chars && text.bytes().all(is_digit)
        };
        let is_point = is_base64(&keys.p256dh, 87) && keys.p256dh.starts_with('B');
        (is_point && is_base64(&keys.auth, 22)).then_some(keys)
    }
}

/// Where the notifications of a channel go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChannelTarget {
    /// To the address of the account at the time of sending.
    Email,
    /// To the URL of a topic.
    Ntfy {
        /// The URL.
        url: WebhookUrl,
        /// The access token of the ntfy server.
        token: Option<PushSecret>,
    },
    /// To a subscription.
    WebPush {
        /// The URL of the push service.
        url: WebhookUrl,
        /// The keys of the browser.
        keys: WebPushKeys,
    },
    /// To a URL.
    Webhook {
        /// The URL.
        url: WebhookUrl,
        /// Requests are signed with it.
        secret: WebhookSecret,
    },
}

impl ChannelTarget {
    /// Its kind.
    pub const fn kind(&self) -> ChannelKind {
        match self {
            Self::Email => ChannelKind::Email,
            Self::Ntfy { .. } => ChannelKind::Ntfy,
            Self::WebPush { .. } => ChannelKind::WebPush,
            Self::Webhook { .. } => ChannelKind::Webhook,
        }
    }

    /// The URL, unless it is an address of e-mail.
    pub const fn url(&self) -> Option<&WebhookUrl> {
        match self {
            Self::Email => None,
            Self::Ntfy { url, .. } | Self::WebPush { url, .. } | Self::Webhook { url, .. } => Some(url),
        }
    }
}

/// What a user sets for a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChannelSettings {
    /// How much of a room is shown.
    pub content: ShownContent,
    /// When it is quiet.
    pub quiet: Option<QuietHours>,
    /// For how many minutes notifications are gathered after the first one; 0 sends each at once.
    pub digest_minutes: u32,
    /// Whether notifications have links that decide or dismiss an item.
    pub has_links: bool,
}

impl ChannelSettings {
    /// When a notification that is made at `now` is sent. What waits until another time is sent together.
    pub fn due_at(&self, now: Timestamp) -> Timestamp {
        let gathered = now.plus(Duration::from_secs(u64::from(self.digest_minutes) * 60));
        self.quiet.and_then(|quiet| quiet.end_at(gathered)).unwrap_or(gathered)
    }
}

/// Changes of the settings; what is `None` stays as it is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ChannelChanges {
    /// How much of a room is shown.
    pub content: Option<ShownContent>,
    /// When it is quiet.
    pub quiet: Option<Option<QuietHours>>,
    /// For how many minutes notifications are gathered.
    pub digest_minutes: Option<u32>,
    /// Whether notifications have links.
    pub has_links: Option<bool>,
    /// Whether it is on.
    pub is_on: Option<bool>,
}

/// A channel that is off.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SwitchedOff {
    /// The time.
    pub at: Timestamp,
    /// The reason.
    pub reason: ChannelEnd,
    /// What the receiver said last, for the user.
    pub note: Option<String>,
}

/// What came of sending.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SendResult {
    /// The receiver took it.
    Delivered {
        /// The status of its answer.
        status: Option<u16>,
    },
    /// It did not; it is tried again.
    Failed {
        /// The status of its answer.
        status: Option<u16>,
        /// The reason.
        error: String,
        /// How long it asks to wait.
        retry_after: Option<Duration>,
    },
    /// It will never take anything.
    Refused {
        /// The status of its answer.
        status: Option<u16>,
        /// The reason.
        error: String,
    },
    /// Nothing was sent, for a reason that is not the receiver's.
    Later(Duration),
}

impl SendResult {
    /// What the answer to a request means for a channel of this kind.
    pub fn of_reply(kind: ChannelKind, reply: &Reply) -> Self {
        match reply {
            Reply::Answered { status, .. } if reply.is_success() => Self::Delivered { status: Some(*status) },
            // A push service answers 404 or 410 for a subscription that has ended.
            Reply::Answered { status: status @ (404 | 410), .. }
                if reply.is_gone() || kind == ChannelKind::WebPush =>
            {
                Self::Refused { status: Some(*status), error: reply.to_string() }
            }
            Reply::Answered { status, retry_after } => {
                Self::Failed { status: Some(*status), error: reply.to_string(), retry_after: *retry_after }
            }
            Reply::Unanswered { error } => {
                Self::Failed { status: None, error: error.clone(), retry_after: None }
            }
        }
    }

    /// What the log of notifications records: the status, and the reason.
    pub fn record(&self) -> (Option<u16>, Option<String>) {
        match self {
            Self::Delivered { status } => (*status, None),
            Self::Failed { status, error, .. } | Self::Refused { status, error } => {
                (*status, Some(error.clone()))
            }
            Self::Later(_) => (None, None),
        }
    }
}

/// A channel of a user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotificationChannel {
    /// Identifier.
    pub id: NotificationChannelId,
    /// The user.
    pub user: UserId,
    /// Where notifications go.
    pub target: ChannelTarget,
    /// What the user has set.
    pub settings: ChannelSettings,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// The time of the last change by its user.
    pub updated_at: Timestamp,
    /// Messages until then are not told, or have been.
    pub seen_at: Timestamp,
    /// The number of leases and of changes.
    pub attempts: u32,
    /// The number of failures since the last success.
    pub failures: u32,
    /// The first of them.
    pub failing_since: Option<Timestamp>,
    /// Why the last one failed.
    pub error: Option<String>,
    /// Something is due then; `None` if nothing waits.
    pub next_at: Option<Timestamp>,
    /// Set while a sender works on it; once this time has passed, the sender counts as dead.
    pub leased_until: Option<Timestamp>,
    /// Set if nothing is sent.
    pub off: Option<SwitchedOff>,
}

/// The number of failures in a row before which a channel is not switched off.
const LEAST_FAILURES: u32 = 10;

impl NotificationChannel {
    /// A new channel.
    pub const fn new(
        id: NotificationChannelId,
        user: UserId,
        target: ChannelTarget,
        settings: ChannelSettings,
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            user,
            target,
            settings,
            created_at: now,
            updated_at: now,
            seen_at: now,
            attempts: 0,
            failures: 0,
            failing_since: None,
            error: None,
            next_at: None,
            leased_until: None,
            off: None,
        }
    }

    /// Its status: `active`, `failing`, or `off`.
    pub const fn status(&self) -> &'static str {
        if self.off.is_some() {
            "off"
        } else if self.failing_since.is_some() {
            "failing"
        } else {
            "active"
        }
    }

    /// Returns whether a sender may work on it.
    pub fn is_due(&self, now: Timestamp) -> bool {
        let is_free = self.leased_until.is_none_or(|until| until <= now);
        self.off.is_none() && is_free && self.next_at.is_some_and(|at| at <= now)
    }

    /// Notes that a notification is to be sent at a time.
    pub fn wait_for(&mut self, due_at: Timestamp) {
        // One that fails is tried again when it was planned.
        if self.failing_since.is_none() || self.next_at.is_none() {
            self.next_at = Some(self.next_at.map_or(due_at, |at| at.min(due_at)));
        }
    }

    /// Begins to work on it, on a lease.
    pub fn begin(&mut self, now: Timestamp) {
        self.attempts = self.attempts.saturating_add(1);
        let until = now.plus(LEASE);
        (self.leased_until, self.next_at) = (Some(until), Some(until));
    }

    /// Records what came of sending. `next` is the time of the next notification that waits.
    pub fn apply(&mut self, result: &SendResult, next: Option<Timestamp>, now: Timestamp) {
        self.leased_until = None;
        self.next_at = next;
        match result {
            SendResult::Delivered { .. } => {
                (self.failures, self.failing_since, self.error) = (0, None, None);
            }
            SendResult::Later(pause) => self.next_at = Some(now.plus(*pause)),
            SendResult::Refused { error, .. } => self.switch_off(ChannelEnd::Refused, Some(error), now),
            SendResult::Failed { error, retry_after, status } => {
                self.failures = self.failures.saturating_add(1);
                self.error = Some(error.clone());
                let since = *self.failing_since.get_or_insert(now);
                if now.since(since) >= DISABLED_AFTER && self.failures >= LEAST_FAILURES {
                    return self.switch_off(ChannelEnd::Failing, Some(error), now);
                }
                let reply = Reply::Answered { status: status.unwrap_or(0), retry_after: *retry_after };
                self.next_at = Some(now.plus(reply.pause(self.id.into(), self.failures)));
            }
        }
    }

    /// Returns whether the links that were sent on it still decide.
    pub fn has_working_links(&self) -> bool {
        self.off.is_none() && self.settings.has_links
    }

    /// Switches it off. What waits is dropped.
    pub fn switch_off(&mut self, reason: ChannelEnd, note: Option<&str>, now: Timestamp) {
        self.off = Some(SwitchedOff { at: now, reason, note: note.map(str::to_owned) });
        (self.next_at, self.leased_until) = (None, None);
        // Ends the lease of a sender that is at work.
        self.attempts = self.attempts.saturating_add(1);
    }

    /// Applies changes by its user; returns whether there are any.
    pub fn change(&mut self, changes: &ChannelChanges, now: Timestamp) -> bool {
        let before = (self.settings, self.off.is_some());
        let ChannelChanges { content, quiet, digest_minutes, has_links, is_on } = *changes;
        self.settings = ChannelSettings {
            content: content.unwrap_or(self.settings.content),
            quiet: quiet.unwrap_or(self.settings.quiet),
            digest_minutes: digest_minutes.unwrap_or(self.settings.digest_minutes),
            has_links: has_links.unwrap_or(self.settings.has_links),
        };
        match is_on {
            Some(false) if self.off.is_none() => self.switch_off(ChannelEnd::User, None, now),
            Some(true) if self.off.is_some() => {
                // What happened meanwhile is not told.
                (self.off, self.seen_at) = (None, now);
                (self.failures, self.failing_since, self.error) = (0, None, None);
            }
            _ => {}
        }
        let has_changed = before != (self.settings, self.off.is_some());
        if has_changed {
            self.updated_at = now;
        }
        has_changed
    }

    /// When a new notification is due. A test does not wait.
    pub fn due_at(&self, kind: NotificationKind, now: Timestamp) -> Timestamp {
        if kind == NotificationKind::Test { now } else { self.settings.due_at(now) }
    }
}

#[cfg(test)]
mod tests;
