//! Channels of notifications, what is told on them, and the links in it.

use std::time::Duration;

use domain::attention::{AttentionId, AttentionOutcome, Decision};
use domain::audit::{AuditAction, RecordedActor};
use domain::chat::{ReadMark, ReadingChange, Role};
use domain::id::{ChatId, MessageId, NotificationChannelId, ParticipantId};
use domain::notification::{
    ChannelChanges, ChannelEnd, ChannelKind, ChannelSettings, ChannelTarget, LEASE, LinkError, MAX_OF_USER,
    MAX_TOGETHER, NewChannel, NewTarget, Notification, NotificationAction, NotificationChannel,
    NotificationError, NotificationKind, NotificationLease, Prepared, SendResult, ShownContent, WebPushKeys,
};
use domain::ports::Clock;
use domain::push::PushSecret;
use serde_json::json;

use super::attention::{ask, item, request};
use super::audit::log_of;
use super::messages::{ann_and_bot, first};
use crate::{TestAgent, TestUser, World};

const MINUTE: Duration = Duration::from_secs(60);

fn settings() -> ChannelSettings {
    ChannelSettings { content: ShownContent::Excerpt, quiet: None, digest_minutes: 0, has_links: false }
}

async fn channel(
    world: &World,
    user: &TestUser,
    target: NewTarget,
    settings: ChannelSettings,
) -> NotificationChannel {
    let made = world.notifications.create(user.caller, NewChannel { target, settings }).await.unwrap();
    // What is written at the same moment was written before.
    world.clock.advance(Duration::from_micros(1));
    made
}

async fn by_email(world: &World, user: &TestUser) -> NotificationChannel {
    channel(world, user, NewTarget::Email, settings()).await
}

fn ntfy() -> NewTarget {
    NewTarget::Ntfy { url: "https://ntfy.example/ann".to_owned(), token: None }
}

/// Makes notifications, and takes what is due on a channel.
async fn try_take(world: &World, id: NotificationChannelId) -> Option<Prepared> {
    world.notifications.reload().await.unwrap();
    world.notifications.collect(None).await.unwrap();
    loop {
        let is_due = world.notifications.due().await.unwrap().iter().any(|due| due.id == id);
        let taken = world.notifications.take(id).await.unwrap();
        assert_eq!(taken.is_some(), is_due);
        // What has ended was dropped, and more may be due.
        if !matches!(taken, Some(None)) {
            return taken.flatten();
        }
    }
}

async fn take(world: &World, channel: &NotificationChannel) -> Prepared {
    try_take(world, channel.id).await.expect("something is due")
}

async fn settle(world: &World, prepared: &Prepared, result: SendResult) -> Option<NotificationChannel> {
    let sent = prepared.taken.subjects.iter().map(|subject| subject.notification.id).collect();
    let settled = world.notifications.settle(prepared.taken.lease(), sent, result).await.unwrap();
    settled.map(|settled| settled.channel)
}

async fn deliver(world: &World, prepared: &Prepared) {
    let result = SendResult::Delivered { status: Some(200) };
    settle(world, prepared, result).await.expect("the lease holds");
}

fn refused() -> SendResult {
    SendResult::Refused { status: Some(550), error: "550 no such user \u{1F47E}".to_owned() }
}

fn failed() -> SendResult {
    SendResult::Failed { status: Some(503), error: "status 503".to_owned(), retry_after: None }
}

/// The messages that a notification is about, and why.
fn about(prepared: &Prepared) -> Vec<(NotificationKind, MessageId)> {
    let subjects = prepared.taken.subjects.iter();
    subjects.map(|subject| (subject.notification.kind, subject.notification.message)).collect()
}

/// All that is told on a channel, until nothing is due.
async fn told(world: &World, channel: &NotificationChannel) -> Vec<(NotificationKind, MessageId)> {
    let mut all = Vec::new();
    while let Some(prepared) = try_take(world, channel.id).await {
        all.extend(about(&prepared));
        deliver(world, &prepared).await;
    }
    all
}

