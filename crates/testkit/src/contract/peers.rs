//! Peers and the directory.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::account::{AgentChanges, AgentMarks};
use domain::caller::Caller;
use domain::chat::{AddParticipantCommand, AddParticipantError, AddRefused, CreateChat, Role};
use domain::contact::WhichContact;
use domain::id::{AgentId, ParticipantId, ParticipantKind};
use domain::page::{PageRequest, Slice};
use domain::peer::{ListPeers, ListPeersError, ListedPeer, PeerSource};
use domain::text::NamePart;

use crate::{TestAgent, TestUser, World};

const fn page(number: u32, size: u32) -> PageRequest {
    PageRequest { slice: Slice::Numbered { number, size }, count: true }
}

/// Two organizations, an agent of each visibility, and no contacts.
struct Houses {
    world: World,
    ann: TestUser,
    helper: TestAgent,
    scout: TestAgent,
    hermit: TestAgent,
    ben: TestUser,
    rival: TestAgent,
    globe: TestAgent,
}

impl Houses {
    async fn of(world: World) -> Self {
        let (ann, ben) = (world.user("ann").await, world.user("ben").await);
        let helper = world.agent(&ann, "Helper").await;
        let scout = world.agent(&ann, "Scout").await;
        let hermit = world.agent(&ann, "Hermit").await;
        let rival = world.agent(&ben, "Rival").await;
        let globe = world.agent(&ben, "Globe").await;
        let hidden = AgentChanges { registry_access: Some(false), ..AgentChanges::default() };
        world.accounts.update_agent(ann.caller, hermit.id, hidden).await.unwrap();
        let global = AgentMarks { is_global: Some(true), ..AgentMarks::default() };
        world.accounts.mark_agent(&globe.handle, global).await.unwrap().unwrap();
        Self { world, ann, helper, scout, hermit, ben, rival, globe }
    }

    async fn peers(&self, caller: impl Into<Caller>) -> Vec<ListedPeer> {
        self.world.peers.list(caller, ListPeers::default(), page(1, 100)).await.unwrap().rows
    }
}

fn names(peers: &[ListedPeer]) -> Vec<&str> {
    peers.iter().map(|listed| listed.peer.name.as_str()).collect()
}

/// The list and the rule for adding participants agree on every pair.
pub async fn peers_are_those_who_may_be_added(world: World) {
    let houses = Houses::of(world).await;
    let agents = [&houses.helper, &houses.scout, &houses.hermit, &houses.rival, &houses.globe];
    let mut callers = agents.iter().map(|agent| Caller::from(agent.caller)).collect::<Vec<_>>();
    callers.extend([Caller::from(houses.ann.caller), houses.ben.caller.into()]);
    for caller in &callers {
        let chat = houses.world.chats.create(*caller, CreateChat::default()).await.unwrap().id;
        let mut addable = BTreeSet::new();
        for other in &callers {
            let id = other.participant();
            let command = AddParticipantCommand { candidate: id.into(), role: Role::Member };
            match houses.world.chats.add_participant(*caller, chat, command).await {
                Ok(_) => assert!(addable.insert(id)),
                Err(AddParticipantError::Refused(AddRefused::PeerNotFound)) => {}
                Err(AddParticipantError::Refused(AddRefused::AlreadyParticipant)) if other == caller => {}
                Err(error) => panic!("{error}"),
            }
        }
        let listed = houses.peers(*caller).await;
        assert_eq!(listed.iter().map(|listed| listed.peer.id).collect::<BTreeSet<_>>(), addable);
        assert!(listed.iter().all(|listed| listed.peer.source == PeerSource::Registry));
    }
    assert_eq!(names(&houses.peers(houses.helper.caller).await), ["ann Example", "Scout", "Hermit", "Globe"]);
    assert_eq!(names(&houses.peers(houses.hermit.caller).await), ["ann Example", "Globe"]);
    assert_eq!(names(&houses.peers(houses.ann.caller).await), ["Helper", "Scout", "Hermit", "Globe"]);
    assert_eq!(names(&houses.peers(houses.globe.caller).await), ["ben Example", "Rival"]);
}

