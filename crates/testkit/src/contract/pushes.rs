//! Configurations of push notifications.

use std::time::Duration;

use domain::audit::{AuditAction, RecordedActor};
use domain::change::{Change, ChangePosition};
use domain::chat::Role;
use domain::id::{ChatId, MessageId, ParticipantId, PushConfigId, Sequence};
use domain::ports::Clock;
use domain::push::{
    FAILING_FOR, KEPT_FOR, Known, LEASE, MAX_OF_TASK, MAX_OF_USER, NewPush, PushAuthentication, PushConfig,
    PushCredential, PushLease, PushName, PushRefused, PushRemoval, PushSecret, PushStep, PushTarget,
    PushTask, SetPushError, SettledPush,
};
use domain::webhook::{Reply, WebhookOwner};

use super::audit::log_of;
use super::messages::ann_and_bot;
use super::webhooks::{answer, send};
use crate::{TestAgent, TestUser, World};

/// A task of a user at an agent.
async fn task(world: &World, from: &TestUser, chat: ChatId, to: &TestAgent) -> PushTask {
    PushTask { chat, first: send(world, from, chat, to).await, agent: to.id }
}

fn wanted(world: &World, name: &str, url: &str) -> NewPush {
    let url = world.pushes.url(url).unwrap().unwrap();
    let target = PushTarget { url, token: None, authentication: None };
    NewPush { name: PushName::new(name).unwrap(), target }
}

async fn try_set(
    world: &World,
    caller: &TestUser,
    task: PushTask,
    name: &str,
) -> Result<PushConfig, SetPushError> {
    let new = wanted(world, name, "https://a.example/in?key=1");
    world.pushes.set(caller.caller.into(), PushCredential::default(), task, new).await
}

async fn set(world: &World, caller: &TestUser, task: PushTask, name: &str) -> PushConfig {
    try_set(world, caller, task, name).await.unwrap()
}

async fn due(world: &World) -> Vec<PushConfigId> {
    world.pushes.due().await.unwrap().into_iter().map(|due| due.id).collect()
}

async fn take(world: &World, config: &PushConfig) -> PushLease {
    let taken = world.pushes.take(config.id).await.unwrap().expect("it is due");
    assert_eq!(taken.leased_until, Some(world.clock.now().plus(LEASE)));
    PushLease { config: taken.id, attempt: taken.attempts }
}

async fn try_step(world: &World, lease: PushLease, step: PushStep) -> Option<SettledPush> {
    world.pushes.step(lease, step).await.unwrap()
}

async fn step(world: &World, lease: PushLease, step: PushStep) -> SettledPush {
    try_step(world, lease, step).await.expect("the lease holds")
}

fn sent(sequence: i64, state: &str, is_final: Option<bool>) -> PushStep {
    PushStep::Sent { known: Known { sequence: Sequence::new(sequence), state: state.to_owned() }, is_final }
}

async fn names(world: &World, caller: &TestUser, task: PushTask) -> Vec<String> {
    let all = world.pushes.list(caller.caller.into(), task).await.unwrap();
    all.into_iter().map(|config| config.name.as_str().to_owned()).collect()
}

/// The entries about configurations in the audit log, in some order: who, what, and the detail.
async fn log(world: &World) -> Vec<(bool, AuditAction, Option<String>)> {
    let entries = log_of(world, None, None).await.into_iter();
    let entries = entries.map(|entry| {
        let is_of_server = entry.actor == RecordedActor::Server;
        (is_of_server, entry.action, entry.detail)
    });
    let entries = entries.filter(|(_, action, _)| action.as_str().starts_with("push."));
    let mut entries = entries.collect::<Vec<_>>();
    entries.sort_by_key(|(_, action, detail)| (*action == AuditAction::PushRemoved, detail.clone()));
    entries
}