/// The states of the notifications of a user, newest first.
async fn states(world: &World, user: &TestUser) -> Vec<&'static str> {
    let page = world.notifications.log(user.caller, first(100)).await.unwrap();
    page.rows.iter().map(Notification::state).collect()
}

async fn mention(world: &World, agent: &TestAgent, chat: ChatId, user: &TestUser) -> MessageId {
    world.send(agent.caller, chat, "Hello", &[ParticipantId::User(user.id)]).await.id
}

async fn question(world: &World, agent: &TestAgent, chat: ChatId) -> MessageId {
    ask(world, agent, chat, "Go?", json!({"kind": "question"})).await.id
}

/// The entries about channels in the audit log, oldest first: whether they are of the server, what, and the detail.
async fn log(world: &World) -> Vec<(bool, AuditAction, String)> {
    let entries = log_of(world, None, None).await.into_iter();
    let entries = entries.filter(|entry| entry.action.as_str().starts_with("notification."));
    let entries = entries.map(|entry| {
        let is_of_server = entry.actor == RecordedActor::Server;
        (is_of_server, entry.action, entry.detail.unwrap_or_default())
    });
    let mut entries = entries.collect::<Vec<_>>();
    entries.sort_by_key(|(_, action, detail)| (action.as_str(), detail.clone()));
    entries
}

/// Each is stored as it was given, and is nobody else's.
pub async fn users_keep_channels(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let keys = WebPushKeys { p256dh: "B".repeat(87), auth: "c".repeat(22) };
    let token = Some(PushSecret::new("tk_1".to_owned()).unwrap());
    let quiet = Some("22:00-07:00 Europe/Zurich".parse().unwrap());
    let all = ChannelSettings { quiet, digest_minutes: 30, has_links: true, ..settings() };
    let mut made = Vec::new();
    for target in [
        NewTarget::Email,
        NewTarget::Ntfy { url: "https://ntfy.example/ann".to_owned(), token },
        NewTarget::Webhook { url: "https://hooks.example/in?key=1".to_owned() },
        NewTarget::WebPush { url: "https://push.example/1".to_owned(), keys },
    ] {
        world.clock.advance(Duration::from_secs(1));
        made.push(channel(&world, &ann, target, all).await);
    }
    assert_eq!(world.notifications.channels(ann.caller).await.unwrap(), made);
    assert_eq!(world.notifications.channels(ben.caller).await.unwrap(), []);
    assert!(matches!(made[2].target, ChannelTarget::Webhook { .. }));
    let kinds = made.iter().map(|channel| channel.target.kind()).collect::<Vec<_>>();
    let expected = [ChannelKind::Email, ChannelKind::Ntfy, ChannelKind::Webhook, ChannelKind::WebPush];
    assert_eq!(kinds, expected);

    let wished = ChannelChanges {
        content: Some(ShownContent::None),
        quiet: Some(None),
        is_on: Some(false),
        ..ChannelChanges::default()
    };
    let foreign = world.notifications.change(ben.caller, made[0].id, wished).await;
    assert!(matches!(foreign, Err(NotificationError::NotFound)));
    let changed = world.notifications.change(ann.caller, made[0].id, wished).await.unwrap();
    assert_eq!((changed.settings.content, changed.settings.quiet), (ShownContent::None, None));
    assert_eq!(changed.off.as_ref().map(|off| off.reason), Some(ChannelEnd::User));
    assert_eq!(world.notifications.channel(ann.caller, made[0].id).await.unwrap(), changed);
    let again = world.notifications.change(ann.caller, made[0].id, wished).await.unwrap();
    assert_eq!(again, changed, "nothing wished");
    assert!(matches!(world.notifications.test(ann.caller, made[0].id).await, Err(NotificationError::IsOff)));
    assert!(matches!(
        world.notifications.test(ben.caller, made[1].id).await,
        Err(NotificationError::NotFound)
    ));
    assert!(matches!(
        world.notifications.remove(ben.caller, made[1].id).await,
        Err(NotificationError::NotFound)
    ));
    world.notifications.remove(ann.caller, made[1].id).await.unwrap();
    assert_eq!(world.notifications.channels(ann.caller).await.unwrap().len(), 3);
    for _ in 3..MAX_OF_USER {
        by_email(&world, &ann).await;
    }
    let new = NewChannel { target: NewTarget::Email, settings: settings() };
    let refused = world.notifications.create(ann.caller, new).await;
    assert!(matches!(refused, Err(NotificationError::TooMany)));
    let log = log(&world).await;
    let has = |action, detail: &str| log.contains(&(false, action, detail.to_owned()));
    assert!(has(AuditAction::NotificationChannelCreated, "webhook https://hooks.example"), "{log:?}");
    assert!(has(AuditAction::NotificationChannelChanged, "email"), "{log:?}");
    assert!(has(AuditAction::NotificationChannelRemoved, "ntfy"), "{log:?}");
    assert_eq!(
        log.iter().filter(|(_, action, _)| *action == AuditAction::NotificationChannelChanged).count(),
        1
    );
}