/// Every page is as long as it was asked to be, and all of them are the list.
pub async fn pages_of_peers_have_totals(world: World) {
    let houses = Houses::of(world).await;
    let all = houses.peers(houses.helper.caller).await;
    let mut seen = Vec::new();
    for number in 1..=2 {
        let wanted = ListPeers::default();
        let page = houses.world.peers.list(houses.helper.caller, wanted, page(number, 2)).await.unwrap();
        assert_eq!((page.rows.len(), page.total), (2, Some(4)));
        seen.extend(page.rows);
    }
    assert_eq!(seen, all);
    let beyond =
        houses.world.peers.list(houses.helper.caller, ListPeers::default(), page(3, 2)).await.unwrap();
    assert_eq!((beyond.rows.len(), beyond.total), (0, Some(4)));
    let users = ListPeers { kind: Some(ParticipantKind::User), ..ListPeers::default() };
    let users = houses.world.peers.list(houses.helper.caller, users, page(1, 9)).await.unwrap();
    assert_eq!((names(&users.rows), users.total), (vec!["ann Example"], Some(1)));
    let agents = ListPeers { kind: Some(ParticipantKind::Agent), ..ListPeers::default() };
    let agents = houses.world.peers.list(houses.helper.caller, agents, page(1, 9)).await.unwrap();
    assert_eq!((names(&agents.rows), agents.total), (vec!["Scout", "Hermit", "Globe"], Some(3)));
    houses.world.presence.connect(ParticipantId::Agent(houses.scout.id));
    let online = houses.peers(houses.helper.caller).await.into_iter().filter(|listed| listed.online);
    assert_eq!(online.map(|listed| listed.peer.id.uuid()).collect::<Vec<_>>(), [houses.scout.id.uuid()]);
}

