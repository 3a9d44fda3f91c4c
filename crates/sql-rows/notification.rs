//! Channels, notifications, and links as rows. Compiled into each store, whose tables it names.

use std::collections::BTreeMap;

use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text};
use domain::account::KeyDigest;
use domain::attention::{Asker, AttentionItem, SHOWN_CHARS};
use domain::id::{ChatId, MessageId, NotificationChannelId, NotificationId, OrganizationId, UserId};
use domain::notification::{
    ChannelEnd, ChannelKind, ChannelSettings, ChannelTarget, DueChannel, NewLink, Notification,
    NotificationAction, NotificationChannel, NotificationEnd, NotificationKind, NotificationOutcome,
    ShownContent, StoredLink, SubjectContent, SwitchedOff, Untold, WebPushKeys,
};
use domain::push::PushSecret;
use domain::webhook::{WebhookOwner, WebhookSecret, WebhookUrl};
use uuid::Uuid;

use crate::error::Fault;
use crate::message::row::stored_mentions;
use crate::row::{self, At, Id, IdType};
use crate::schema::{notification_channels, notification_links, notifications};

fn count(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = notification_channels, treat_none_as_null = true)]
pub(super) struct ChannelRow {
    pub(super) id: Id,
    user_id: Id,
    kind: String,
    url: Option<String>,
    token: Option<String>,
    secret: Option<String>,
    p256dh: Option<String>,
    auth: Option<String>,
    content: String,
    quiet_hours: Option<String>,
    digest_minutes: i32,
    has_links: bool,
    created_at: At,
    updated_at: At,
    seen_at: At,
    attempts: i32,
    failures: i32,
    failing_since: Option<At>,
    error: Option<String>,
    next_at: Option<At>,
    leased_until: Option<At>,
    off_at: Option<At>,
    off_reason: Option<String>,
    off_note: Option<String>,
}

impl ChannelRow {
    pub(super) fn of(channel: &NotificationChannel) -> Self {
        let (mut token, mut secret, mut keys) = (None, None, None);
        match &channel.target {
            ChannelTarget::Email => {}
            ChannelTarget::Ntfy { token: given, .. } => {
                token = given.as_ref().map(|token| token.reveal().to_owned());
            }
            ChannelTarget::Webhook { secret: own, .. } => secret = Some(own.reveal().to_owned()),
            ChannelTarget::WebPush { keys: given, .. } => keys = Some(given.clone()),
        }
        let (p256dh, auth) = keys.map(|keys| (keys.p256dh, keys.auth)).unzip();
        let off = channel.off.as_ref();
        Self {
            id: Id(channel.id.uuid()),
            user_id: Id(channel.user.uuid()),
            kind: channel.target.kind().as_str().to_owned(),
            url: channel.target.url().map(|url| url.as_str().to_owned()),
            token,
            secret,
            p256dh,
            auth,
            content: channel.settings.content.as_str().to_owned(),
            quiet_hours: channel.settings.quiet.map(|quiet| quiet.to_string()),
            digest_minutes: count(channel.settings.digest_minutes),
            has_links: channel.settings.has_links,
            created_at: At(channel.created_at),
            updated_at: At(channel.updated_at),
            seen_at: At(channel.seen_at),
            attempts: count(channel.attempts),
            failures: count(channel.failures),
            failing_since: channel.failing_since.map(At),
            error: channel.error.clone(),
            next_at: channel.next_at.map(At),
            leased_until: channel.leased_until.map(At),
            off_at: off.map(|off| At(off.at)),
            off_reason: off.map(|off| off.reason.as_str().to_owned()),
            off_note: off.and_then(|off| off.note.clone()),
        }
    }

