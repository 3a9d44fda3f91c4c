//! What the operator sees and does of accounts: lists of all of them, and keeping somebody out.

use std::time::Duration;

use domain::account::{
    AgentChanges, AuthenticateError, IssueToken, IssueTokenError, KeyScope, SetDisabledOutcome, UserHandle,
};
use domain::caller::Caller;
use domain::change::Change;
use domain::chat::{AddParticipantCommand, AddParticipantError, AddRefused, ChatFilter, ChatOverview, Role};
use domain::id::{AgentId, ParticipantId, UserId};
use domain::page::{PageRequest, Slice};
use domain::peer::ListPeers;
use domain::ports::Clock;
use uuid::Uuid;

use crate::{TestAgent, TestUser, World};

const ALL: PageRequest = PageRequest { slice: Slice::Numbered { number: 1, size: 100 }, count: true };

/// By handle, each once, in parts; deleted agents are not there.
pub async fn all_accounts_are_listed_by_handle(world: World) {
    let mut users = Vec::new();
    for handle in ["cai", "ann", "ben-2", "ben", "dan"] {
        users.push(world.user(handle).await);
    }
    for (owner, name) in [(1, "Two"), (1, "One"), (0, "Bot"), (3, "Bot"), (2, "Bot"), (1, "Gone")] {
        world.agent(&users[owner], name).await;
    }
    let gone = world.accounts.find_agent("ann/gone").await.unwrap().unwrap();
    world.accounts.delete_agent(users[1].caller, gone.id, false).await.unwrap();
    let (mut handles, mut after) = (Vec::new(), None);
    loop {
        let part = world.administration.users_after(after, 2).await.unwrap();
        let Some(last) = part.last() else { break };
        after = Some(last.handle.clone());
        assert!(part.len() <= 2);
        handles.extend(part.into_iter().map(|user| user.handle.as_str().to_owned()));
    }
    assert_eq!(handles, ["ann", "ben", "ben-2", "cai", "dan"]);
    let all = ["ann/one", "ann/two", "ben-2/bot", "ben/bot", "cai/bot"];
    for (owner, expected) in [(None, &all[..]), (Some(users[1].id), &all[..2]), (Some(users[4].id), &[])] {
        let (mut handles, mut after) = (Vec::new(), None);
        loop {
            let part = world.administration.agents_after(owner, after, 2).await.unwrap();
            let Some(last) = part.last() else { break };
            after = Some(last.handle.clone());
            handles.extend(part.into_iter().map(|agent| agent.handle.as_str().to_owned()));
        }
        assert_eq!(handles, expected);
    }
}

/// With their figures, each once, in parts; deleted chats are not there, and nobody is counted after leaving.
pub async fn all_chats_are_listed_newest_first(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let bot = world.agent(&ben, "Bot").await;
    world.make_global(&bot).await;
    let first = world.chat(ann.caller, &[bot.id.uuid()]).await;
    let second = world.chat(bot.caller, &[]).await;
    let third = world.chat(ann.caller, &[]).await;
    let gone = world.chat(ann.caller, &[]).await;
    world.chats.delete(ann.caller, gone).await.unwrap();
    world.send(ann.caller, first, "one", &[at(&bot)]).await;
    let unwanted = world.send(ann.caller, first, "two and three", &[at(&bot)]).await;
    world.messages.delete(ann.caller, first, unwanted.id).await.unwrap();
    let chats = &world.stores.chats;
    let listed = async |filter, size| {
        let (mut all, mut before) = (Vec::new(), None);
        loop {
            let part = chats.overview(filter, before, size).await.unwrap();
            let Some(last) = part.last() else { return all };
            before = Some(last.chat.id);
            assert!(part.len() <= size as usize);
            all.extend(part);
        }
    };
    let ids = |all: &[ChatOverview]| all.iter().map(|overview| overview.chat.id).collect::<Vec<_>>();
    for size in [1, 2, 10] {
        assert_eq!(ids(&listed(ChatFilter::All, size).await), [third, second, first]);
    }
    let with_bot = listed(ChatFilter::Participant(at(&bot)), 1).await;
    assert_eq!(ids(&with_bot), [second, first]);
    let one = listed(ChatFilter::One(first), 1).await.pop().unwrap();
    assert_eq!((one.participants, one.messages), (2, 1));
    assert_eq!(one.bytes, with_bot[1].bytes);
    assert!(one.bytes > 0);
    assert_eq!(Some(one.chat), world.chats.find(ann.caller, first).await.ok());
    assert!(listed(ChatFilter::One(gone), 1).await.is_empty());
    let of_ann = world.plans.organizations().await.unwrap();
    let of_ann = of_ann.iter().find(|organization| Some(&organization.name) == one.organization.as_ref());
    let of_ann = listed(ChatFilter::Organization(of_ann.unwrap().id), 1).await;
    assert_eq!(ids(&of_ann), [third, first]);
    world.chats.remove_participant(bot.caller, first, bot.id.uuid()).await.unwrap();
    assert_eq!(listed(ChatFilter::One(first), 1).await[0].participants, 1);
    assert_eq!(ids(&listed(ChatFilter::Participant(at(&bot)), 1).await), [second]);
}

