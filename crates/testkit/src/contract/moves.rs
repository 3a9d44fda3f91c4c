//! Moving from one organization to another: what comes along, what stays, and what ends.

use std::sync::Arc;

use domain::account::{AgentChanges, AgentDescription, AgentName, AuthenticateError, RegisterAgent};
use domain::audit::{AuditAction, AuditFilter, AuditScope};
use domain::caller::{AgentCaller, Caller};
use domain::change::Change;
use domain::chat::CreateChat;
use domain::event::DomainEvent;
use domain::id::ParticipantId;
use domain::memory::{
    FindMemoryError, MemoryContent, MemoryMetadata, MemoryScope, MemoryThought, StoreMemory,
};
use domain::organization::{
    AcceptError, Authority, EnterError, InvitationRefused, Invite, LeaveError, OrganizationRole,
};
use domain::peer::ListPeers;
use domain::plan::{Plan, Resource};

use super::members::{ALL, by, caller};
use super::plans::plan;
use crate::{TestAgent, TestUser, World};

/// The token of a fresh invitation on this user's word.
async fn token(world: &World, user: &TestUser) -> String {
    let invited = world.organizations.invite(by(world, user).await, Invite::default()).await.unwrap();
    invited.token.reveal().to_owned()
}

async fn accept(world: &World, user: &TestUser, token: &str) -> Result<(), AcceptError> {
    world.organizations.accept(caller(world, user).await, token).await.map(|_| ())
}

/// The agent as a caller, where its owner is now.
async fn agent_caller(world: &World, agent: &TestAgent) -> AgentCaller {
    match world.accounts.authenticate(&agent.key).await.unwrap().caller {
        Caller::Agent(caller) => caller,
        Caller::User(_) => panic!("an agent's key"),
    }
}

/// The handles of a caller's peers.
async fn peers(world: &World, caller: impl Into<Caller>) -> Vec<String> {
    let page = world.peers.list(caller, ListPeers::default(), ALL).await.unwrap();
    page.rows.into_iter().map(|listed| listed.peer.handle).collect()
}

async fn share(world: &World, owner: &TestUser, agent: &TestAgent) {
    let changes = AgentChanges { shared_with_organization: Some(true), ..AgentChanges::default() };
    world.accounts.update_agent(owner.caller, agent.id, changes).await.unwrap();
}

/// Once, with the role that it says; who is there already does not use it up.
pub async fn an_invitation_moves_whoever_accepts_it(world: World) {
    let (ann, ben, cai) = (world.user("ann").await, world.user("ben").await, world.user("cai").await);
    let token = token(&world, &ann).await;
    let outcome = accept(&world, &ann, &token).await;
    assert!(matches!(outcome, Err(AcceptError::Enter(EnterError::AlreadyThere))), "{outcome:?}");
    accept(&world, &ben, &format!("{token}\n")).await.unwrap();
    let shown = world.organizations.show(ben.caller).await.unwrap().unwrap();
    assert_eq!((shown.id, shown.role), (ann.caller.organization, OrganizationRole::Member));
    for (user, token, expected) in [
        (&cai, token.as_str(), InvitationRefused::Accepted),
        (&cai, "thnv_i_guessed", InvitationRefused::Unknown),
    ] {
        let outcome = accept(&world, user, token).await;
        assert!(
            matches!(&outcome, Err(AcceptError::Invitation(refused)) if *refused == expected),
            "{outcome:?}"
        );
    }
    let bound = Invite { email: Some("ben@example.org".to_owned()), ..Invite::default() };
    let bound = world.organizations.invite(by(&world, &ann).await, bound).await.unwrap();
    let outcome = accept(&world, &cai, bound.token.reveal()).await;
    let refused = matches!(outcome, Err(AcceptError::Invitation(InvitationRefused::OtherAddress)));
    assert!(refused, "{outcome:?}");
    assert_eq!(caller(&world, &cai).await, cai.caller, "who was refused is where they were");

    // Of two who hold one token one comes in.
    let dan = world.user("dan").await;
    let token = self::token(&world, &ann).await;
    let attempts = [&cai, &dan].map(|user| {
        let (organizations, caller, token) = (world.organizations.clone(), user.caller, token.clone());
        tokio::spawn(async move { organizations.accept(caller, &token).await.is_ok() })
    });
    let mut came = 0;
    for attempt in attempts {
        came += u32::from(attempt.await.unwrap());
    }
    assert_eq!(came, 1);
}