/// Items and mentions, each once on each channel, and nothing else.
pub async fn what_waits_is_told_once(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let ben = world.user("ben").await;
    question(&world, &bot, chat).await;
    let before = by_email(&world, &ann).await;
    assert_eq!(told(&world, &before).await, [], "what was written before the channel was made");
    world.clock.advance(MINUTE);
    let other = by_email(&world, &ann).await;
    world.clock.advance(MINUTE);
    let asked = question(&world, &bot, chat).await;
    let mentioned = mention(&world, &bot, chat, &ann).await;
    world.send(ann.caller, chat, "To an agent", &[ParticipantId::Agent(bot.id)]).await;
    let both = [(NotificationKind::Attention, asked), (NotificationKind::Mention, mentioned)];
    for channel in [&before, &other] {
        let mut all = told(&world, channel).await;
        all.sort_by_key(|(kind, _)| kind.as_str());
        assert_eq!(all, both);
        assert_eq!(told(&world, channel).await, []);
    }
    let approval = request(&world, &bot, chat, "a-1").await;
    assert_eq!(
        told(&world, &before).await,
        [(NotificationKind::Attention, approval)],
        "it mentions its owner"
    );
    assert_eq!(states(&world, &ben).await, [""; 0]);
    world.clock.advance(Duration::from_secs(60 * 60));
    assert_eq!(told(&world, &before).await, []);
}

/// What the user has read, left, or muted is not told, nor what others have answered.
pub async fn what_has_ended_is_not_told(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let own = by_email(&world, &ann).await;
    let read = mention(&world, &bot, chat, &ann).await;
    world.notifications.reload().await.unwrap();
    world.notifications.collect(Some(chat)).await.unwrap();
    world.chats.mark_read(ann.caller, chat, ReadMark::At(read)).await.unwrap();
    let asked = question(&world, &bot, chat).await;
    world.notifications.collect(Some(chat)).await.unwrap();
    world.attention.dismiss(ann.caller, AttentionId::Item(asked)).await.unwrap();
    assert_eq!(told(&world, &own).await, []);
    assert_eq!(states(&world, &ann).await, ["dropped", "dropped"]);
    mention(&world, &bot, chat, &ann).await;
    world.chats.mark_read(ann.caller, chat, ReadMark::Newest).await.unwrap();
    assert_eq!(told(&world, &own).await, [], "it was read before it was told");
    let mute = |muted| ReadingChange { mark: None, muted: Some(muted) };
    world.chats.mark_read(ann.caller, chat, mute(true)).await.unwrap();
    mention(&world, &bot, chat, &ann).await;
    let muted = question(&world, &bot, chat).await;
    assert_eq!(told(&world, &own).await, [(NotificationKind::Attention, muted)]);
    world.chats.mark_read(ann.caller, chat, ReadMark::Newest).await.unwrap();
    world.chats.mark_read(ann.caller, chat, mute(false)).await.unwrap();
    question(&world, &bot, chat).await;
    world.notifications.collect(None).await.unwrap();
    let cai = world.colleague("cai", "ann").await;
    world.add(ann.caller, chat, cai.id.into(), Role::Owner).await;
    world.chats.remove_participant(ann.caller, chat, ann.id).await.unwrap();
    assert_eq!(told(&world, &own).await, [], "the user has left");
    assert_eq!(states(&world, &ann).await[0], "dropped");
}