/// Whether whoever presents the key is let in, kept out, or not known.
async fn stands(world: &World, key: &str) -> Option<ParticipantId> {
    match world.accounts.authenticate(key).await {
        Ok(_) => None,
        Err(AuthenticateError::Disabled(who)) => Some(who),
        Err(other) => panic!("{other}"),
    }
}

async fn set(world: &World, who: ParticipantId, disabled: bool) -> SetDisabledOutcome {
    world.administration.set_disabled(who, disabled).await.unwrap()
}

fn of(user: &TestUser) -> ParticipantId {
    ParticipantId::User(user.id)
}

fn at(agent: &TestAgent) -> ParticipantId {
    ParticipantId::Agent(agent.id)
}

/// By key, by token, as one's own agent; of a user the agents too; and what ends is logged, once.
pub async fn who_is_disabled_is_let_in_nowhere(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let (one, two) = (world.agent(&ann, "One").await, world.agent(&ann, "Two").await);
    let token = world.token(&ann).await;
    let log = &*world.stores.changes;
    let start = log.newest_change().await.unwrap();

    assert_eq!(set(&world, at(&one), true).await, SetDisabledOutcome::Done);
    assert_eq!(set(&world, at(&one), true).await, SetDisabledOutcome::AlreadySo);
    assert_eq!(stands(&world, &one.key).await, Some(at(&one)));
    assert_eq!((stands(&world, &two.key).await, stands(&world, &ann.key).await), (None, None));
    let as_agent = async |agent: AgentId| {
        world.accounts.act_as(Caller::from(ann.caller), KeyScope::default(), agent).await
    };
    assert!(matches!(as_agent(one.id).await, Err(AuthenticateError::Disabled(who)) if who == at(&one)));
    as_agent(two.id).await.unwrap();

    assert_eq!(set(&world, of(&ann), true).await, SetDisabledOutcome::Done);
    assert_eq!(set(&world, at(&one), false).await, SetDisabledOutcome::Done);
    for (key, who) in [(&ann.key, of(&ann)), (&one.key, at(&one)), (&two.key, at(&two))] {
        assert_eq!(stands(&world, key).await, Some(who));
    }
    let by_token = world.tokens.authenticate(&token).await;
    assert!(matches!(by_token, Err(AuthenticateError::Disabled(who)) if who == of(&ann)), "{by_token:?}");
    let lifetime = Duration::from_secs(60);
    let issued = world.tokens.issue(IssueToken { user: UserHandle::new("ann").unwrap(), lifetime }).await;
    assert!(matches!(issued.err(), Some(IssueTokenError::Disabled)));
    assert_eq!(stands(&world, &ben.key).await, None);

    assert_eq!(set(&world, of(&ann), false).await, SetDisabledOutcome::Done);
    assert_eq!(set(&world, of(&ann), false).await, SetDisabledOutcome::AlreadySo);
    for key in [&ann.key, &one.key, &two.key] {
        assert_eq!(stands(&world, key).await, None);
    }
    world.tokens.authenticate(&token).await.unwrap();
    let expected = [
        Change::Disabled(at(&one)),
        Change::Disabled(of(&ann)),
        Change::Enabled(at(&one)),
        Change::Enabled(of(&ann)),
    ];
    let logged = log.changes_after(start, 10).await.unwrap();
    assert_eq!(logged.into_iter().filter_map(|entry| entry.change).collect::<Vec<_>>(), expected);
}