    pub(super) fn into_channel(self) -> Result<NotificationChannel, Fault> {
        let missing = || Fault::Row(format!("the address of channel {}", self.id.0));
        let url = self.url.map(WebhookUrl::checked);
        let target = match row::word(&self.kind, ChannelKind::parse)? {
            ChannelKind::Email => ChannelTarget::Email,
            ChannelKind::Ntfy => ChannelTarget::Ntfy {
                url: url.ok_or_else(missing)?,
                token: self.token.map(PushSecret::checked),
            },
            ChannelKind::WebPush => {
                let (p256dh, auth) = self.p256dh.zip(self.auth).ok_or_else(missing)?;
                ChannelTarget::WebPush { url: url.ok_or_else(missing)?, keys: WebPushKeys { p256dh, auth } }
            }
            ChannelKind::Webhook => ChannelTarget::Webhook {
                url: url.ok_or_else(missing)?,
                secret: self.secret.map(WebhookSecret::new).ok_or_else(missing)?,
            },
        };
        let quiet = self.quiet_hours.map(|text| row::word(&text, |text| text.parse().ok())).transpose()?;
        let reason = self.off_reason.map(|word| row::word(&word, ChannelEnd::parse)).transpose()?;
        let note = self.off_note;
        Ok(NotificationChannel {
            id: NotificationChannelId::new(self.id.0),
            user: UserId::new(self.user_id.0),
            target,
            settings: ChannelSettings {
                content: row::word(&self.content, ShownContent::parse)?,
                quiet,
                digest_minutes: self.digest_minutes.unsigned_abs(),
                has_links: self.has_links,
            },
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
            seen_at: self.seen_at.0,
            attempts: self.attempts.unsigned_abs(),
            failures: self.failures.unsigned_abs(),
            failing_since: self.failing_since.map(|at| at.0),
            error: self.error,
            next_at: self.next_at.map(|at| at.0),
            leased_until: self.leased_until.map(|at| at.0),
            off: self.off_at.zip(reason).map(|(At(at), reason)| SwitchedOff { at, reason, note }),
        })
    }
}

#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = notifications, treat_none_as_null = true)]
pub(super) struct NotificationRow {
    pub(super) id: Id,
    channel_id: Id,
    user_id: Id,
    kind: String,
    chat_id: Id,
    message_id: Id,
    created_at: At,
    due_at: At,
    is_gathered: bool,
    attempts: i32,
    attempted_at: Option<At>,
    status: Option<i32>,
    error: Option<String>,
    ended_at: Option<At>,
    outcome: Option<String>,
}

impl NotificationRow {
    pub(super) fn of(one: &Notification, user: UserId) -> Self {
        Self {
            id: Id(one.id.uuid()),
            channel_id: Id(one.channel.uuid()),
            user_id: Id(user.uuid()),
            kind: one.kind.as_str().to_owned(),
            chat_id: Id(one.chat.uuid()),
            message_id: Id(one.message.uuid()),
            created_at: At(one.created_at),
            due_at: At(one.due_at),
            is_gathered: one.is_gathered,
            attempts: count(one.attempts),
            attempted_at: one.attempted_at.map(At),
            status: one.status.map(i32::from),
            error: one.error.clone(),
            ended_at: one.ended.map(|ended| At(ended.at)),
            outcome: one.ended.map(|ended| ended.outcome.as_str().to_owned()),
        }
    }

    pub(super) fn into_notification(self) -> Result<Notification, Fault> {
        let outcome = self.outcome.map(|word| row::word(&word, NotificationOutcome::parse)).transpose()?;
        Ok(Notification {
            id: NotificationId::new(self.id.0),
            channel: NotificationChannelId::new(self.channel_id.0),
            kind: row::word(&self.kind, NotificationKind::parse)?,
            chat: ChatId::new(self.chat_id.0),
            message: MessageId::new(self.message_id.0),
            created_at: self.created_at.0,
            due_at: self.due_at.0,
            is_gathered: self.is_gathered,
            attempts: self.attempts.unsigned_abs(),
            attempted_at: self.attempted_at.map(|at| at.0),
            status: self.status.and_then(|status| u16::try_from(status).ok()),
            error: self.error,
            ended: self.ended_at.zip(outcome).map(|(At(at), outcome)| NotificationEnd { at, outcome }),
        })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = notification_links)]
pub(super) struct LinkRow {
    digest: Vec<u8>,
    channel_id: Id,
    user_id: Id,
    item_id: Id,
    action: String,
    expires_at: At,
    used_at: Option<At>,
}