/// The quotas of the new organization apply; a user who returns to an own organization is not limited.
pub async fn agents_of_a_moving_user_must_fit_the_plan(world: World) {
    let ann = world.user_with_plan("ann", Plan { agents: Some(3), chats: Some(1), ..plan("tiny") }).await;
    let ben = world.user("ben").await;
    world.agent(&ann, "One").await;
    let mut agents = Vec::new();
    for number in 0..3 {
        agents.push(world.agent(&ben, &format!("Agent {number}")).await);
        world.chat(ben.caller, &[]).await;
    }
    let token = token(&world, &ann).await;
    match accept(&world, &ben, &token).await {
        Err(AcceptError::Enter(EnterError::Limit(reached))) => {
            assert_eq!((reached.resource, reached.limit, reached.current), (Resource::Agents, 3, 1));
        }
        other => panic!("{other:?}"),
    }
    world.accounts.delete_agent(ben.caller, agents[0].id, false).await.unwrap();
    accept(&world, &ben, &token).await.unwrap();
    assert_eq!(agent_caller(&world, &agents[1]).await.organization, ann.caller.organization);
    let more = RegisterAgent {
        name: AgentName::new("More").unwrap(),
        description: AgentDescription::new("one too many").unwrap(),
    };
    for user in [&ann, &ben] {
        let caller = caller(&world, user).await;
        assert!(world.accounts.register_agent(caller, more.clone()).await.is_err());
    }
    // The rooms that were made elsewhere count there.
    world.chats.create(caller(&world, &ben).await, CreateChat::default()).await.unwrap();
    assert!(world.chats.create(ann.caller, CreateChat::default()).await.is_err());
    world.organizations.leave(caller(&world, &ben).await).await.unwrap();
    world.accounts.register_agent(ann.caller, more).await.unwrap();
    assert!(
        world.chats.create(ann.caller, CreateChat::default()).await.is_err(),
        "it stays where it was made"
    );
}

/// However many come at the same moment, and make agents there.
pub async fn as_many_users_move_in_as_the_plan_allows(world: World) {
    let ann = world.user_with_plan("ann", Plan { agents: Some(5), ..plan("tiny") }).await;
    let world = Arc::new(world);
    let mut attempts = Vec::new();
    for number in 0..6 {
        let guest = world.user(&format!("guest-{number}")).await;
        world.agent(&guest, "One").await;
        world.agent(&guest, "Two").await;
        let token = token(&world, &ann).await;
        let task = world.clone();
        attempts.push(tokio::spawn(async move { accept(&task, &guest, &token).await.is_ok() }));
        let (accounts, caller) = (world.accounts.clone(), ann.caller);
        let command = RegisterAgent {
            name: AgentName::new(&format!("Own {number}")).unwrap(),
            description: AgentDescription::new("made meanwhile").unwrap(),
        };
        attempts.push(tokio::spawn(async move {
            let _ = accounts.register_agent(caller, command).await;
            false
        }));
    }
    let mut came = 0;
    for attempt in attempts {
        came += u64::from(attempt.await.unwrap());
    }
    let shown = world.organizations.show(ann.caller).await.unwrap().unwrap();
    assert_eq!(shown.members, came + 1);
    let mut agents = 0;
    for member in world.organizations.list_members(ann.caller.organization, ALL).await.unwrap().rows {
        let listed =
            world.stores.accounts.list_agents(member.id, domain::account::AgentListing::default(), ALL);
        agents += listed.await.unwrap().total.unwrap();
    }
    assert!((4..=5).contains(&agents), "{agents} agents of {came} guests");
}