/// What is there says since when; nobody is made by it, and a deleted agent stays so.
pub async fn since_when_somebody_is_disabled_is_known(world: World) {
    let ann = world.user("ann").await;
    let (bot, gone) = (world.agent(&ann, "Bot").await, world.agent(&ann, "Gone").await);
    world.accounts.delete_agent(ann.caller, gone.id, false).await.unwrap();
    let nobody = Uuid::from_u128(7);
    for who in
        [at(&gone), ParticipantId::User(UserId::new(nobody)), ParticipantId::Agent(AgentId::new(nobody))]
    {
        assert_eq!(set(&world, who, true).await, SetDisabledOutcome::NotFound);
    }
    let since = world.clock.now();
    set(&world, at(&bot), true).await;
    set(&world, of(&ann), true).await;
    world.clock.advance(Duration::from_secs(5));
    set(&world, at(&bot), true).await;
    let agent = world.accounts.find_agent("ann/bot").await.unwrap().unwrap();
    let user = world.stores.accounts.find_user(ann.id).await.unwrap().unwrap();
    assert_eq!((agent.disabled_at, user.disabled_at), (Some(since), Some(since)));
    let listed = world.administration.agents_after(None, None, 10).await.unwrap();
    assert_eq!(listed, [agent]);
    assert_eq!(world.administration.users_after(None, 10).await.unwrap(), [user]);
}

/// Neither the own list nor the directory offers them, nor can they be brought into a room; the rooms they are in
/// keep them, and what is sent to them waits.
pub async fn who_is_disabled_is_nobodys_peer(world: World) {
    let (ann, ben) = (world.colleague("ann", "house").await, world.colleague("ben", "house").await);
    let (bot, globe) = (world.agent(&ann, "Bot").await, world.agent(&ben, "Globe").await);
    world.make_global(&globe).await;
    let listed = AgentChanges { listed_in_directory: Some(true), ..AgentChanges::default() };
    world.accounts.update_agent(ben.caller, globe.id, listed).await.unwrap();
    let chat = world.chat(ann.caller, &[bot.id.uuid(), globe.id.uuid()]).await;
    let peers = async || {
        let page = world.peers.list(ann.caller, ListPeers::default(), ALL).await.unwrap();
        assert_eq!(page.total, u64::try_from(page.rows.len()).ok());
        page.rows.into_iter().map(|listed| listed.peer.name).collect::<Vec<_>>()
    };
    let directory = async || world.peers.directory(ann.caller, ALL).await.unwrap().total;
    assert_eq!(peers().await, ["ben Example", "Bot", "Globe"]);
    set(&world, at(&bot), true).await;
    assert_eq!((peers().await, directory().await), (vec!["ben Example".into(), "Globe".into()], Some(1)));
    set(&world, of(&ben), true).await;
    assert_eq!((peers().await, directory().await), (vec![], Some(0)));

    let other = world.chat(ann.caller, &[]).await;
    for candidate in [bot.id.uuid(), globe.id.uuid(), ben.id.uuid()] {
        let command = AddParticipantCommand { candidate, role: Role::Member };
        let added = world.chats.add_participant(ann.caller, other, command).await;
        let refused = AddParticipantError::Refused(AddRefused::PeerNotFound);
        assert_eq!(added.unwrap_err().to_string(), refused.to_string());
    }
    let message = world.send(ann.caller, chat, "for later", &[at(&bot), at(&globe)]).await;
    set(&world, at(&bot), false).await;
    set(&world, of(&ben), false).await;
    for agent in [&bot, &globe] {
        let next = world.deliveries.next(agent.caller, chat).await.unwrap().unwrap();
        assert_eq!(next.id, message.id);
    }
    assert_eq!((peers().await.len(), directory().await), (3, Some(1)));
}
