//! `/notifications`: the notification channels of the caller, and what was sent on them.

use actix_web::{HttpResponse, web};
use domain::notification::{
    ChannelChanges, ChannelKind, ChannelSettings, MAX_DIGEST_MINUTES, NewChannel, NewTarget,
    NotificationError, NotificationService, ShownContent, WebPushKeys,
};
use domain::push::PushSecret;
use domain::text::TextFault;
use domain::webhook::WebhookUrl;
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::{Data, List};
use http_wire::error::ApiError;
use http_wire::openapi::schema::{flag, text, whole, word};
use http_wire::page::CursorQuery;
use http_wire::path::NotificationChannelPath;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::strict_json::{FromBody, NoBody, ObjectReader, Rejected, StrictJson, known};
use http_wire::view::{
    NewNotificationChannelView, NotificationChannelView, NotificationView, WebPushKeyView,
};

/// The maximum number of characters of quiet hours.
const QUIET_CHARS: usize = 60;

/// The maximum number of characters of a token.
const KEY_CHARS: usize = 4_096;

/// The maximum number of characters of a key of a subscription.
const PUSH_KEY_CHARS: usize = 200;

/// Reads a text with something in it.
fn some(max: usize) -> impl FnOnce(String) -> Result<String, TextFault> {
    move |text| match text.chars().count() {
        0 => Err(TextFault::Blank),
        chars if chars > max => Err(TextFault::TooManyChars { max }),
        _ => Ok(text),
    }
}

/// The settings that a body gives.
fn settings(body: &mut ObjectReader<'_>) -> Result<ChannelChanges, Rejected> {
    let about = "How much of a room is shown: nothing, its title and who wrote, or also the beginning of the text. `none` by \
                 default.";
    let content = word(ShownContent::WORDS).about(about);
    let content = body.text_if_given("content", content, known(ShownContent::parse));
    let about = "When the channel is silent, such as `22:00-07:00 Europe/Zurich`. What happens meanwhile is sent together \
                 afterwards.";
    let quiet = text().max(QUIET_CHARS).about(about);
    let quiet = body.clearable_text("quiet_hours", quiet, |text| text.parse());
    let about = "For how many minutes notifications are gathered after the first one; 0, the default, sends each at once.";
    let digest = whole(0, MAX_DIGEST_MINUTES.into()).about(about);
    let digest_minutes = body.number_if_given("digest_minutes", digest, 0..=MAX_DIGEST_MINUTES);
    let about = "Whether notifications have links that decide or dismiss an item once, without a login. They need \
                 `public_url`. False by default.";
    let has_links = body.optional_flag("links", flag().about(about));
    Ok(ChannelChanges {
        content: content?,
        quiet: quiet?,
        digest_minutes: digest_minutes?,
        has_links: has_links?,
        is_on: None,
    })
}

/// A new channel.
pub(crate) struct NewChannelBody(NewChannel);

impl FromBody for NewChannelBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let kind = body.text("kind", word(ChannelKind::WORDS), known(ChannelKind::parse));
        let about = "Where notifications go, for all kinds but `email`: the topic of an ntfy server, the endpoint of a \
                     subscription, or the URL of a webhook.";
        let url = text().min(1).max(WebhookUrl::MAX_CHARS).about(about);
        let url = body.text_if_given("url", url, some(WebhookUrl::MAX_CHARS));
        let token =
            text().min(1).max(KEY_CHARS).about("The access token of the ntfy server, if it needs one.");
        let token = body.text_if_given("token", token, PushSecret::new);
        let [p256dh, auth] = [
            ("p256dh", "The public key of a subscription, for `web_push`: base64url."),
            ("auth", "The authentication secret of a subscription, for `web_push`: base64url."),
        ]
        .map(|(name, about)| {
            body.text_if_given(name, text().min(1).max(PUSH_KEY_CHARS).about(about), some(PUSH_KEY_CHARS))
        });
        let settings = settings(body);
        let (kind, url, token, p256dh, auth) = (kind?, url?, token?, p256dh?, auth?);
        let url = match (kind, url) {
            (ChannelKind::Email, None) => String::new(),
            (ChannelKind::Email, Some(_)) => {
                return Err(body
                    .fault("url", "must not be given for email, which goes to the address of the account"));
            }
            (_, Some(url)) => url,
            (_, None) => return Err(body.fault("url", "can't be blank")),
        };
        if token.is_some() && kind != ChannelKind::Ntfy {
            return Err(body.fault("token", "must only be given for ntfy"));
        }
        let target = match (kind, p256dh, auth) {
            (ChannelKind::WebPush, Some(p256dh), Some(auth)) => {
                NewTarget::WebPush { url, keys: WebPushKeys { p256dh, auth } }
            }
            (ChannelKind::WebPush, ..) => return Err(body.fault("p256dh", "can't be blank, nor can auth")),
            (_, None, None) if kind == ChannelKind::Email => NewTarget::Email,
            (_, None, None) if kind == ChannelKind::Ntfy => NewTarget::Ntfy { url, token },
            (_, None, None) => NewTarget::Webhook { url },
            _ => return Err(body.fault("p256dh", "must only be given for web_push, as auth")),
        };
        let given = settings?;
        Ok(Self(NewChannel {
            target,
            settings: ChannelSettings {
                content: given.content.unwrap_or_default(),
                quiet: given.quiet.flatten(),
                digest_minutes: given.digest_minutes.unwrap_or(0),
                has_links: given.has_links.unwrap_or(false),
            },
        }))
    }
}