/// Each is stored as it was given, once for its name, and nobody else has it.
pub async fn callers_keep_configurations(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let ben = world.user("ben").await;
    let task = task(&world, &ann, chat, &bot).await;
    assert_eq!(names(&world, &ann, task).await, [""; 0]);
    let secret = |text: &str| PushSecret::new(text.to_owned()).unwrap();
    let mut new = wanted(&world, "one", "https://a.example/in?key=1");
    new.target.token = Some(secret("t 1"));
    let credentials = Some(secret("c"));
    new.target.authentication = Some(PushAuthentication::new("Bearer".to_owned(), credentials).unwrap());
    let of_ann = ann.caller.into();
    let made = world.pushes.set(of_ann, PushCredential::default(), task, new.clone()).await.unwrap();
    assert_eq!((&made.target, made.caller, made.user), (&new.target, ParticipantId::User(ann.id), ann.id));
    assert_eq!(world.pushes.list(of_ann, task).await.unwrap(), std::slice::from_ref(&made));
    world.clock.advance(Duration::from_secs(1));
    let again = world.pushes.set(of_ann, PushCredential::default(), task, new.clone()).await.unwrap();
    assert_eq!(again, made);
    let second = set(&world, &ann, task, "two").await;
    assert_eq!(world.pushes.list(of_ann, task).await.unwrap(), [made.clone(), second.clone()]);
    new.target.url = world.pushes.url("https://b.example/").unwrap().unwrap();
    let moved = world.pushes.set(of_ann, PushCredential::default(), task, new).await.unwrap();
    assert_eq!((moved.id, moved.target.url.as_str()), (made.id, "https://b.example/"));
    assert_eq!(world.pushes.list(of_ann, task).await.unwrap(), [moved, second]);

    assert_eq!(names(&world, &ben, task).await, [""; 0]);
    let one = || PushName::new("one").unwrap();
    assert!(!world.pushes.remove(ben.caller.into(), task, one()).await.unwrap());
    let elsewhere = PushTask { first: MessageId::NIL, ..task };
    assert!(!world.pushes.remove(of_ann, elsewhere, one()).await.unwrap());
    assert!(world.pushes.remove(of_ann, task, one()).await.unwrap());
    assert!(!world.pushes.remove(of_ann, task, one()).await.unwrap());
    assert_eq!(names(&world, &ann, task).await, ["two"]);
    let set = |host: &str| (false, AuditAction::PushSet, Some(host.to_owned()));
    let expected = [
        set("https://a.example"),
        set("https://a.example"),
        set("https://b.example"),
        (false, AuditAction::PushRemoved, None),
    ];
    assert_eq!(log(&world).await, expected);
    let changes = world.stores.changes.changes_after(ChangePosition::START, 1_000).await.unwrap();
    let told = changes.iter().filter(|entry| entry.change == Some(Change::PushConfigured(chat)));
    assert_eq!(told.count(), 3);
    assert_eq!(world.stores.all.push_chats().await.unwrap(), [chat]);
}

/// The configurations of a task are limited, and so are those of a user for tasks that have not ended.
pub async fn configurations_are_limited(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let first = task(&world, &ann, chat, &bot).await;
    for number in 0..MAX_OF_TASK {
        set(&world, &ann, first, &number.to_string()).await;
    }
    let refused = try_set(&world, &ann, first, "more").await;
    assert!(matches!(refused, Err(SetPushError::Refused(PushRefused::TooManyOfTask))), "{refused:?}");
    set(&world, &ann, first, "0").await;
    let mut count = u64::try_from(MAX_OF_TASK).unwrap();
    let mut last = None;
    while count < MAX_OF_USER {
        assert!(world.pushes.has_room(ann.caller.into()).await.unwrap());
        let other = PushTask { first: MessageId::new(world.ports.ids.generate(world.clock.now())), ..first };
        last = Some(set(&world, &ann, other, "one").await);
        count += 1;
    }
    assert!(!world.pushes.has_room(ann.caller.into()).await.unwrap());
    let another = task(&world, &ann, chat, &bot).await;
    let refused = try_set(&world, &ann, another, "one").await;
    assert!(matches!(refused, Err(SetPushError::Refused(PushRefused::TooManyOfUser))), "{refused:?}");
    let lease = take(&world, &last.unwrap()).await;
    step(&world, lease, sent(2, "completed", Some(true))).await;
    set(&world, &ann, another, "one").await;
}

