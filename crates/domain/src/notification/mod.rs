//! Notifications: tell a user outside the console that something waits, by e-mail, ntfy, Web Push, or a webhook.
//!
//! A *channel* is one way to a user. It says how much of a room's content its notifications show (nothing by default), when it
//! is quiet, and whether notifications are gathered in a *digest*. A *notification* is one message of a room on one channel: an
//! attention item, or a text that mentions the user. Nothing else is told, and each message once.
//!
//! Notifications are made outside of the transactions that store messages: an event wakes the sender ([`NotificationSet`]),
//! which makes those of the room, and from time to time those of all rooms ([`Collect`]). They are sent on a lease of their
//! channel, so that of several servers one sends ([`NotificationChannel::apply`]). A channel whose receiver refuses for good,
//! or that fails for days, is switched off with a note for its user.
//!
//! A notification can offer to decide or dismiss its item by a *link* that works once, for a day at most. Its token is stored
//! as a digest only.

mod channel;
mod link;
mod manage;
mod model;
mod notice;
mod port;
mod quiet;
mod send;
mod service;
mod set;

pub use channel::{
    ChannelChanges, ChannelEnd, ChannelKind, ChannelSettings, ChannelTarget, LEASE, MAX_DIGEST_MINUTES,
    NotificationChannel, SendResult, ShownContent, SwitchedOff, WebPushKeys,
};
pub use link::{FollowedLink, LINK_PATH, LinkError, LinkShown, NotificationAction};
pub use manage::{NewChannel, NewTarget, NotificationError, ntfy_topic};
pub use model::{
    MAX_TOGETHER, Notification, NotificationEnd, NotificationKind, NotificationOutcome, Subject,
    SubjectContent, batch,
};
pub use notice::{Notice, NoticeItem, notice_of, one_line};
pub use port::{
    ChangeChannel, Collect, CreateChannel, DueChannel, MAX_OF_USER, NewLink, NotificationLease,
    NotificationRepository, SettleNotifications, Settled, StoredLink, TakenNotifications, TestChannel,
    Untold,
};
pub use quiet::{QuietFault, QuietHours};
pub use send::{Prepared, PreparedLink};
pub use service::{NotificationPorts, NotificationService};
pub use set::{NotificationEvents, NotificationSet, NotificationWakes};