/// Of several senders one sends, another one takes over when it has died, and a late answer changes nothing.
pub async fn one_sender_has_the_lease_of_a_channel(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let own = by_email(&world, &ann).await;
    let asked = question(&world, &bot, chat).await;
    let taken = take(&world, &own).await;
    assert_eq!(about(&taken), [(NotificationKind::Attention, asked)]);
    assert_eq!(taken.taken.email, "ann@example.org");
    assert_eq!(try_take(&world, own.id).await, None);
    world.clock.advance(LEASE);
    let again = take(&world, &own).await;
    assert_eq!(again.taken.subjects[0].notification.id, taken.taken.subjects[0].notification.id);
    assert_eq!(again.taken.subjects[0].notification.attempts, 2);
    assert_eq!(settle(&world, &taken, refused()).await, None, "its lease has ended");
    let settled = settle(&world, &again, failed()).await.unwrap();
    assert_eq!((settled.failures, settled.status()), (1, "failing"));
    let page = world.notifications.log(ann.caller, first(10)).await.unwrap();
    assert_eq!((page.rows[0].status, page.rows[0].error.as_deref()), (Some(503), Some("status 503")));
    assert_eq!(try_take(&world, own.id).await, None, "not at once");
    world.clock.advance(MINUTE);
    let last = take(&world, &own).await;
    deliver(&world, &last).await;
    assert_eq!(states(&world, &ann).await, ["delivered"]);
    assert_eq!(settle(&world, &last, failed()).await, None);
    let lease = NotificationLease { channel: own.id, attempt: last.taken.channel.attempts + 1 };
    let none = world.notifications.settle(lease, Vec::new(), failed()).await.unwrap();
    assert_eq!(none, None);
}

/// What waits for a digest is sent together, and all else alone.
pub async fn a_digest_gathers_what_waits(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let alone = by_email(&world, &ann).await;
    let digest = ChannelSettings { digest_minutes: 10, ..settings() };
    let gathered = channel(&world, &ann, ntfy(), digest).await;
    let asked = question(&world, &bot, chat).await;
    assert_eq!(about(&take(&world, &alone).await).len(), 1);
    assert_eq!(try_take(&world, gathered.id).await, None);
    world.clock.advance(MINUTE * 5);
    let mentioned = mention(&world, &bot, chat, &ann).await;
    assert_eq!(try_take(&world, gathered.id).await, None);
    world.clock.advance(MINUTE * 5);
    let first = take(&world, &gathered).await;
    assert_eq!(about(&first), [(NotificationKind::Attention, asked)], "ten minutes after it was made");
    deliver(&world, &first).await;
    let later = question(&world, &bot, chat).await;
    assert_eq!(try_take(&world, gathered.id).await, None);
    world.clock.advance(MINUTE * 10);
    let both = take(&world, &gathered).await;
    assert_eq!(about(&both), [(NotificationKind::Mention, mentioned), (NotificationKind::Attention, later)]);
    assert_eq!(both.notice.title(), "2 notifications");
    world.notifications.test(ann.caller, gathered.id).await.unwrap();
    deliver(&world, &both).await;
    let test = take(&world, &gathered).await;
    assert_eq!(about(&test)[0].0, NotificationKind::Test);
}

