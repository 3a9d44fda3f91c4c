//! Channels of notifications, and the notifications themselves.

use domain::id::{ChatId, MessageId, NotificationChannelId, NotificationId};
use domain::notification::{ChannelTarget, Notification, NotificationChannel, NotificationKind};
use domain::time::Timestamp;
use serde::Serialize;

use super::Shown;

/// A notification channel.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct NotificationChannelView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<NotificationChannelId>,
    /// `email`, `ntfy`, `web_push`, or `webhook`.
    kind: &'static str,
    /// Where notifications go. `null` for `email`: they go to the address of the account.
    url: Option<&'a str>,
    /// How much of a room is shown: `none`, `title` (also who wrote), or `excerpt` (also the beginning of the text).
    content: &'static str,
    /// When it is silent, such as `22:00-07:00 Europe/Zurich`. What happens meanwhile is sent together afterwards.
    quiet_hours: Option<String>,
    /// For how many minutes notifications are gathered after the first one; 0 if each is sent at once.
    digest_minutes: u32,
    /// Whether notifications have links that decide or dismiss an item without a login.
    links: bool,
    /// `active`, `failing`, or `off`.
    status: &'static str,
    /// Why the last try failed.
    last_error: Option<&'a str>,
    /// The first failure since the last success.
    #[schema(value_type = Option<super::Instant>)]
    failing_since: Option<Shown<Timestamp>>,
    #[schema(value_type = Option<super::Instant>)]
    off_at: Option<Shown<Timestamp>>,
    /// `user` if you have switched it off, `refused` if the receiver has refused for good, or `failing` if nothing has
    /// succeeded for three days.
    off_reason: Option<&'static str>,
    /// What the receiver said.
    off_note: Option<&'a str>,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    #[schema(value_type = super::Instant)]
    updated_at: Shown<Timestamp>,
}

impl<'a> NotificationChannelView<'a> {
    /// Shows `channel`, without its secrets.
    pub fn new(channel: &'a NotificationChannel) -> Self {
        let off = channel.off.as_ref();
        Self {
            id: Shown(channel.id),
            kind: channel.target.kind().as_str(),
            url: channel.target.url().map(domain::webhook::WebhookUrl::as_str),
            content: channel.settings.content.as_str(),
            quiet_hours: channel.settings.quiet.map(|quiet| quiet.to_string()),
            digest_minutes: channel.settings.digest_minutes,
            links: channel.settings.has_links,
            status: channel.status(),
            last_error: channel.error.as_deref(),
            failing_since: channel.failing_since.map(Shown),
            off_at: off.map(|off| Shown(off.at)),
            off_reason: off.map(|off| off.reason.as_str()),
            off_note: off.and_then(|off| off.note.as_deref()),
            inserted_at: Shown(channel.created_at),
            updated_at: Shown(channel.updated_at),
        }
    }
}

/// A new channel, with its secret if it has one.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct NewNotificationChannelView<'a> {
    #[serde(flatten)]
    channel: NotificationChannelView<'a>,
    /// The secret that requests to a `webhook` are signed with, shown only once: `whsec_` and base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<&'a str>,
}

impl<'a> NewNotificationChannelView<'a> {
    /// Shows `channel`, with its secret.
    pub fn new(channel: &'a NotificationChannel) -> Self {
        let secret = match &channel.target {
            ChannelTarget::Webhook { secret, .. } => Some(secret.reveal()),
            _ => None,
        };
        Self { channel: NotificationChannelView::new(channel), secret }
    }
}

/// One message on one channel.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct NotificationView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<NotificationId>,
    #[schema(value_type = super::Id)]
    channel_id: Shown<NotificationChannelId>,
    /// `attention`, `mention`, or `test`.
    kind: &'static str,
    /// `null` for a test.
    #[schema(value_type = Option<super::Id>)]
    chat_room_id: Option<Shown<ChatId>>,
    /// The message. For `attention`, it is the id of the item.
    #[schema(value_type = Option<super::Id>)]
    message_id: Option<Shown<MessageId>>,
    /// `waiting`, `delivered`, or `dropped`, because you have read the text or left the room, the item has ended, or the
    /// channel is off.
    status: &'static str,
    /// The number of tries.
    attempts: u32,
    /// The status of the last answer, of HTTP or SMTP.
    last_status: Option<u16>,
    /// Why the last try failed.
    last_error: Option<&'a str>,
    #[schema(value_type = Option<super::Instant>)]
    last_attempt_at: Option<Shown<Timestamp>>,
    /// The time for which it was planned.
    #[schema(value_type = super::Instant)]
    due_at: Shown<Timestamp>,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    #[schema(value_type = Option<super::Instant>)]
    ended_at: Option<Shown<Timestamp>>,
}

impl<'a> NotificationView<'a> {
    /// Shows `one`.
    pub fn new(one: &'a Notification) -> Self {
        let has_message = one.kind != NotificationKind::Test;
        Self {
            id: Shown(one.id),
            channel_id: Shown(one.channel),
            kind: one.kind.as_str(),
            chat_room_id: has_message.then_some(Shown(one.chat)),
            message_id: has_message.then_some(Shown(one.message)),
            status: one.state(),
            attempts: one.attempts,
            last_status: one.status,
            last_error: one.error.as_deref(),
            last_attempt_at: one.attempted_at.map(Shown),
            due_at: Shown(one.due_at),
            inserted_at: Shown(one.created_at),
            ended_at: one.ended.map(|ended| Shown(ended.at)),
        }
    }
}

/// The key of the server for Web Push.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct WebPushKeyView<'a> {
    /// The `applicationServerKey` of a subscription: base64url without padding.
    pub public_key: &'a str,
}