/// Colleagues, what they share, and what was remembered for the organization; rooms go on.
pub async fn a_moved_user_no_longer_sees_the_old_organization(world: World) {
    let (ann, ben, zoe) = (world.user("ann").await, world.user("ben").await, world.user("zoe").await);
    let (anns, bens, global) = (
        world.agent(&ann, "Shared").await,
        world.agent(&ben, "Bot").await,
        world.agent(&zoe, "Global").await,
    );
    share(&world, &ann, &anns).await;
    share(&world, &ben, &bens).await;
    world.make_global(&global).await;
    assert_eq!(peers(&world, ann.caller).await, ["ann/shared", "zoe/global"]);
    accept(&world, &ben, &token(&world, &ann).await).await.unwrap();
    let (bens_caller, bot) = (caller(&world, &ben).await, agent_caller(&world, &bens).await);
    assert_eq!(peers(&world, ann.caller).await, ["ben", "ann/shared", "ben/bot", "zoe/global"]);
    assert_eq!(peers(&world, bens_caller).await, ["ann", "ann/shared", "ben/bot", "zoe/global"]);
    assert_eq!(peers(&world, bot).await, ["ben", "ann/shared", "zoe/global"]);

    let remember = |content: &str| StoreMemory {
        content: MemoryContent::new(content.to_owned()).unwrap(),
        system: None,
        kind: None,
        segment: None,
        scope: Some(MemoryScope::Organization),
        subject: None,
        thought: MemoryThought::default(),
        metadata: MemoryMetadata::default(),
    };
    let of_ann = world.memories.store(anns.caller, remember("of ann")).await.unwrap();
    let of_ben = world.memories.store(bot, remember("of ben")).await.unwrap();
    assert_eq!(world.memories.find(bot, of_ann.id).await.unwrap(), of_ann);
    let chat = world.chat(ann.caller, &[ben.id.into(), bens.id.into()]).await;

    world.organizations.remove(by(&world, &ann).await, ben.id).await.unwrap();
    let (bens_caller, bot) = (caller(&world, &ben).await, agent_caller(&world, &bens).await);
    assert_eq!(peers(&world, ann.caller).await, ["ann/shared", "zoe/global"]);
    assert_eq!(peers(&world, bens_caller).await, ["ben/bot", "zoe/global"]);
    assert_eq!(peers(&world, bot).await, ["ben", "zoe/global"]);
    for memory in [of_ann.id, of_ben.id] {
        let outcome = world.memories.find(bot, memory).await;
        assert!(matches!(outcome, Err(FindMemoryError::NotFound)), "{outcome:?}");
        assert!(world.memories.find(bens_caller, memory).await.is_err());
        world.memories.find(anns.caller, memory).await.unwrap();
    }
    assert_eq!(world.chats.roster(bens_caller, chat).await.unwrap().participants.len(), 3);
    world.send(bot, chat, "still here", &[ParticipantId::User(ann.id)]).await;
}

/// And are told of, here and to other servers, once; those of others go on.
pub async fn tokens_end_with_a_move(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let (anns, bens) = (world.token(&ann).await, world.token(&ben).await);
    let token = token(&world, &ann).await;
    let start = world.stores.changes.newest_change().await.unwrap();
    world.publisher.take();
    accept(&world, &ben, &token).await.unwrap();
    accept(&world, &ben, &token).await.unwrap_err();
    let refused = world.tokens.authenticate(&bens).await;
    assert!(matches!(refused, Err(AuthenticateError::Unauthorized)), "{refused:?}");
    world.tokens.authenticate(&anns).await.unwrap();
    let key = world.accounts.authenticate(&ben.key).await.unwrap().caller;
    assert_eq!(key.organization(), ann.caller.organization, "a key stands for whoever holds it");
    let changes = world.stores.changes.changes_after(start, 10).await.unwrap();
    let changes = changes.into_iter().filter_map(|entry| entry.change).collect::<Vec<_>>();
    assert_eq!(changes, [Change::UserMoved(ben.id)]);
    let published = world.publisher.take();
    assert!(matches!(&published[..], [DomainEvent::UserMoved { user }] if *user == ben.id), "{published:?}");
}

/// Invitations that users made end when they leave or step down, and so do those of an empty organization.
pub async fn invitations_end_with_the_membership_of_their_maker(world: World) {
    let (ann, ben, cai) = (world.user("ann").await, world.user("ben").await, world.user("cai").await);
    let admin = OrganizationRole::Admin;
    let house = ann.caller.organization;
    world.organizations.move_user(ben.id, house, admin).await.unwrap();
    let (bens, anns) = (token(&world, &ben).await, token(&world, &ann).await);
    world.organizations.remove(by(&world, &ann).await, ben.id).await.unwrap();
    let refused = async |user: &TestUser, token: &str| match accept(&world, user, token).await {
        Err(AcceptError::Invitation(refused)) => refused,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&ben, &bens).await, InvitationRefused::Revoked);
    accept(&world, &cai, &anns).await.unwrap();

    world.organizations.move_user(ben.id, house, admin).await.unwrap();
    let bens = token(&world, &ben).await;
    world.organizations.set_role(by(&world, &ann).await, ben.id, OrganizationRole::Member).await.unwrap();
    let dan = world.user("dan").await;
    assert_eq!(refused(&dan, &bens).await, InvitationRefused::Revoked);

    let dans = token(&world, &dan).await;
    let by_operator = Authority::Operator(dan.caller.organization);
    let operators = world.organizations.invite(by_operator, Invite::default()).await.unwrap();
    world.organizations.move_user(dan.id, house, admin).await.unwrap();
    let eve = world.user("eve").await;
    assert_eq!(refused(&eve, &dans).await, InvitationRefused::Revoked);
    assert_eq!(refused(&eve, operators.token.reveal()).await, InvitationRefused::Revoked);
}

