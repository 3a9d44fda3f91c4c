//! API keys: who has which, until when they are good, and when they were used.

use std::time::Duration;

use domain::account::{
    ActAsError, AgentDescription, AgentName, AuthenticateError, CreateKey, CreateKeyError,
    CreatePlatformAgent, CreateUser, InitialOrganization, KeyName, KeyScope, KeyUse, MAX_KEYS, PersonName,
    RegisterAgent, RevokeKeyError, RotateKeyError, USE_RESOLUTION, UserHandle, WhichKeys,
};
use domain::audit::AuditObject;
use domain::id::{ApiKeyId, ParticipantId, UserId};
use domain::page::{PageRequest, Slice};
use domain::plan::PlanName;
use domain::ports::Clock;
use domain::services::{Ports, Services};
use domain::time::Timestamp;
use uuid::Uuid;

use crate::{TestUser, World};

const ALL: PageRequest = PageRequest { slice: Slice::Numbered { number: 1, size: 100 }, count: true };

fn named(name: &str) -> CreateKey {
    CreateKey { name: Some(KeyName::new(name).unwrap()), ..CreateKey::default() }
}

/// One more key; its id and its text.
async fn key_of(world: &World, user: &TestUser, name: &str) -> (ApiKeyId, String) {
    let created = world.accounts.create_key(user.id, named(name)).await.unwrap();
    (created.record.id, created.key.reveal().to_owned())
}

async fn is_good(world: &World, key: &str) -> bool {
    match world.accounts.authenticate(key).await {
        Ok(_) => true,
        Err(AuthenticateError::Unauthorized) => false,
        Err(other) => panic!("{other}"),
    }
}

/// The names of a holder's keys, newest first; a key without a name is empty.
async fn names(world: &World, holder: ParticipantId) -> Vec<String> {
    let page = world.accounts.list_keys(holder, ALL).await.unwrap();
    assert_eq!(page.total, u64::try_from(page.rows.len()).ok());
    page.rows.into_iter().map(|key| key.name.unwrap_or_default()).collect()
}

/// The limits of a key are stored, listed, known when it is presented, and in the audit log.
pub async fn keys_keep_their_limits(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let (bot, theirs) = (world.agent(&ann, "Bot").await, world.agent(&ben, "Bot").await);
    let chat = world.chat(ann.caller, &[]).await;
    let until = world.clock.now().plus(Duration::from_secs(60));
    for scope in [
        KeyScope { is_read_only: true, ..KeyScope::default() },
        KeyScope { chat: Some(chat), ..KeyScope::default() },
        KeyScope { is_read_only: true, chat: Some(chat), agent: Some(bot.id) },
    ] {
        let command = CreateKey { scope, expires_at: Some(until), ..named("limited") };
        let created = world.accounts.create_key(ann.id, command).await.unwrap();
        assert_eq!(created.record.scope, scope);
        let listed = world.accounts.list_keys(ParticipantId::User(ann.id), ALL).await.unwrap().rows;
        assert_eq!(listed.iter().find(|key| key.id == created.record.id), Some(&created.record));
        let presented = world.accounts.authenticate(created.key.reveal()).await.unwrap().presented;
        assert_eq!(presented.scope(), scope);
        let log = super::audit::log_of(&world, None, None).await;
        let made =
            log.iter().find(|entry| entry.subject.object == AuditObject::Key(created.record.id)).unwrap();
        assert_eq!(made.detail, Some(format!("{scope} expires_at={until}")));
    }
    let full = world.accounts.authenticate(&ann.key).await.unwrap();
    assert_eq!(full.presented.scope(), KeyScope::default());

    let scope = KeyScope { agent: Some(theirs.id), ..KeyScope::default() };
    let refused = world.accounts.create_key(ann.id, CreateKey { scope, ..named("x") }).await;
    assert!(matches!(refused, Err(CreateKeyError::AgentNotFound)), "{refused:?}");
    let scope = KeyScope { chat: Some(world.chat(ben.caller, &[]).await), ..KeyScope::default() };
    let refused = world.accounts.create_key(ann.id, CreateKey { scope, ..named("x") }).await;
    assert!(matches!(refused, Err(CreateKeyError::ChatNotFound)), "{refused:?}");
    let one = KeyScope { agent: Some(bot.id), ..KeyScope::default() };
    let act_as = async |scope, agent| world.accounts.act_as(ann.caller.into(), scope, agent).await;
    assert_eq!(act_as(one, bot.id).await.unwrap().agent, bot.id);
    for (scope, agent) in [
        (KeyScope { is_read_only: true, ..one }, bot.id),
        (KeyScope { chat: Some(chat), ..KeyScope::default() }, bot.id),
        (one, world.agent(&ann, "Other").await.id),
    ] {
        let refused = act_as(scope, agent).await;
        assert!(matches!(refused, Err(ActAsError::OutOfScope(_))), "{refused:?}");
    }
}

