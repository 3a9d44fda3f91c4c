//! The routes of notifications.

use http_wire::openapi::{Endpoint, delete, get, patch, post};
use http_wire::page::{CursorQuery, PageMetadata};
use http_wire::view::{
    NewNotificationChannelView, NotificationChannelView, NotificationView, WebPushKeyView,
};

use crate::notification;

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        get("/notifications", notification::list)
            .named(
                "listNotifications",
                "List what was sent to the caller, and what waits to be sent, newest first",
            )
            .query::<CursorQuery>()
            .lists::<NotificationView<'_>, PageMetadata>(),
        get("/notifications/channels", notification::list_channels)
            .named(
                "listNotificationChannels",
                "List the channels by which the caller is notified, oldest first",
            )
            .lists_all::<NotificationChannelView<'_>>(),
        post("/notifications/channels", notification::create)
            .named(
                "createNotificationChannel",
                "Create a channel for attention items and mentions, and show the secret of a webhook once",
            )
            .body::<notification::NewChannelBody>()
            .answers::<NewNotificationChannelView<'_>>(201)
            .refuses(&[409]),
        get("/notifications/channels/{channel_id}", notification::find)
            .named("findNotificationChannel", "Show a channel, without its secrets")
            .answers::<NotificationChannelView<'_>>(200),
        patch("/notifications/channels/{channel_id}", notification::change)
            .named("changeNotificationChannel", "Change the settings of a channel, or switch it on or off")
            .body::<notification::ChangeChannelBody>()
            .answers::<NotificationChannelView<'_>>(200),
        delete("/notifications/channels/{channel_id}", notification::remove)
            .named("removeNotificationChannel", "Remove a channel, with what waits to be sent and its log")
            .answers_nothing(),
        post("/notifications/channels/{channel_id}/test", notification::test)
            .named("testNotificationChannel", "Send a test immediately, even in quiet hours")
            .answers::<NotificationView<'_>>(201)
            .refuses(&[409]),
        get("/notifications/web-push-key", notification::web_push_key)
            .named("findWebPushKey", "Show the key with which a browser subscribes to Web Push")
            .answers::<WebPushKeyView<'_>>(200)
            .refuses(&[409]),
    ]
}