/// Of two who are the admins of others one stays.
pub async fn the_last_admins_cannot_all_move_at_once(world: World) {
    let ann = world.user("ann").await;
    let house = ann.caller.organization;
    world.colleague("member", "ann").await;
    for number in 0..4 {
        let ben = world.user(&format!("ben-{number}")).await;
        world.organizations.move_user(ben.id, house, OrganizationRole::Admin).await.unwrap();
        let (first, second) = (world.organizations.clone(), world.organizations.clone());
        let (anns, bens) = (by(&world, &ann).await, caller(&world, &ben).await);
        let stepping =
            tokio::spawn(async move { first.set_role(anns, ann.id, OrganizationRole::Member).await });
        let leaving = tokio::spawn(async move { second.leave(bens).await });
        let (stepped, left) = (stepping.await.unwrap(), leaving.await.unwrap());
        assert!(stepped.is_ok() != left.is_ok(), "{stepped:?} {left:?}");
        if left.is_err() {
            assert!(matches!(left, Err(LeaveError::LastAdmin(_))), "{left:?}");
            let bens = by(&world, &ben).await;
            world.organizations.set_role(bens, ann.id, OrganizationRole::Admin).await.unwrap();
            world.organizations.leave(caller(&world, &ben).await).await.unwrap();
        }
    }
}

/// Rooms and agents that are made in the moment of a move belong to one of the two, and are counted there.
pub async fn records_made_during_a_move_belong_to_one_organization(world: World) {
    let ann = world.user_with_plan("ann", Plan { chats: Some(3), ..plan("tiny") }).await;
    let ben = world.user("ben").await;
    for _ in 0..4 {
        let (organizations, house) = (world.organizations.clone(), ann.caller.organization);
        let moving = tokio::spawn(async move {
            organizations.move_user(ben.id, house, OrganizationRole::Member).await.unwrap();
        });
        let making = (0..3).map(|_| {
            let (chats, caller) = (world.chats.clone(), ben.caller);
            tokio::spawn(async move { chats.create(caller, CreateChat::default()).await.is_ok() })
        });
        for made in making.collect::<Vec<_>>() {
            made.await.unwrap();
        }
        moving.await.unwrap();
        world.organizations.leave(caller(&world, &ben).await).await.unwrap();
    }
    let mut left = 0;
    while world.chats.create(ann.caller, CreateChat::default()).await.is_ok() {
        left += 1;
    }
    assert!(left <= 3);
}

/// For both organizations, with who did it.
pub async fn moves_are_audited(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let start = domain::ports::Clock::now(&*world.clock).plus(std::time::Duration::from_secs(1));
    let tick = || world.clock.advance(std::time::Duration::from_secs(1));
    tick();
    let token = token(&world, &ann).await;
    tick();
    accept(&world, &ben, &token).await.unwrap();
    tick();
    world.organizations.set_role(by(&world, &ann).await, ben.id, OrganizationRole::Admin).await.unwrap();
    tick();
    world.organizations.remove(by(&world, &ann).await, ben.id).await.unwrap();
    let of = async |house| {
        let scope = AuditScope::Of(Authority::Operator(house));
        let filter = AuditFilter { since: Some(start), ..AuditFilter::of(scope) };
        let log = world.stores.audit.list_audit(filter, ALL).await.unwrap().unwrap().rows;
        let published =
            log.into_iter().rev().map(|entry| (entry.action, entry.actor.known().map(|actor| actor.object)));
        published
            .map(|(action, actor)| (action, actor.map(|object| object.parts().1.uuid())))
            .collect::<Vec<_>>()
    };
    let (by_ann, by_ben) = (Some(ann.id.uuid()), Some(ben.id.uuid()));
    assert_eq!(
        of(ann.caller.organization).await,
        [
            (AuditAction::InvitationCreated, by_ann),
            (AuditAction::MemberJoined, by_ben),
            (AuditAction::RoleSet, by_ann),
            (AuditAction::MemberRemoved, by_ann),
        ]
    );
    assert_eq!(
        of(ben.caller.organization).await,
        [(AuditAction::MemberLeft, by_ben), (AuditAction::MemberJoined, by_ann)]
    );
}
