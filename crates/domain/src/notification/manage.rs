//! What users do with their channels.

use super::channel::{
    ChannelChanges, ChannelKind, ChannelSettings, ChannelTarget, NotificationChannel, WebPushKeys,
};
use super::model::Notification;
use super::port::{ChangeChannel, CreateChannel, MAX_OF_USER, TestChannel};
use super::service::NotificationService;
use crate::caller::UserCaller;
use crate::id::{NotificationChannelId, NotificationId};
use crate::page::{Page, PageRequest};
use crate::push::PushSecret;
use crate::store::StoreError;
use crate::webhook::{WebhookUrl, WebhookUrlFault};

/// Where the notifications of a new channel are to go.
#[derive(Clone, Debug)]
pub enum NewTarget {
    /// To the address of the account.
    Email,
    /// To the URL of a topic of an ntfy server.
    Ntfy {
        /// The URL.
        url: String,
        /// The access token of the ntfy server.
        token: Option<PushSecret>,
    },
    /// To a subscription of a browser.
    WebPush {
        /// The URL of the push service.
        url: String,
        /// The keys of the browser.
        keys: WebPushKeys,
    },
    /// To a URL.
    Webhook {
        /// The URL.
        url: String,
    },
}

/// A channel that a user wants.
#[derive(Clone, Debug)]
pub struct NewChannel {
    /// Where notifications go.
    pub target: NewTarget,
    /// What the user has set.
    pub settings: ChannelSettings,
}