/// However many wait, in parts, and all end with the channel.
pub async fn what_waits_is_sent_in_parts(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let digest = ChannelSettings { digest_minutes: 10, ..settings() };
    let gathered = channel(&world, &ann, ntfy(), digest).await;
    for _ in 0..MAX_TOGETHER + 5 {
        mention(&world, &bot, chat, &ann).await;
    }
    assert_eq!(try_take(&world, gathered.id).await, None);
    world.clock.advance(MINUTE * 10);
    let part = take(&world, &gathered).await;
    assert_eq!(about(&part).len(), MAX_TOGETHER);
    deliver(&world, &part).await;
    let rest = take(&world, &gathered).await;
    assert_eq!(about(&rest).len(), 5, "at once");
    mention(&world, &bot, chat, &ann).await;
    assert_eq!(try_take(&world, gathered.id).await, None);
    settle(&world, &rest, refused()).await.unwrap();
    let states = states(&world, &ann).await;
    assert_eq!(states.iter().filter(|state| **state == "delivered").count(), MAX_TOGETHER);
    assert_eq!(states.iter().filter(|state| **state == "dropped").count(), 6);
}

/// A channel whose receiver refuses for good is off until its user switches it on.
pub async fn a_refused_channel_is_switched_off(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let own = by_email(&world, &ann).await;
    for _ in 0..2 {
        question(&world, &bot, chat).await;
    }
    let taken = take(&world, &own).await;
    let off = settle(&world, &taken, refused()).await.unwrap();
    let note = off.off.as_ref().and_then(|off| off.note.as_deref());
    assert_eq!(note, Some("550 no such user \u{1F47E}"));
    assert_eq!(world.notifications.channels(ann.caller).await.unwrap(), std::slice::from_ref(&off));
    assert_eq!(states(&world, &ann).await, ["dropped", "dropped"]);
    let disabled = (true, AuditAction::NotificationChannelDisabled, "email refused".to_owned());
    assert!(log(&world).await.contains(&disabled));
    question(&world, &bot, chat).await;
    assert_eq!(told(&world, &own).await, []);
    world.clock.advance(MINUTE);
    let on = ChannelChanges { is_on: Some(true), ..ChannelChanges::default() };
    world.notifications.change(ann.caller, own.id, on).await.unwrap();
    assert_eq!(told(&world, &own).await, [], "what was written while it was off");
    world.clock.advance(MINUTE);
    let asked = question(&world, &bot, chat).await;
    assert_eq!(told(&world, &own).await, [(NotificationKind::Attention, asked)]);
}

/// A link works once, for a time, and only while its channel and its user exist.
pub async fn a_link_works_once(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let with_links = ChannelSettings { has_links: true, ..settings() };
    let own = channel(&world, &ann, ntfy(), with_links).await;
    let links = async |prepared: &Prepared| {
        deliver(&world, prepared).await;
        let token = |url: &str| url.split_once("?token=").unwrap().1.to_owned();
        prepared.links.iter().map(|link| (link.action, token(&link.url))).collect::<Vec<_>>()
    };
    let asked = question(&world, &bot, chat).await;
    let prepared = take(&world, &own).await;
    assert!(prepared.links[0].url.starts_with("https://chat.example/notifications/answer?token=thnv_n_"));
    let given = links(&prepared).await;
    assert_eq!(given.iter().map(|(action, _)| *action).collect::<Vec<_>>(), [NotificationAction::Dismiss]);
    let token = &given[0].1;
    assert_eq!(world.notifications.show_link(token).await.unwrap().action, NotificationAction::Dismiss);
    assert!(item(&world, &ann, asked).await.is_unanswered(), "to look at it changes nothing");
    for forged in ["", "thnv_n_", "thnv_n_0", "thnv_u_1", &format!("{token}0"), &token[1..]] {
        let followed = world.notifications.follow_link(forged).await;
        assert!(matches!(followed, Err(LinkError::NotFound)), "{forged}");
    }
    let followed = world.notifications.follow_link(token).await.unwrap();
    assert_eq!((followed.user, followed.item), (ann.id, asked));
    let ended = item(&world, &ann, asked).await;
    assert_eq!(ended.ended.map(|(outcome, _)| outcome), Some(AttentionOutcome::Dismissed));
    assert!(matches!(world.notifications.follow_link(token).await, Err(LinkError::Used)));
    assert!(matches!(world.notifications.show_link(token).await, Err(LinkError::Used)));

    let approval = request(&world, &bot, chat, "a-1").await;
    let given = links(&take(&world, &own).await).await;
    let of = |wanted| given.iter().find(|(action, _)| *action == wanted).unwrap().1.clone();
    let [approve, decline] =
        [Decision::Approve, Decision::Decline].map(|decision| of(NotificationAction::Decide(decision)));
    world.notifications.follow_link(&approve).await.unwrap();
    assert!(item(&world, &ann, approval).await.answer.is_some());
    assert!(matches!(world.notifications.follow_link(&decline).await, Err(LinkError::Answer(_))));

    question(&world, &bot, chat).await;
    let expiring = links(&take(&world, &own).await).await;
    world.clock.advance(Duration::from_secs(24 * 60 * 60));
    assert!(matches!(world.notifications.follow_link(&expiring[0].1).await, Err(LinkError::Expired)));
    question(&world, &bot, chat).await;
    let suspended = links(&take(&world, &own).await).await;
    let set = async |disabled| {
        world.administration.set_disabled(ParticipantId::User(ann.id), disabled).await.unwrap();
    };
    set(true).await;
    assert!(matches!(world.notifications.follow_link(&suspended[0].1).await, Err(LinkError::Suspended)));
    set(false).await;
    world.notifications.remove(ann.caller, own.id).await.unwrap();
    assert!(matches!(world.notifications.follow_link(&suspended[0].1).await, Err(LinkError::NotFound)));
}

