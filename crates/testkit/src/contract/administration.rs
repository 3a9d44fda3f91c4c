//! Accounts as the operator sees them: lists of all, and disabling.

use std::time::Duration;

use domain::account::{
    ActAsError, AgentChanges, AuthenticateError, Belongings, CreateUser, CreateUserError, DeleteUserError,
    InitialOrganization, IssueToken, IssueTokenError, KeyScope, SetDisabledOutcome, UserHandle,
    parse_person_name,
};
use domain::caller::{Caller, UserCaller};
use domain::change::Change;
use domain::chat::{
    AddParticipantCommand, AddParticipantError, AddRefused, ChatFilter, ChatOverview, ChatStatus, Role,
};
use domain::contact::{Handle, SendRequest};
use domain::id::{AgentId, ParticipantId, UserId};
use domain::message::HistoryFilter;
use domain::organization::{Authority, DeleteOrganizationError, Invite, OrganizationRole, deleted_name};
use domain::page::{PageRequest, Slice};
use domain::peer::ListPeers;
use domain::plan::{PlanName, WhichOrganization};
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

/// With their counts, each once, page by page, without deleted chats and former participants.
pub async fn all_chats_are_listed_newest_first(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let bot = world.agent(&ben, "Bot").await;
    world.make_global(&bot).await;
    let first = world.chat(ann.caller, &[bot.id.into()]).await;
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
    assert_eq!((one.participants, one.messages, one.last_sequence.get()), (2, 1, 2));
    assert_eq!(one.bytes, with_bot[1].bytes);
    assert!(one.bytes > 0);
    assert_eq!(Some(one.chat), world.chats.find(ann.caller, first).await.ok());
    assert!(listed(ChatFilter::One(gone), 1).await.is_empty());
    let of_ann = world.plans.organizations().await.unwrap();
    let of_ann = of_ann.iter().find(|organization| Some(&organization.name) == one.organization.as_ref());
    let of_ann = listed(ChatFilter::Organization(of_ann.unwrap().id), 1).await;
    assert_eq!(ids(&of_ann), [third, first]);
    world.chats.remove_participant(bot.caller, first, bot.id).await.unwrap();
    assert_eq!(listed(ChatFilter::One(first), 1).await[0].participants, 1);
    assert_eq!(ids(&listed(ChatFilter::Participant(at(&bot)), 1).await), [second]);
}