impl LinkRow {
    /// The channel on which it was sent.
    pub(super) fn channel(&self) -> NotificationChannelId {
        NotificationChannelId::new(self.channel_id.0)
    }

    pub(super) fn of(link: &NewLink) -> Self {
        Self {
            digest: link.digest.bytes().to_vec(),
            channel_id: Id(link.channel.uuid()),
            user_id: Id(link.user.uuid()),
            item_id: Id(link.item.uuid()),
            action: link.action.as_str().to_owned(),
            expires_at: At(link.expires_at),
            used_at: None,
        }
    }

    pub(super) fn into_link(self, digest: KeyDigest) -> Result<StoredLink, Fault> {
        Ok(StoredLink {
            digest,
            user: UserId::new(self.user_id.0),
            item: MessageId::new(self.item_id.0),
            action: row::word(&self.action, NotificationAction::parse)?,
            expires_at: self.expires_at.0,
            used_at: self.used_at.map(|at| at.0),
        })
    }
}

/// A message that was not sent on a channel yet.
#[derive(Queryable, QueryableByName)]
pub(super) struct UntoldRow {
    #[diesel(sql_type = IdType)]
    pub(super) channel: Id,
    #[diesel(sql_type = IdType)]
    chat: Id,
    #[diesel(sql_type = IdType)]
    message: Id,
}

/// What was found, with the channels, of which each was read once.
pub(super) fn untold(
    found: Vec<(NotificationKind, UntoldRow)>,
    channels: Vec<ChannelRow>,
) -> Result<Vec<Untold>, Fault> {
    let channels = channels.into_iter().map(|row| Ok((row.id, row.into_channel()?)));
    let channels = channels.collect::<Result<BTreeMap<_, _>, Fault>>()?;
    let of = |(kind, UntoldRow { channel, chat, message })| {
        let channel = channels.get(&channel)?.clone();
        Some(Untold { channel, kind, chat: ChatId::new(chat.0), message: MessageId::new(message.0) })
    };
    Ok(found.into_iter().filter_map(of).collect())
}

/// The tables from which a search begins, and its condition: the channels of those in a chat, or all with all chats.
fn channels(in_chat: bool) -> (&'static str, &'static str) {
    if in_chat {
        ("participants CROSS JOIN notification_channels", "AND participants.chat_id = ?")
    } else {
        ("notification_channels CROSS JOIN participants", "")
    }
}

/// Set if no notification of this message is on the channel.
fn is_untold(message: &str) -> String {
    format!(
        "NOT EXISTS (SELECT 1 FROM notifications WHERE notifications.channel_id = notification_channels.id \
         AND notifications.message_id = {message})"
    )
}

/// Open items that were not told. Values: the chat if `in_chat` is set, the earliest time, the current time, and the largest
/// number.
pub(super) fn untold_items(in_chat: bool) -> String {
    let (tables, chat) = channels(in_chat);
    format!(
        "SELECT notification_channels.id AS channel, attention_items.chat_id AS chat, attention_items.message_id AS message \
         FROM {tables} CROSS JOIN attention_items \
         WHERE notification_channels.off_at IS NULL AND {IS_ADMITTED} \
         AND participants.participant_id = notification_channels.user_id AND participants.left_at IS NULL {chat} \
         AND attention_items.chat_id = participants.chat_id AND attention_items.outcome IS NULL \
         AND attention_items.created_at > ? AND attention_items.created_at > notification_channels.seen_at \
         AND (attention_items.expires_at IS NULL OR attention_items.expires_at > ?) AND {} LIMIT ?",
        is_untold("attention_items.message_id"),
    )
}

/// The user of a channel is not disabled; until then, nothing piles up.
const IS_ADMITTED: &str = "NOT EXISTS (SELECT 1 FROM users \
     WHERE users.id = notification_channels.user_id AND users.disabled_at IS NOT NULL)";