/// A configuration is due when it is made, after an event, and after a while; one sender has it at a time.
pub async fn one_sender_has_a_lease(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let task = task(&world, &ann, chat, &bot).await;
    assert_eq!(due(&world).await, []);
    let config = set(&world, &ann, task, "one").await;
    let owner = WebhookOwner { user: ann.id, organization: ann.caller.organization };
    assert_eq!(
        world.pushes.due().await.unwrap().first().map(|due| (due.id, due.owner)),
        Some((config.id, owner))
    );
    let take_it = || world.pushes.take(config.id);
    let (one, two, three) = tokio::join!(take_it(), take_it(), take_it());
    let taken = [one, two, three].into_iter().filter_map(Result::unwrap).collect::<Vec<_>>();
    assert_eq!(taken.len(), 1);
    let lease = PushLease { config: config.id, attempt: taken[0].attempts };
    assert_eq!(due(&world).await, []);
    let told = step(&world, lease, sent(1, "submitted", None)).await.config;
    assert_eq!(told.known, Some(Known { sequence: Sequence::new(1), state: "submitted".to_owned() }));
    // What happens meanwhile is not lost, whichever server notes it.
    world.clock.advance(Duration::from_secs(1));
    world.pushes.wake([chat]).await.unwrap();
    assert_eq!(due(&world).await, []);
    step(&world, lease, PushStep::Done).await;
    assert_eq!(try_step(&world, lease, PushStep::Done).await, None, "the lease has ended");
    assert_eq!(due(&world).await, [config.id]);
    let lease = take(&world, &config).await;
    step(&world, lease, PushStep::Done).await;
    assert_eq!(due(&world).await, []);
    world.pushes.wake([ChatId::NIL]).await.unwrap();
    assert_eq!(due(&world).await, []);
    world.clock.advance(Duration::from_secs(10));
    assert_eq!(due(&world).await, [config.id], "read from time to time");

    let dead = take(&world, &config).await;
    world.clock.advance(LEASE);
    assert_eq!(due(&world).await, [config.id]);
    let lease = take(&world, &config).await;
    assert_eq!(try_step(&world, dead, sent(9, "completed", Some(true))).await, None);
    step(&world, lease, sent(2, "completed", Some(true))).await;
    step(&world, lease, PushStep::Done).await;
    world.pushes.wake([chat]).await.unwrap();
    assert_eq!(due(&world).await, [], "the task does not go on");
    world.clock.advance(KEPT_FOR);
    let lease = take(&world, &config).await;
    assert_eq!(step(&world, lease, PushStep::Done).await.removed, Some(PushRemoval::Ended));
    assert_eq!(names(&world, &ann, task).await, [""; 0]);
    assert_eq!(log(&world).await.len(), 1, "an end is no change by anybody");
}