/// A cursor goes on from peers of the registry to those by contact, in the directory too; a search finds parts of names
/// and of handles, and is paged like the whole list.
pub async fn peers_are_searched_and_read_by_cursor(world: World) {
    let houses = Houses::of(world).await;
    let world = &houses.world;
    let listed = AgentChanges { listed_in_directory: Some(true), ..AgentChanges::default() };
    for (owner, agent) in
        [(&houses.ben, &houses.rival), (&houses.ann, &houses.scout), (&houses.ben, &houses.globe)]
    {
        world.accounts.update_agent(owner.caller, agent.id, listed.clone()).await.unwrap();
    }
    let helper = houses.helper.caller;
    world.connect((helper, &houses.helper.handle), (houses.rival.caller, &houses.rival.handle)).await;
    let all = houses.peers(helper).await;
    assert_eq!(names(&all), ["ann Example", "Scout", "Hermit", "Globe", "Rival"]);
    assert_eq!(all[4].peer.source, PeerSource::Contact);
    let cases: [(&str, &[&str], &[&str]); 7] = [
        ("", &["ann Example", "Scout", "Hermit", "Globe", "Rival"], &["Scout", "Rival", "Globe"]),
        ("O", &["Scout", "Globe"], &["Scout", "Globe"]),
        // The slash is in the handles of agents only.
        ("/", &["Scout", "Hermit", "Globe", "Rival"], &["Scout", "Rival", "Globe"]),
        ("BEN/", &["Globe", "Rival"], &["Rival", "Globe"]),
        ("rIvAl", &["Rival"], &["Rival"]),
        ("%", &[], &[]),
        ("\0", &[], &[]),
    ];
    for (text, expected, in_directory) in cases {
        let wanted = ListPeers { name: NamePart::new(text), ..ListPeers::default() };
        for limit in [1, 2, 9] {
            let (mut peers, mut after) = (Vec::new(), None);
            loop {
                let part = PageRequest { slice: Slice::After { after, limit }, count: false };
                let part = world.peers.list(helper, wanted.clone(), part).await.unwrap();
                assert!(part.rows.len() <= limit as usize && part.total.is_none());
                peers.extend(part.rows);
                after = part.next;
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(names(&peers), expected, "{text} by {limit}");
            let (mut agents, mut after) = (Vec::new(), None);
            loop {
                let part = PageRequest { slice: Slice::After { after, limit }, count: false };
                let name = NamePart::new(text);
                let part = world.peers.directory(houses.hermit.caller, name, part).await.unwrap();
                agents.extend(part.rows);
                after = part.next;
                if after.is_none() {
                    break;
                }
            }
            let mut found = names(&agents);
            found.sort_unstable();
            let mut expected = in_directory.to_vec();
            expected.sort_unstable();
            assert_eq!(found, expected, "{text} by {limit}");
        }
        let second = world.peers.list(helper, wanted, page(2, 2)).await.unwrap();
        assert_eq!(names(&second.rows), expected.chunks(2).nth(1).unwrap_or_default(), "{text}");
        assert_eq!(second.total, Some(expected.len() as u64), "{text}");
    }
}

/// By a part of the name or the handle, by cursor and by page.
pub async fn contacts_are_searched_by_name(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let two = world.agent(&ben, "Two").await;
    world.connect((ann.caller, "ann"), (ben.caller, "ben")).await;
    world.clock.advance(Duration::from_secs(1));
    world.connect((ann.caller, "ann"), (two.caller, &two.handle)).await;
    for (text, expected) in [
        ("", &["Two", "ben Example"][..]),
        ("BEN", &["Two", "ben Example"]),
        ("example", &["ben Example"]),
        ("tw", &["Two"]),
        ("ben/", &["Two"]),
        ("_", &[]),
    ] {
        let name = NamePart::new(text);
        let (mut names, mut after) = (Vec::new(), None);
        loop {
            let part = PageRequest { slice: Slice::After { after, limit: 1 }, count: names.is_empty() };
            let part = world.contacts.list(ann.caller, name.clone(), part).await.unwrap();
            assert_eq!(part.total, names.is_empty().then_some(expected.len() as u64), "{text}");
            names.extend(part.rows.into_iter().map(|listed| listed.contact.with.name));
            after = part.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(names, expected, "{text}");
        let second = PageRequest { slice: Slice::Numbered { number: 2, size: 1 }, count: true };
        let second = world.contacts.list(ann.caller, name, second).await.unwrap();
        assert_eq!(
            (second.rows.len(), second.total),
            (expected.len().saturating_sub(1), Some(expected.len() as u64))
        );
    }
}

/// Participants of the room are left out; a room of others is not found.
pub async fn rooms_are_left_out(world: World) {
    let houses = Houses::of(world).await;
    let helper = houses.helper.caller;
    let chat = houses.world.chat(helper, &[houses.scout.id.into(), houses.ann.id.into()]).await;
    let wanted = ListPeers { not_in_chat: Some(chat), ..ListPeers::default() };
    let left = houses.world.peers.list(helper, wanted.clone(), page(1, 9)).await.unwrap();
    assert_eq!((names(&left.rows), left.total), (vec!["Hermit", "Globe"], Some(2)));
    houses.world.chats.remove_participant(houses.helper.caller, chat, houses.scout.id).await.unwrap();
    let left = houses.world.peers.list(helper, wanted.clone(), page(1, 9)).await.unwrap();
    assert_eq!(names(&left.rows), ["Scout", "Hermit", "Globe"]);
    let stranger = houses.world.peers.list(houses.rival.caller, wanted, page(1, 9)).await;
    assert!(matches!(stranger, Err(ListPeersError::ChatNotFound)), "{stranger:?}");
}

/// Contacts are peers as long as they are contacts; participants stay in their rooms.
pub async fn contacts_are_peers(world: World) {
    let houses = Houses::of(world).await;
    let (world, helper, rival) = (&houses.world, &houses.helper, &houses.rival);
    world.connect((helper.caller, &helper.handle), (rival.caller, &rival.handle)).await;
    let mut listed = houses.peers(helper.caller).await;
    let friend = listed.pop().unwrap().peer;
    assert_eq!((friend.id, friend.source), (ParticipantId::Agent(rival.id), PeerSource::Contact));
    assert!(friend.is_contact && listed.iter().all(|listed| listed.peer.source == PeerSource::Registry));
    assert_eq!(names(&houses.peers(rival.caller).await), ["ben Example", "Globe", "Helper"]);
    assert!(
        !names(&houses.peers(houses.scout.caller).await).contains(&"Rival"),
        "a sibling's is not one's own"
    );
    let chat = world.chat(helper.caller, &[rival.id.into()]).await;
    let wanted = ListPeers { not_in_chat: Some(chat), ..ListPeers::default() };
    let left = world.peers.list(helper.caller, wanted, page(1, 9)).await.unwrap();
    assert!(!names(&left.rows).contains(&"Rival"));

    let contact = WhichContact::Id(rival.id.into());
    world.contacts.remove(helper.caller, contact).await.unwrap();
    assert_eq!(houses.peers(helper.caller).await, listed);
    assert_eq!(world.chats.roster(helper.caller, chat).await.unwrap().participants.len(), 2);
    let command = AddParticipantCommand { candidate: rival.id.into(), role: Role::Member };
    let fresh = world.chat(helper.caller, &[]).await;
    let refused = world.chats.add_participant(helper.caller, fresh, command).await;
    assert!(matches!(refused, Err(AddParticipantError::Refused(AddRefused::PeerNotFound))), "{refused:?}");
}

/// A listed agent can be found by all, but that makes it no one's peer.
pub async fn the_directory_is_for_all(world: World) {
    let houses = Houses::of(world).await;
    let listed = AgentChanges { listed_in_directory: Some(true), ..AgentChanges::default() };
    houses.world.accounts.update_agent(houses.ben.caller, houses.rival.id, listed).await.unwrap();
    for caller in [Caller::from(houses.ann.caller), houses.helper.caller.into(), houses.rival.caller.into()] {
        let found = houses.world.peers.directory(caller, None, page(1, 9)).await.unwrap();
        assert_eq!((names(&found.rows), found.total), (vec!["Rival"], Some(1)));
    }
    let peers = houses.peers(houses.helper.caller).await;
    assert!(!peers.iter().any(|listed| listed.peer.id.uuid() == houses.rival.id.uuid()));
    houses.world.accounts.delete_agent(houses.ben.caller, houses.rival.id, false).await.unwrap();
    let found = houses.world.peers.directory(houses.ann.caller, None, page(1, 9)).await.unwrap();
    assert_eq!((found.rows.len(), found.total), (0, Some(0)));
    let gone =
        houses.world.accounts.delete_agent(houses.ben.caller, AgentId::new(uuid::Uuid::nil()), true).await;
    assert!(gone.is_err());
}

/// Colleagues are peers of humans, and the agents that they share are peers of all.
pub async fn colleagues_and_what_they_share_are_peers(world: World) {
    let (ann, ben) = (world.colleague("ann", "Acme").await, world.colleague("ben", "acme").await);
    let helper = world.agent(&ann, "Helper").await;
    let (open, closed) = (world.agent(&ben, "Open").await, world.agent(&ben, "Closed").await);
    let outside = world.user("zoe").await;
    let shared = AgentChanges { shared_with_organization: Some(true), ..AgentChanges::default() };
    world.accounts.update_agent(ben.caller, open.id, shared.clone()).await.unwrap();
    let foreign = world.agent(&outside, "Foreign").await;
    world.accounts.update_agent(outside.caller, foreign.id, shared).await.unwrap();
    let listed = async |caller: Caller| {
        let rows = world.peers.list(caller, ListPeers::default(), page(1, 50)).await.unwrap().rows;
        rows.into_iter().map(|listed| listed.peer.name).collect::<Vec<_>>()
    };
    assert_eq!(listed(ann.caller.into()).await, ["ben Example", "Helper", "Open"]);
    assert_eq!(listed(helper.caller.into()).await, ["ann Example", "Open"]);
    assert_eq!(listed(outside.caller.into()).await, ["Foreign"]);
    let chat = world.chat(helper.caller, &[open.id.into()]).await;
    for stranger in [closed.id.into(), ben.id.into(), foreign.id.into()] {
        let command = AddParticipantCommand { candidate: stranger, role: Role::Member };
        let refused = world.chats.add_participant(helper.caller, chat, command).await;
        assert!(
            matches!(refused, Err(AddParticipantError::Refused(AddRefused::PeerNotFound))),
            "{refused:?}"
        );
    }
    world.add(helper.caller, chat, ann.id.into(), Role::Member).await;
    world.add(ann.caller, chat, ben.id.into(), Role::Member).await;
}