/// Texts that mention the user and were neither read nor told, among the newest of each room. Values: the chat if `in_chat` is
/// set, the earliest time, and the largest number. `mentions` is the condition that the user of the channel is mentioned, and
/// `larger` the function for the larger of two numbers.
pub(super) fn untold_texts(in_chat: bool, mentions: &str, larger: &str) -> String {
    let (tables, chat) = channels(in_chat);
    format!(
        "SELECT notification_channels.id AS channel, messages.chat_id AS chat, messages.id AS message \
         FROM {tables} CROSS JOIN chats CROSS JOIN messages \
         WHERE notification_channels.off_at IS NULL AND {IS_ADMITTED} \
         AND participants.participant_id = notification_channels.user_id AND participants.left_at IS NULL {chat} \
         AND NOT participants.muted AND chats.id = participants.chat_id AND chats.deleted_at IS NULL \
         AND chats.last_message_at > notification_channels.seen_at \
         AND messages.chat_id = chats.id AND messages.kind = 'text' \
         AND messages.sequence > {larger}(participants.read_sequence, chats.last_sequence - 200) \
         AND messages.created_at > ? AND messages.created_at > notification_channels.seen_at \
         AND messages.sender_id <> notification_channels.user_id AND {mentions} AND {} LIMIT ?",
        is_untold("messages.id"),
    )
}

/// A text that mentions a user.
#[derive(Queryable, QueryableByName)]
pub(super) struct MentionRow {
    #[diesel(sql_type = Nullable<Text>)]
    title: Option<String>,
    #[diesel(sql_type = IdType)]
    sender_id: Id,
    #[diesel(sql_type = Text)]
    sender_kind: String,
    #[diesel(sql_type = Text)]
    sender_name: String,
    #[diesel(sql_type = Nullable<Text>)]
    sender_handle: Option<String>,
    #[diesel(sql_type = Text)]
    beginning: String,
    #[diesel(sql_type = Text)]
    mentions: String,
}

impl MentionRow {
    pub(super) fn into_content(self) -> Result<SubjectContent, Fault> {
        let mentions = stored_mentions(&self.mentions)?;
        Ok(SubjectContent::Mention {
            title: self.title,
            sender: Asker {
                id: row::participant_id(&self.sender_kind, self.sender_id.0)?,
                handle: self.sender_handle,
                name: self.sender_name,
            },
            summary: AttentionItem::summary_of(&self.beginning, &mentions, SHOWN_CHARS),
        })
    }
}

/// A [`MentionRow`], if the user takes part in the room and has not read the text. Values: the message, and the user.
pub(super) fn mention() -> String {
    format!(
        "SELECT chats.title, messages.sender_id, messages.sender_kind, messages.sender_name, \
         CASE messages.sender_kind \
             WHEN 'User' THEN (SELECT sender.handle FROM users AS sender WHERE sender.id = messages.sender_id) \
             ELSE (SELECT agents.handle FROM agents WHERE agents.id = messages.sender_id) END AS sender_handle, \
         substr(messages.content, 1, {}) AS beginning, messages.mentions \
         FROM messages CROSS JOIN chats CROSS JOIN participants \
         WHERE messages.id = ? AND chats.id = messages.chat_id AND chats.deleted_at IS NULL \
         AND participants.chat_id = messages.chat_id AND participants.participant_id = ? \
         AND participants.left_at IS NULL AND messages.sequence > participants.read_sequence",
        SHOWN_CHARS * 4,
    )
}

/// Channels that are due and on no lease. Values: the time, twice, and the largest number.
pub(super) const DUE: &str = "SELECT notification_channels.id, notification_channels.user_id, users.organization_id \
     FROM notification_channels JOIN users ON users.id = notification_channels.user_id \
     WHERE notification_channels.next_at <= ? AND notification_channels.off_at IS NULL \
     AND (notification_channels.leased_until IS NULL OR notification_channels.leased_until <= ?) \
     ORDER BY notification_channels.next_at LIMIT ?";

pub(super) fn due((id, user, organization): (Uuid, Uuid, Uuid)) -> DueChannel {
    let owner = WebhookOwner { user: UserId::new(user), organization: OrganizationId::new(organization) };
    DueChannel { id: NotificationChannelId::new(id), owner }
}