/// Failures are repeated for a day, and events do not hurry them; another receiver is tried at once.
pub async fn failing_receivers_are_given_up(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let task = task(&world, &ann, chat, &bot).await;
    let config = set(&world, &ann, task, "one").await;
    let lease = take(&world, &config).await;
    let silence = Reply::Unanswered { error: "connection refused".to_owned() };
    let failed = step(&world, lease, PushStep::Failed(silence)).await.config;
    assert_eq!((failed.failures, failed.error.as_deref()), (1, Some("connection refused")));
    world.pushes.wake([chat]).await.unwrap();
    assert_eq!(due(&world).await, []);
    world.clock.set(failed.next_at);
    let lease = take(&world, &config).await;
    let new = wanted(&world, "one", "https://b.example/");
    let moved = world.pushes.set(ann.caller.into(), PushCredential::default(), task, new).await.unwrap();
    assert_eq!((moved.failing_since, moved.known), (None, None));
    assert_eq!(
        try_step(&world, lease, sent(1, "working", None)).await,
        None,
        "it was for the receiver before"
    );
    let lease = take(&world, &config).await;
    step(&world, lease, PushStep::Failed(answer(503))).await;
    world.clock.advance(FAILING_FOR);
    let lease = take(&world, &config).await;
    assert_eq!(step(&world, lease, PushStep::Failed(answer(503))).await.removed, Some(PushRemoval::Failing));
    let config = set(&world, &ann, task, "two").await;
    let lease = take(&world, &config).await;
    assert_eq!(step(&world, lease, PushStep::Failed(answer(410))).await.removed, Some(PushRemoval::Gone));
    assert_eq!(names(&world, &ann, task).await, [""; 0]);
    let removed = |reason: &str| (true, AuditAction::PushRemoved, Some(reason.to_owned()));
    let log = log(&world).await;
    assert_eq!(log[log.len() - 2..], [removed("failing"), removed("gone")]);
}

/// They end with the agent, with the caller, and with the key that made them.
pub async fn configurations_end_with_what_they_belong_to(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let other = world.agent(&ann, "Other").await;
    world.add(ann.caller, chat, other.id.into(), Role::Member).await;
    let key = world.accounts.authenticate(&ann.key).await.unwrap().presented.key().unwrap().id;
    let credential = PushCredential { key: Some(key), session: None };
    let [first, second] = [task(&world, &ann, chat, &bot).await, task(&world, &ann, chat, &other).await];
    let new = || wanted(&world, "one", "https://a.example/");
    let made = world.pushes.set(ann.caller.into(), credential, first, new()).await.unwrap();
    set(&world, &ann, second, "one").await;
    world.accounts.delete_agent(ann.caller, other.id, true).await.unwrap();
    assert_eq!(names(&world, &ann, second).await, [""; 0]);
    let again =
        world.pushes.set(ann.caller.into(), credential, first, wanted(&world, "two", "https://a.example/"));
    let again = again.await.unwrap();
    let [lease, running] = [take(&world, &made).await, take(&world, &again).await];
    step(&world, lease, PushStep::More).await;
    assert_eq!(step(&world, running, sent(1, "submitted", None)).await.removed, None);
    world.accounts.revoke_key(ann.caller, key).await.unwrap();
    assert_eq!(world.pushes.take(made.id).await.unwrap(), None);
    let ended = step(&world, running, sent(2, "working", None)).await;
    assert_eq!(ended.removed, Some(PushRemoval::Revoked), "also while a sender is at work");
    assert_eq!(names(&world, &ann, first).await, [""; 0]);
    let revoked = (true, AuditAction::PushRemoved, Some("revoked".to_owned()));
    assert_eq!(log(&world).await.last(), Some(&revoked));
    set(&world, &ann, first, "one").await;
    world.administration.delete_user(&world.accounts, ann.id, true).await.unwrap();
    assert_eq!(world.stores.all.push_chats().await.unwrap(), []);
}

/// Users with many due configurations leave places to others.
pub async fn users_take_turns(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let ben = world.user("ben").await;
    for number in 0..70 {
        let other = PushTask {
            first: MessageId::new(world.ports.ids.generate(world.clock.now())),
            chat,
            agent: bot.id,
        };
        set(&world, &ann, other, &number.to_string()).await;
    }
    world.clock.advance(Duration::from_secs(1));
    let task = PushTask { chat, first: MessageId::NIL, agent: bot.id };
    let last = set(&world, &ben, task, "one").await;
    let found = due(&world).await;
    assert_eq!((found.len(), found[1]), (65, last.id));
}