/// One's own, newest first, each once; what is read is what was made.
pub async fn keys_are_listed_newest_first(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let bot = world.agent(&ann, "Bot").await;
    for number in 0..5_u64 {
        world.clock.advance(Duration::from_secs(number / 2));
        key_of(&world, &ann, &format!("key {number}")).await;
        key_of(&world, &ben, "another's").await;
    }
    let expected = ["key 4", "key 3", "key 2", "key 1", "key 0", ""];
    assert_eq!(names(&world, ParticipantId::User(ann.id)).await, expected);
    assert_eq!(names(&world, ParticipantId::Agent(bot.id)).await, [""]);
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = PageRequest { slice: Slice::After { after, limit: 2 }, count: false };
        let page = world.accounts.list_keys(ParticipantId::User(ann.id), page).await.unwrap();
        seen.extend(page.rows.into_iter().map(|key| key.name.unwrap_or_default()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, expected);

    let until = world.clock.now().plus(Duration::from_secs(60));
    let command = CreateKey { expires_at: Some(until), ..named("short") };
    let created = world.accounts.create_key(ben.id, command).await.unwrap();
    let record = &created.record;
    assert_eq!(record.holder, ParticipantId::User(ben.id));
    assert_eq!(
        (record.name.as_deref(), record.prefix.as_deref()),
        (Some("short"), Some(created.key.reveal()))
    );
    assert_eq!((record.created_at, record.expires_at), (world.clock.now(), Some(until)));
    assert_eq!((record.last_used_at, record.revoked_at), (None, None));
    let listed = world.accounts.list_keys(ParticipantId::User(ben.id), ALL).await.unwrap().rows;
    assert_eq!(listed.iter().find(|key| key.id == record.id), Some(record));
}

/// Good up to its last moment, and listed afterwards; one that would never be good is not made.
pub async fn a_key_expires(world: World) {
    let ann = world.user("ann").await;
    let now = world.clock.now();
    let outcome = world.accounts.create_key(ann.id, CreateKey { expires_at: Some(now), ..named("x") }).await;
    assert!(matches!(outcome, Err(CreateKeyError::ExpiryPast)), "{outcome:?}");
    let until = now.plus(Duration::from_secs(10));
    let command = CreateKey { expires_at: Some(until), ..named("short") };
    let key = world.accounts.create_key(ann.id, command).await.unwrap().key.reveal().to_owned();
    let shown = world.accounts.authenticate(&key).await.unwrap().presented.key().unwrap();
    assert_eq!(shown.expires_at, Some(until));
    world.clock.set(Timestamp::from_micros(until.micros() - 1));
    assert!(is_good(&world, &key).await);
    world.clock.set(until);
    assert!(!is_good(&world, &key).await);
    assert!(is_good(&world, &ann.key).await, "the other is good for ever");
    assert_eq!(names(&world, ParticipantId::User(ann.id)).await, ["short", ""]);
}

/// With a default lifetime, every new key expires after it, unless the request names an expiry. The key of the
/// first start never expires.
pub async fn new_keys_expire_by_default(world: World) {
    let service = Services::new(Ports { key_days: 30, ..world.ports.clone() }).accounts;
    let until = Some(world.clock.now().plus(Duration::from_secs(30 * 24 * 60 * 60)));
    let user = |name: &str| CreateUser {
        handle: UserHandle::new(name).unwrap(),
        email: format!("{name}@example.org"),
        name: PersonName::split(name),
        initial_organization: InitialOrganization::Own,
        plan: PlanName::enterprise(),
    };
    let first = service.mint_user_key();
    service.create_first_user(user("first"), &first).await.unwrap().unwrap();
    let second = service.create_user(user("second")).await.unwrap();
    for (key, expected) in [(&first, None), (&second.key, until)] {
        let shown = service.authenticate(key.reveal()).await.unwrap().presented.key().unwrap();
        assert_eq!(shown.expires_at, expected);
    }

    let owner = second.user.id;
    assert_eq!(service.create_key(owner, named("default")).await.unwrap().record.expires_at, until);
    let soon = Some(world.clock.now().plus(Duration::from_secs(60)));
    let command = CreateKey { expires_at: soon, ..named("own") };
    assert_eq!(service.create_key(owner, command).await.unwrap().record.expires_at, soon);

    let command = RegisterAgent {
        name: AgentName::new("Bot").unwrap(),
        description: AgentDescription::new("Answers").unwrap(),
    };
    let agent = service.register_agent_by(owner.into(), owner, command, None).await.unwrap();
    let bot = ParticipantId::Agent(agent.agent.id);
    assert_eq!(agent.expires_at, until);
    assert_eq!(service.list_keys(bot, ALL).await.unwrap().rows[0].expires_at, until);
    world.clock.advance(Duration::from_secs(60));
    let rotated = service.rotate_key(owner, agent.agent.id).await.unwrap();
    let later = until.map(|until| until.plus(Duration::from_secs(60)));
    assert_eq!(rotated.expires_at, later);
    assert_eq!(service.list_keys(bot, ALL).await.unwrap().rows[0].expires_at, later);
    world.clock.set(later.unwrap());
    assert!(!is_good(&world, rotated.key.reveal()).await && !is_good(&world, second.key.reveal()).await);
    assert!(is_good(&world, first.reveal()).await);
}

/// By its holder or by the operator; once, and nothing else with it.
pub async fn a_revoked_key_is_rejected(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let bot = world.agent(&ann, "Bot").await;
    let bots = world.accounts.list_keys(ParticipantId::Agent(bot.id), ALL).await.unwrap().rows[0].id;
    let (first, key) = key_of(&world, &ann, "first").await;
    for (caller, id) in
        [(ben.caller, first), (ann.caller, bots), (ann.caller, ApiKeyId::new(Uuid::from_u128(7)))]
    {
        let outcome = world.accounts.revoke_key(caller, id).await;
        assert!(matches!(outcome, Err(RevokeKeyError::KeyNotFound)), "{outcome:?}");
    }
    assert!(is_good(&world, &key).await && is_good(&world, &bot.key).await);
    let now = world.clock.now();
    let revoked = world.accounts.revoke_key(ann.caller, first).await.unwrap();
    assert_eq!((revoked.id, revoked.revoked_at), (first, Some(now)));
    assert!(!is_good(&world, &key).await && is_good(&world, &ann.key).await);
    let again = world.accounts.revoke_key(ann.caller, first).await;
    assert!(matches!(again, Err(RevokeKeyError::KeyNotFound)), "{again:?}");

    let (second, by_id) = key_of(&world, &ann, "second").await;
    let (_, by_prefix) = key_of(&world, &ann, "third").await;
    let whole = world.accounts.keys_like(&by_prefix);
    for (which, names) in [
        (WhichKeys::Id(second), vec!["second"]),
        (WhichKeys::Id(second), vec![]),
        (whole.clone(), vec!["third"]),
        (whole, vec![]),
        (world.accounts.keys_like("nothing"), vec![]),
    ] {
        let revoked = world.accounts.revoke_keys(which).await.unwrap();
        let found = revoked.into_iter().map(|key| key.name.unwrap()).collect::<Vec<_>>();
        assert_eq!(found, names);
    }
    assert!(!is_good(&world, &by_id).await && !is_good(&world, &by_prefix).await);

    world.clock.advance(Duration::from_secs(1));
    let (_, last) = key_of(&world, &ann, "last").await;
    let all = world.accounts.revoke_keys(WhichKeys::AllOf(ParticipantId::User(ann.id))).await.unwrap();
    let all = all.into_iter().map(|key| key.name).collect::<Vec<_>>();
    assert_eq!(all, [None, Some("last".to_owned())], "oldest first");
    assert!(!is_good(&world, &ann.key).await && !is_good(&world, &last).await);
    assert!(is_good(&world, &bot.key).await && is_good(&world, &ben.key).await);
    assert_eq!(names(&world, ParticipantId::User(ann.id)).await, [""; 0]);
    // The operator helps who has none left.
    assert!(is_good(&world, &key_of(&world, &ann, "new").await.1).await);
}

/// Also when many are made at once; what is revoked makes room.
pub async fn the_number_of_keys_is_limited(world: World) {
    let ann = world.user("ann").await;
    let mut last = None;
    for number in 1..MAX_KEYS - 2 {
        last = Some(key_of(&world, &ann, &format!("key {number}")).await.0);
    }
    let making = (0..8).map(|number| {
        let (accounts, user) = (world.accounts.clone(), ann.id);
        tokio::spawn(async move { accounts.create_key(user, named(&format!("more {number}"))).await })
    });
    let mut made = 0;
    for outcome in making.collect::<Vec<_>>() {
        match outcome.await.unwrap() {
            Ok(_) => made += 1,
            Err(CreateKeyError::TooMany) => {}
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(made, 2);
    world.accounts.revoke_key(ann.caller, last.unwrap()).await.unwrap();
    key_of(&world, &ann, "there is room").await;
    let outcome = world.accounts.create_key(ann.id, named("one too many")).await;
    assert!(matches!(outcome, Err(CreateKeyError::TooMany)), "{outcome:?}");
    let nobody = world.accounts.create_key(UserId::new(Uuid::from_u128(7)), named("x")).await;
    assert!(matches!(nobody, Err(CreateKeyError::UserGone)), "{nobody:?}");
}

/// The new key is good when the old ones are not any more; of two rotations at once one is the last.
pub async fn an_agent_has_one_key(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let bot = world.agent(&ann, "Bot").await;
    let other = world.agent(&ann, "Other").await;
    let rotated = world.accounts.rotate_key(ann.id, bot.id).await.unwrap();
    assert_eq!(rotated.agent.id, bot.id);
    let key = rotated.key.reveal().to_owned();
    assert!(!is_good(&world, &bot.key).await && is_good(&world, &other.key).await);
    assert_eq!(world.accounts.authenticate(&key).await.unwrap().caller, bot.caller.into());

    let rotating = (0..6).map(|_| {
        let (accounts, owner, agent) = (world.accounts.clone(), ann.id, bot.id);
        tokio::spawn(async move { accounts.rotate_key(owner, agent).await.unwrap().key })
    });
    let mut good = 0;
    for key in rotating.collect::<Vec<_>>() {
        good += usize::from(is_good(&world, key.await.unwrap().reveal()).await);
    }
    // What was looked at before the last rotation may have been good then.
    assert!(good >= 1);
    assert_eq!(names(&world, ParticipantId::Agent(bot.id)).await, [""]);
    assert!(!is_good(&world, &key).await);

    let platform = CreatePlatformAgent {
        name: domain::account::AgentName::new("Platform").unwrap(),
        description: None,
        model_type: None,
    };
    let platform = world.accounts.create_platform_agent(ann.caller, platform).await.unwrap().id;
    let outcome = world.accounts.rotate_key(ann.id, platform).await;
    assert!(matches!(outcome, Err(RotateKeyError::HasNoKey)), "{outcome:?}");
    world.accounts.delete_agent(ann.caller, other.id, true).await.unwrap();
    for (owner, agent) in [(ben.id, bot.id), (ann.id, other.id)] {
        let outcome = world.accounts.rotate_key(owner, agent).await;
        assert!(matches!(outcome, Err(RotateKeyError::AgentNotFound)), "{outcome:?}");
    }
    assert_eq!(names(&world, ParticipantId::Agent(other.id)).await, [""; 0]);
}

/// Forwards only, in batches, and not more than once a minute.
pub async fn the_time_of_last_use_is_stored(world: World) {
    let ann = world.user("ann").await;
    let last_use = async || {
        let page = world.accounts.list_keys(ParticipantId::User(ann.id), ALL).await.unwrap();
        page.rows[0].last_used_at
    };
    assert_eq!(last_use().await, None);
    let first = world.clock.now();
    let key = world.accounts.authenticate(&ann.key).await.unwrap().presented.key().unwrap().id;
    assert_eq!(last_use().await, None, "not on the way of a request");
    world.accounts.write_uses().await.unwrap();
    assert_eq!(last_use().await, Some(first));

    world.clock.advance(Duration::from_micros(59_999_999));
    assert!(is_good(&world, &ann.key).await);
    world.accounts.write_uses().await.unwrap();
    assert_eq!(last_use().await, Some(first));
    world.clock.advance(Duration::from_micros(1));
    assert!(is_good(&world, &ann.key).await);
    world.accounts.write_uses().await.unwrap();
    assert_eq!(last_use().await, Some(first.plus(USE_RESOLUTION)));

    let unknown = KeyUse { key: ApiKeyId::new(Uuid::from_u128(7)), at: first };
    world.stores.keys.note_uses(vec![KeyUse { key, at: first }, unknown]).await.unwrap();
    assert_eq!(last_use().await, Some(first.plus(USE_RESOLUTION)), "never backwards");
}
