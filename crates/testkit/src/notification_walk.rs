//! What a store does for notifications, for tests that look at its statements.

use domain::id::{ChatId, ParticipantId};
use domain::notification::{
    ChannelChanges, ChannelSettings, NewChannel, NewTarget, SendResult, ShownContent,
};
use domain::page::{PageRequest, Slice};
use domain::ports::Clock;

use crate::{TestAgent, TestUser, World};

/// Makes a channel for a user, tells of a text and an item of an agent on it, and removes it; `after` is called after each
/// operation with its name.
pub async fn walk(
    world: &World,
    ann: &TestUser,
    bot: &TestAgent,
    chat: ChatId,
    mut after: impl AsyncFnMut(&'static str),
) {
    let notifications = &world.notifications;
    let settings =
        ChannelSettings { content: ShownContent::Excerpt, quiet: None, digest_minutes: 0, has_links: true };
    let target = NewTarget::Ntfy { url: "https://ntfy.example/ann".to_owned(), token: None };
    let channel = notifications.create(ann.caller, NewChannel { target, settings }).await.unwrap();
    after("make").await;
    world.clock.advance(std::time::Duration::from_secs(1));
    world.send(bot.caller, chat, "hello", &[ParticipantId::User(ann.id)]).await;
    let asked =
        crate::contract::attention::ask(world, bot, chat, "Go?", serde_json::json!({"kind": "question"}));
    asked.await;
    after("send").await;
    notifications.reload().await.unwrap();
    after("are there any").await;
    notifications.collect(None).await.unwrap();
    after("make those of all rooms").await;
    notifications.collect(Some(chat)).await.unwrap();
    after("make those of a room").await;
    assert_eq!(notifications.due().await.unwrap().len(), 1);
    after("find what is due").await;
    for _ in 0..2 {
        let prepared = notifications.take(channel.id).await.unwrap().unwrap().unwrap();
        after("take").await;
        let sent = prepared.taken.subjects.iter().map(|subject| subject.notification.id).collect();
        let result = SendResult::Delivered { status: Some(200) };
        notifications.settle(prepared.taken.lease(), sent, result).await.unwrap().unwrap();
        after("record what was sent").await;
        if let Some(link) = prepared.links.first() {
            let token = link.url.split_once("token=").unwrap().1;
            notifications.show_link(token).await.unwrap();
            after("find a link").await;
        }
    }
    let page = PageRequest { slice: Slice::After { after: None, limit: 10 }, count: false };
    assert_eq!(notifications.log(ann.caller, page).await.unwrap().rows.len(), 2);
    after("list").await;
    notifications.channels(ann.caller).await.unwrap();
    after("list channels").await;
    notifications.change(ann.caller, channel.id, ChannelChanges::default()).await.unwrap();
    after("change").await;
    notifications.forget_old(world.clock.now()).await.unwrap();
    after("forget").await;
    notifications.remove(ann.caller, channel.id).await.unwrap();
    after("remove").await;
}