/// The outcome of a key: accepted, disabled, or unknown.
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
pub async fn a_disabled_account_is_rejected_everywhere(world: World) {
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
    assert!(matches!(as_agent(one.id).await, Err(ActAsError::Disabled(agent)) if agent == one.id));
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

/// Existing accounts show since when; disabling creates none, and a deleted agent stays deleted.
pub async fn the_time_of_disabling_is_stored(world: World) {
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

/// Nothing of the user is found any more but what was sent; agents go along, chats get another owner, and the
/// address is free, but not the handle. Without `force`, nothing happens to a user who has agents or is in
/// chats.
pub async fn a_deleted_user_is_found_nowhere(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let (bot, globe) = (world.agent(&ann, "Bot").await, world.agent(&ben, "Globe").await);
    world.make_global(&globe).await;
    world.connect((ann.caller, "@ann"), (ben.caller, "@ben")).await;
    let shared = world.chat(ann.caller, &[bot.id.into(), ben.id.into()]).await;
    let alone = world.chat(ann.caller, &[]).await;
    let sent = world.send(ann.caller, shared, "remember me", &[at(&bot)]).await;
    let token = world.token(&ann).await;
    let delete = async |force| world.administration.delete_user(&world.accounts, ann.id, force).await;

    let refused = delete(false).await.unwrap_err();
    assert!(matches!(refused, DeleteUserError::InUse(Belongings { agents: 1, chats: 2 })), "{refused:?}");
    assert_eq!((stands(&world, &ann.key).await, stands(&world, &bot.key).await), (None, None));
    let before = world.stores.accounts.find_user(ann.id).await.unwrap().unwrap();

    let log = &*world.stores.changes;
    let start = log.newest_change().await.unwrap();
    let deleted = delete(true).await.unwrap();
    assert_eq!(deleted.with, Belongings { agents: 1, chats: 2 });
    assert_eq!((deleted.user.handle, deleted.user.name), (before.handle, before.name));
    let logged = log.changes_after(start, 100).await.unwrap();
    let logged = logged.into_iter().filter_map(|entry| entry.change).collect::<Vec<_>>();
    for change in [Change::AgentDeleted(bot.id), Change::Disabled(of(&ann)), Change::UserUpdated(ann.id)] {
        assert!(logged.contains(&change), "{change:?} in {logged:?}");
    }
    assert_eq!(logged.iter().filter(|change| matches!(change, Change::KeyRevoked(_))).count(), 2);

    for key in [&ann.key, &bot.key] {
        let refused = world.accounts.authenticate(key).await;
        assert!(matches!(refused, Err(AuthenticateError::Unauthorized)), "{refused:?}");
    }
    assert!(world.tokens.authenticate(&token).await.is_err());
    assert_eq!(world.stores.accounts.find_user(ann.id).await.unwrap(), None);
    assert_eq!(world.stores.accounts.find_account_status(ann.id).await.unwrap(), None);
    let users = world.administration.users_after(None, 10).await.unwrap();
    assert_eq!(users.iter().map(|user| user.id).collect::<Vec<_>>(), [ben.id]);
    assert_eq!(world.administration.agents_after(Some(ann.id), None, 10).await.unwrap(), []);
    assert_eq!(set(&world, of(&ann), false).await, SetDisabledOutcome::NotFound);
    assert!(matches!(delete(true).await, Err(DeleteUserError::NotFound)));
    assert_eq!(world.stores.status.status().await.unwrap().users, 1);

    let roster = world.chats.roster(ben.caller, shared).await.unwrap();
    let roles = roster.participants.iter().map(|one| (one.id, one.role)).collect::<Vec<_>>();
    assert_eq!(roles, [(of(&ben), Role::Owner)]);
    let chats = &world.stores.chats;
    assert_eq!(chats.overview(ChatFilter::Participant(of(&ann)), None, 10).await.unwrap(), []);
    let closed = chats.overview(ChatFilter::One(alone), None, 1).await.unwrap().pop().unwrap();
    assert_eq!((closed.participants, closed.chat.status), (0, ChatStatus::Closed));
    let history = world.messages.history(ben.caller, shared, HistoryFilter::default(), ALL).await.unwrap();
    let stays = history.rows.into_iter().find(|message| message.id == sent.id).unwrap();
    assert!(format!("{stays:?}").contains("remember me"), "{stays:?}");
    assert!(format!("{stays:?}").contains("ann Example"), "{stays:?}");
    assert_eq!(world.contacts.list(ben.caller, None, ALL).await.unwrap().total, Some(0));
    let command = AddParticipantCommand { candidate: ann.id.into(), role: Role::Member };
    let added = world.chats.add_participant(ben.caller, shared, command).await.unwrap_err();
    assert_eq!(added.to_string(), AddParticipantError::Refused(AddRefused::PeerNotFound).to_string());

    let again = async |handle: &str| {
        let (handle, email) = (UserHandle::new(handle).unwrap(), "ann@example.org".to_owned());
        let (name, plan) = (parse_person_name("Ann").unwrap(), PlanName::enterprise());
        let initial_organization = InitialOrganization::Own;
        world.accounts.create_user(CreateUser { handle, email, name, initial_organization, plan }).await
    };
    assert!(matches!(again("ann").await, Err(CreateUserError::HandleTaken)));
    again("ann-2").await.unwrap();
    let unknown = SendRequest { to: Handle::new("ann").unwrap(), message: None };
    assert!(world.contacts.send(ben.caller, unknown).await.is_err());
}

/// Members are not left without an admin; a deleted one is counted nowhere.
pub async fn the_last_admin_of_members_is_not_deleted(world: World) {
    let (ann, ben) = (world.colleague("ann", "house").await, world.colleague("ben", "house").await);
    let bot = world.agent(&ann, "Bot").await;
    let delete =
        async |user: &TestUser| world.administration.delete_user(&world.accounts, user.id, true).await;
    let refused = delete(&ann).await.unwrap_err();
    assert!(matches!(refused, DeleteUserError::LastAdmin(_)), "{refused:?}");
    assert_eq!((stands(&world, &ann.key).await, stands(&world, &bot.key).await), (None, None));
    delete(&ben).await.unwrap();
    let members = world.organizations.list_members(ann.caller.organization, ALL).await.unwrap();
    assert_eq!((members.total, members.rows.len()), (Some(1), 1));
    let house = world.plans.organizations().await.unwrap();
    assert_eq!(house.iter().find(|one| one.name == "house").unwrap().users, 1);
    delete(&ann).await.unwrap();
    let house = world.plans.organizations().await.unwrap();
    assert_eq!(house.iter().find(|one| one.name == "house").unwrap().users, 0);
}

/// An organization with members stays, one with chats goes with `force` only; its name is free, nothing leads
/// into it, and whose own it was gets another one.
pub async fn an_organization_without_members_is_deleted(world: World) {
    let (ann, ben) = (world.colleague("ann", "house").await, world.user("ben").await);
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    let find = async |name: &str| {
        let which = WhichOrganization::Named(name.to_owned());
        world.organizations.find(which).await.unwrap()
    };
    let house = find("house").await.unwrap();
    let by = Authority::Operator(house.id);
    let guest = world.organizations.invite(by, Invite::default()).await.unwrap();
    let delete = async |id, force| world.organizations.delete(&world.chats, id, force).await;

    let refused = delete(house.id, true).await.unwrap_err();
    assert!(matches!(refused, DeleteOrganizationError::HasMembers(1)), "{refused:?}");
    let own = world.stores.organizations.organization_of(ben.id).await.unwrap().unwrap().id;
    world.organizations.move_user(ann.id, own, OrganizationRole::Member).await.unwrap();
    let refused = delete(house.id, false).await.unwrap_err();
    assert!(matches!(refused, DeleteOrganizationError::HasChats(1)), "{refused:?}");
    assert!(world.chats.find(ben.caller, chat).await.is_err());
    let deleted = delete(house.id, true).await.unwrap();
    assert_eq!((deleted.organization.name.as_str(), deleted.chats), ("house", 1));

    assert_eq!(find("house").await, None);
    assert_eq!(find(&deleted_name(house.id)).await, None);
    assert!(matches!(delete(house.id, true).await, Err(DeleteOrganizationError::NotFound)));
    let names = world.plans.organizations().await.unwrap().into_iter().map(|one| one.name);
    assert_eq!(names.collect::<Vec<_>>(), ["ben"]);
    assert_eq!(world.stores.status.status().await.unwrap().organizations, 1);
    assert!(world.stores.chats.overview(ChatFilter::One(chat), None, 1).await.unwrap().is_empty());
    assert!(world.organizations.accept(ben.caller, guest.token.reveal()).await.is_err());
    assert!(world.organizations.move_user(ben.id, house.id, OrganizationRole::Member).await.is_err());
    assert!(world.organizations.invite(by, Invite::default()).await.is_err());
    let stays = world.stores.accounts.find_user(ben.id).await.unwrap().unwrap();
    assert_eq!(stays.organization, own);

    // Whose own it was gets a fresh one of the name that is free again.
    world.organizations.leave(UserCaller { organization: own, ..ann.caller }).await.unwrap();
    let of_ann = world.stores.organizations.organization_of(ann.id).await.unwrap().unwrap();
    assert_ne!(of_ann.id, house.id);
    assert_eq!((of_ann.name.as_str(), of_ann.members), ("ann", 1));
    world.colleague("cai", "house").await;
    assert_ne!(find("house").await.unwrap().id, house.id);
}

/// Neither the own list nor the directory offers them, nor can they be brought into a room; the rooms they are
/// in keep them, and what is sent to them waits.
pub async fn a_disabled_account_is_not_a_peer(world: World) {
    let (ann, ben) = (world.colleague("ann", "house").await, world.colleague("ben", "house").await);
    let (bot, globe) = (world.agent(&ann, "Bot").await, world.agent(&ben, "Globe").await);
    world.make_global(&globe).await;
    let listed = AgentChanges { listed_in_directory: Some(true), ..AgentChanges::default() };
    world.accounts.update_agent(ben.caller, globe.id, listed).await.unwrap();
    let chat = world.chat(ann.caller, &[bot.id.into(), globe.id.into()]).await;
    let peers = async || {
        let page = world.peers.list(ann.caller, ListPeers::default(), ALL).await.unwrap();
        assert_eq!(page.total, u64::try_from(page.rows.len()).ok());
        page.rows.into_iter().map(|listed| listed.peer.name).collect::<Vec<_>>()
    };
    let directory = async || world.peers.directory(ann.caller, None, ALL).await.unwrap().total;
    assert_eq!(peers().await, ["ben Example", "Bot", "Globe"]);
    set(&world, at(&bot), true).await;
    assert_eq!((peers().await, directory().await), (vec!["ben Example".into(), "Globe".into()], Some(1)));
    set(&world, of(&ben), true).await;
    assert_eq!((peers().await, directory().await), (vec![], Some(0)));

    let other = world.chat(ann.caller, &[]).await;
    for candidate in [bot.id.into(), globe.id.into(), ben.id.into()] {
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