/// Nothing of a deleted user is left, nothing is sent to a disabled one, and old notifications are erased.
pub async fn notifications_end_with_their_user(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let own = by_email(&world, &ann).await;
    question(&world, &bot, chat).await;
    let who = ParticipantId::User(ann.id);
    world.administration.set_disabled(who, true).await.unwrap();
    assert!(try_take(&world, own.id).await.is_none());
    assert_eq!(states(&world, &ann).await, [""; 0]);
    world.administration.set_disabled(who, false).await.unwrap();
    world.clock.advance(Duration::from_secs(60 * 60));
    assert_eq!(told(&world, &own).await.len(), 1);
    let kept = world.clock.now().plus(Duration::from_secs(7 * 24 * 60 * 60));
    world.notifications.forget_old(kept).await.unwrap();
    assert_eq!(states(&world, &ann).await, ["delivered"]);
    world.notifications.forget_old(kept.plus(MINUTE)).await.unwrap();
    assert_eq!(states(&world, &ann).await, [""; 0]);
    let cai = world.colleague("cai", "ann").await;
    by_email(&world, &cai).await;
    world.administration.delete_user(&world.accounts, cai.id, true).await.unwrap();
    assert_eq!(world.notifications.channels(cai.caller).await.unwrap(), []);
}

/// Fills every column of the tables.
pub(crate) async fn fill(world: &World, ann: &TestUser, agent: &TestAgent) {
    let chat = world.chat(ann.caller, &[agent.id.into()]).await;
    let quiet = Some("00:00-00:01 Asia/Tokyo".parse().unwrap());
    let all = ChannelSettings { quiet, digest_minutes: 1, has_links: true, ..settings() };
    let alone = ChannelSettings { has_links: true, ..settings() };
    let token = Some(PushSecret::new("tk \"1\"".to_owned()).unwrap());
    let keys = WebPushKeys { p256dh: "B".repeat(87), auth: "c".repeat(22) };
    let sent =
        channel(world, ann, NewTarget::Ntfy { url: "https://ntfy.example/a".to_owned(), token }, alone).await;
    let leased = channel(world, ann, NewTarget::Email, alone).await;
    let off =
        channel(world, ann, NewTarget::Webhook { url: "https://hooks.example/\"in\"".to_owned() }, alone)
            .await;
    channel(world, ann, NewTarget::WebPush { url: "https://push.example/1".to_owned(), keys }, all).await;
    world.clock.advance(Duration::from_secs(1));
    question(world, agent, chat).await;
    let first = take(world, &sent).await;
    settle(world, &first, failed()).await.unwrap();
    take(world, &leased).await;
    let refusing = take(world, &off).await;
    settle(world, &refusing, refused()).await.unwrap();
}