/// Changes of a channel.
pub(crate) struct ChangeChannelBody(ChannelChanges);

impl FromBody for ChangeChannelBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let settings = settings(body);
        let about = "Switches the channel on or off. What waits when it is switched off is dropped.";
        let is_on = body.optional_flag("enabled", flag().about(about));
        let changes = ChannelChanges { is_on: is_on?, ..settings? };
        if changes == ChannelChanges::default() {
            return Err(body.fault("content", "must name at least one field to change"));
        }
        Ok(Self(changes))
    }
}

pub(crate) async fn list_channels(
    UserAuth(caller): UserAuth,
    _: StrictQuery<NoQuery>,
    notifications: web::Data<NotificationService>,
) -> Result<HttpResponse, ApiError> {
    let channels = notifications.channels(caller).await?;
    Ok(Data::ok(channels.iter().map(NotificationChannelView::new).collect::<Vec<_>>()))
}

pub(crate) async fn create(
    UserAuth(caller): UserAuth,
    StrictJson { body, .. }: StrictJson<NewChannelBody>,
    notifications: web::Data<NotificationService>,
) -> Result<HttpResponse, ApiError> {
    let channel = notifications.create(caller, body.0).await?;
    Ok(Data::created(NewNotificationChannelView::new(&channel)))
}

pub(crate) async fn find(
    UserAuth(caller): UserAuth,
    path: NotificationChannelPath,
    _: StrictQuery<NoQuery>,
    notifications: web::Data<NotificationService>,
) -> Result<HttpResponse, ApiError> {
    let channel = notifications.channel(caller, path.channel).await?;
    Ok(Data::ok(NotificationChannelView::new(&channel)))
}

pub(crate) async fn change(
    UserAuth(caller): UserAuth,
    path: NotificationChannelPath,
    StrictJson { body, .. }: StrictJson<ChangeChannelBody>,
    notifications: web::Data<NotificationService>,
) -> Result<HttpResponse, ApiError> {
    let channel = notifications.change(caller, path.channel, body.0).await?;
    Ok(Data::ok(NotificationChannelView::new(&channel)))
}

pub(crate) async fn remove(
    UserAuth(caller): UserAuth,
    path: NotificationChannelPath,
    _: StrictQuery<NoQuery>,
    notifications: web::Data<NotificationService>,
) -> Result<HttpResponse, ApiError> {
    notifications.remove(caller, path.channel).await?;
    Ok(HttpResponse::NoContent().finish())
}

pub(crate) async fn test(
    UserAuth(caller): UserAuth,
    path: NotificationChannelPath,
    _: StrictJson<NoBody>,
    notifications: web::Data<NotificationService>,
) -> Result<HttpResponse, ApiError> {
    let sent = notifications.test(caller, path.channel).await?;
    Ok(Data::created(NotificationView::new(&sent)))
}

pub(crate) async fn list(
    UserAuth(caller): UserAuth,
    StrictQuery(query): StrictQuery<CursorQuery>,
    notifications: web::Data<NotificationService>,
) -> Result<HttpResponse, ApiError> {
    let window = query.window(CursorScope::list("me/notifications").of(caller.user.uuid()))?;
    let page = notifications.log(caller, window.request.clone()).await?;
    let views = page.rows.iter().map(NotificationView::new);
    Ok(List::ok(views, window.metadata(&page)))
}

pub(crate) async fn web_push_key(
    UserAuth(_): UserAuth,
    _: StrictQuery<NoQuery>,
    notifications: web::Data<NotificationService>,
) -> Result<HttpResponse, ApiError> {
    let key = notifications.web_push_key().ok_or(NotificationError::KindIsOff(ChannelKind::WebPush))?;
    Ok(Data::ok(WebPushKeyView { public_key: key }))
}