/// The reason why a channel was not made, changed, or tested.
#[derive(Debug, thiserror::Error)]
pub enum NotificationError {
    /// The user has no such channel.
    #[error("the user has no such channel")]
    NotFound,
    /// The user has as many channels as possible.
    #[error("the user has {MAX_OF_USER} channels")]
    TooMany,
    /// The operator has not set how channels of this kind are reached.
    #[error("channels of this kind are off")]
    KindIsOff(ChannelKind),
    /// The URL was not accepted.
    #[error("the URL {0}")]
    Url(WebhookUrlFault),
    /// The URL of ntfy does not name a topic.
    #[error("the URL names no topic")]
    Topic,
    /// The keys of a subscription cannot be.
    #[error("the keys are not those of a subscription")]
    Keys,
    /// The channel is off.
    #[error("the channel is off")]
    IsOff,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl NotificationService {
    /// The channels of a user, oldest first.
    pub async fn channels(&self, caller: UserCaller) -> Result<Vec<NotificationChannel>, StoreError> {
        self.ports.store.notification_channels(caller.user).await
    }

    /// A channel of a user.
    pub async fn channel(
        &self,
        caller: UserCaller,
        id: NotificationChannelId,
    ) -> Result<NotificationChannel, NotificationError> {
        let channels = self.channels(caller).await?;
        channels.into_iter().find(|channel| channel.id == id).ok_or(NotificationError::NotFound)
    }

    /// Makes a channel.
    pub async fn create(
        &self,
        caller: UserCaller,
        new: NewChannel,
    ) -> Result<NotificationChannel, NotificationError> {
        let (target, now) = (self.target(new.target)?, self.now());
        let id = NotificationChannelId::new(self.ports.ids.generate(now));
        let channel = NotificationChannel::new(id, caller.user, target, new.settings, now);
        let command = CreateChannel { channel: channel.clone() };
        if !self.ports.store.create_notification_channel(command).await? {
            return Err(NotificationError::TooMany);
        }
        self.ports.set.set_any(true);
        Ok(channel)
    }

    fn target(&self, new: NewTarget) -> Result<ChannelTarget, NotificationError> {
        Ok(match new {
            NewTarget::Email if self.ports.has_email => ChannelTarget::Email,
            NewTarget::Email => return Err(NotificationError::KindIsOff(ChannelKind::Email)),
            NewTarget::Ntfy { url, token } => {
                let url = self.url(&url, ChannelKind::Ntfy)?;
                ntfy_topic(&url).ok_or(NotificationError::Topic)?;
                ChannelTarget::Ntfy { url, token }
            }
            NewTarget::WebPush { url, keys } => {
                self.web_push_key().ok_or(NotificationError::KindIsOff(ChannelKind::WebPush))?;
                let url = self.url(&url, ChannelKind::WebPush)?;
                let keys = keys.checked().ok_or(NotificationError::Keys)?;
                ChannelTarget::WebPush { url, keys }
            }
            NewTarget::Webhook { url } => {
                let urls = self.ports.urls.as_ref();
                let urls = urls.ok_or(NotificationError::KindIsOff(ChannelKind::Webhook))?;
                let url = urls.url(&url).map_err(NotificationError::Url)?;
                ChannelTarget::Webhook { url, secret: urls.secret() }
            }
        })
    }

    fn url(&self, text: &str, kind: ChannelKind) -> Result<WebhookUrl, NotificationError> {
        let urls = self.ports.urls.as_ref().ok_or(NotificationError::KindIsOff(kind))?;
        urls.url(text).map_err(NotificationError::Url)
    }

    /// Changes the settings of a channel, or switches it on or off.
    pub async fn change(
        &self,
        caller: UserCaller,
        channel: NotificationChannelId,
        changes: ChannelChanges,
    ) -> Result<NotificationChannel, NotificationError> {
        let command = ChangeChannel { user: caller.user, channel, changes, now: self.now() };
        let channel = self.ports.store.change_notification_channel(command).await?;
        self.ports.set.request_reload();
        channel.ok_or(NotificationError::NotFound)
    }

    /// Removes a channel.
    pub async fn remove(
        &self,
        caller: UserCaller,
        channel: NotificationChannelId,
    ) -> Result<(), NotificationError> {
        let removed = self.ports.store.remove_notification_channel(caller.user, channel, self.now());
        if removed.await? { Ok(()) } else { Err(NotificationError::NotFound) }
    }

    /// Sends a test, at once.
    pub async fn test(
        &self,
        caller: UserCaller,
        channel: NotificationChannelId,
    ) -> Result<Notification, NotificationError> {
        let now = self.now();
        let id = NotificationId::new(self.ports.ids.generate(now));
        let command = TestChannel { user: caller.user, channel, id, now };
        let tested = self.ports.store.test_notification_channel(command).await?;
        let tested = tested.ok_or(NotificationError::NotFound)?;
        if tested.off.is_some() {
            return Err(NotificationError::IsOff);
        }
        self.ports.set.wake();
        Ok(command.notification(&tested))
    }

    /// The notifications of a user, newest first.
    pub async fn log(&self, caller: UserCaller, page: PageRequest) -> Result<Page<Notification>, StoreError> {
        self.ports.store.notifications(caller.user, page).await
    }
}

/// The URL of an ntfy server, and the topic: the last part of the path.
pub fn ntfy_topic(url: &WebhookUrl) -> Option<(&str, &str)> {
    let (server, topic) = url.as_str().rsplit_once('/')?;
    let is_topic = (1..=64).contains(&topic.len())
        && topic.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    let has_host = server.len() > "https:/".len();
    (is_topic && has_host).then_some((server, topic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ntfy_url_ends_with_its_topic() {
        let of = |text: &str| {
            let url = WebhookUrl::checked(text.to_owned());
            ntfy_topic(&url).map(|(server, topic)| (server.to_owned(), topic.to_owned()))
        };
        let pair = |server: &str, topic: &str| Some((server.to_owned(), topic.to_owned()));
        assert_eq!(of("https://ntfy.example/my-topic_1"), pair("https://ntfy.example", "my-topic_1"));
        assert_eq!(of("http://127.0.0.1:8080/in/a"), pair("http://127.0.0.1:8080/in", "a"));
        for wrong in [
            "https://ntfy.example/",
            "https://ntfy.example",
            "https://a.example/t?auth=1",
            "https://a.example/%41",
        ] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
