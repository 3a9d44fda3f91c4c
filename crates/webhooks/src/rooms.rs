//! The rooms that a sender works on, and those that wait for it.
//!
//! Organizations take turns, and so do the owners of an organization, the agents of an owner, and the rooms of an agent, so
//! that nobody waits for the many rooms of others. Configurations of push notifications take turns in the same way.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use domain::id::{AgentId, NotificationChannelId, OrganizationId, PushConfigId, UserId};
use domain::webhook::{WebhookOwner, WebhookRoom};

/// The maximum number of requests of one agent that are in flight.
pub(crate) const MAX_IN_FLIGHT_PER_AGENT: usize = 8;

/// The maximum number of requests of all agents of one owner that are in flight.
pub(crate) const MAX_IN_FLIGHT_PER_OWNER: usize = 32;

/// The maximum number of configurations of push notifications, or of notification channels, of one user that are worked on.
const MAX_CONFIGS_PER_OWNER: usize = 4;

/// The maximum number of requests of all owners of one organization that are in flight.
pub(crate) const MAX_IN_FLIGHT_PER_ORGANIZATION: usize = 128;

/// The maximum number of requests of the server that are in flight.
pub(crate) const MAX_IN_FLIGHT: usize = 512;

/// Rooms that have a limit together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Group {
    /// All of the server.
    Server,
    /// Those of an organization.
    Organization(OrganizationId),
    /// Those of a user and of all agents of the user.
    Owner(UserId),
    /// Those of an agent.
    Agent(AgentId),
}

/// What a sender works on, one request at a time.
pub trait Place: Copy + Eq + Hash {
    /// The maximum number of these of one owner.
    const MAX_PER_OWNER: usize;

    /// Its groups, each within the one before it.
    fn groups(self, owner: WebhookOwner) -> Vec<Group>;
}

impl Place for WebhookRoom {
    const MAX_PER_OWNER: usize = MAX_IN_FLIGHT_PER_OWNER;

    fn groups(self, owner: WebhookOwner) -> Vec<Group> {
        let WebhookOwner { user, organization } = owner;
        vec![Group::Server, Group::Organization(organization), Group::Owner(user), Group::Agent(self.agent)]
    }
}

/// What is sent in order, one request at a time: the messages of a room, or the events of an organization.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Line {
    /// A room.
    Room(WebhookRoom),
    /// An organization.
    Events(OrganizationId),
}

impl Place for Line {
    const MAX_PER_OWNER: usize = MAX_IN_FLIGHT_PER_OWNER;

    fn groups(self, owner: WebhookOwner) -> Vec<Group> {
        match self {
            Self::Room(room) => room.groups(owner),
            Self::Events(organization) => vec![Group::Server, Group::Organization(organization)],
        }
    }
}

impl Place for PushConfigId {
    const MAX_PER_OWNER: usize = MAX_CONFIGS_PER_OWNER;

    fn groups(self, owner: WebhookOwner) -> Vec<Group> {
        let WebhookOwner { user, organization } = owner;
        vec![Group::Server, Group::Organization(organization), Group::Owner(user)]
    }
}

impl Place for NotificationChannelId {
    const MAX_PER_OWNER: usize = MAX_CONFIGS_PER_OWNER;

    fn groups(self, owner: WebhookOwner) -> Vec<Group> {
        let WebhookOwner { user, organization } = owner;
        vec![Group::Server, Group::Organization(organization), Group::Owner(user)]
    }
}

impl Group {
    const fn limit<P: Place>(self) -> usize {
        match self {
            Self::Server => MAX_IN_FLIGHT,
            Self::Organization(_) => MAX_IN_FLIGHT_PER_ORGANIZATION,
            Self::Owner(_) => P::MAX_PER_OWNER,
            Self::Agent(_) => MAX_IN_FLIGHT_PER_AGENT,
        }
    }
}

/// What waits in a group.
#[derive(Clone, Copy)]
enum Turn<P> {
    Of(Group),
    Room(P),
}

/// A room that is worked on.
struct Busy {
    owner: WebhookOwner,
    /// Set if something has happened there meanwhile.
    has_news: bool,
}

/// The rooms, or other places.
pub struct Rooms<P = WebhookRoom> {
    busy: HashMap<P, Busy>,
    /// The number of busy rooms of each group.
    busy_in: HashMap<Group, usize>,
    waiting: HashMap<P, WebhookOwner>,
    /// What waits in each group, in turn.
    turns: HashMap<Group, VecDeque<Turn<P>>>,
}

impl<P> Default for Rooms<P> {
    fn default() -> Self {
        Self { busy: HashMap::new(), busy_in: HashMap::new(), waiting: HashMap::new(), turns: HashMap::new() }
    }
}

impl<P: Place> Rooms<P> {
    /// Adds a room of `owner` in which something may be due.
    pub fn add(&mut self, room: P, owner: WebhookOwner) {
        if let Some(busy) = self.busy.get_mut(&room) {
            busy.has_news = true;
            return;
        }
        if self.waiting.contains_key(&room) {
            return;
        }
        self.waiting.insert(room, owner);
        let mut turn = Turn::Room(room);
        for group in room.groups(owner).into_iter().rev() {
            let turns = self.turns.entry(group).or_default();
            turns.push_back(turn);
            if turns.len() > 1 {
                return;
            }
            turn = Turn::Of(group);
        }
    }

    /// The next room to work on, within the limits.
    pub fn begin_next(&mut self) -> Option<P> {
        let room = self.next_of(Group::Server)?;
        let owner = self.waiting.remove(&room)?;
        for group in room.groups(owner) {
            *self.busy_in.entry(group).or_default() += 1;
        }
        self.busy.insert(room, Busy { owner, has_news: false });
        Some(room)
    }

    /// Takes a room of a group that is below its limit.
    fn next_of(&mut self, group: Group) -> Option<P> {
        if self.busy_in.get(&group).is_some_and(|busy| *busy >= group.limit::<P>()) {
            return None;
        }
        for _ in 0..self.turns.get(&group)?.len() {
            let turn = self.turns.get_mut(&group)?.pop_front()?;
            let room = match turn {
                Turn::Room(room) => Some(room),
                Turn::Of(part) => {
                    let room = self.next_of(part);
                    if self.turns.contains_key(&part) {
                        self.turns.get_mut(&group)?.push_back(turn);
                    }
                    room
                }
            };
            if self.turns.get(&group).is_some_and(VecDeque::is_empty) {
                self.turns.remove(&group);
            }
            if room.is_some() {
                return room;
            }
        }
        None
    }

    /// Ends the work on a room, which waits for another turn if more may be due.
    pub fn done(&mut self, room: P, has_more: bool) {
        let Some(Busy { owner, has_news }) = self.busy.remove(&room) else { return };
        for group in room.groups(owner) {
            if let Some(busy) = self.busy_in.get_mut(&group) {
                *busy -= 1;
                if *busy == 0 {
                    self.busy_in.remove(&group);
                }
            }
        }
        if has_more || has_news {
            self.add(room, owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::id::ChatId;
    use uuid::Uuid;

    use super::*;

    fn room(agent: u128, chat: u128) -> WebhookRoom {
        WebhookRoom { agent: AgentId::new(Uuid::from_u128(agent)), chat: ChatId::new(Uuid::from_u128(chat)) }
    }

    /// An owner in an organization of its own.
    fn owner(number: u128) -> WebhookOwner {
        member(number, number)
    }

    fn member(number: u128, organization: u128) -> WebhookOwner {
        let organization = OrganizationId::new(Uuid::from_u128(organization));
        WebhookOwner { user: UserId::new(Uuid::from_u128(number)), organization }
    }

    fn begin(rooms: &mut Rooms) -> Vec<WebhookRoom> {
        std::iter::from_fn(|| rooms.begin_next()).collect()
    }

    #[test]
    fn an_agent_with_many_rooms_leaves_places_to_others() {
        let mut rooms = Rooms::default();
        (0..100).for_each(|chat| rooms.add(room(1, chat), owner(1)));
        (0..3).for_each(|chat| rooms.add(room(2, chat), owner(1)));
        let begun = begin(&mut rooms);
        assert_eq!(begun.iter().filter(|one| one.agent == room(1, 0).agent).count(), MAX_IN_FLIGHT_PER_AGENT);
        assert_eq!(begun.len(), MAX_IN_FLIGHT_PER_AGENT + 3);
        rooms.done(room(1, 0), false);
        assert_eq!(rooms.begin_next(), Some(room(1, 8)));
        assert_eq!(rooms.begin_next(), None);
    }

    #[test]
    fn an_owner_with_many_agents_leaves_places_to_others() {
        let mut rooms = Rooms::default();
        for agent in 0..40 {
            (0..20).for_each(|chat| rooms.add(room(agent, chat), owner(1)));
        }
        let begun = begin(&mut rooms);
        assert_eq!(begun.len(), MAX_IN_FLIGHT_PER_OWNER);
        assert!(begun[..4].windows(2).all(|pair| pair[0].agent != pair[1].agent), "agents take turns");
        (0..3).for_each(|chat| rooms.add(room(100, chat), owner(2)));
        assert_eq!(begin(&mut rooms).len(), 3, "at once");
        (0..10).for_each(|agent| rooms.add(room(200 + agent, 0), owner(3)));
        rooms.done(begun[0], false);
        let next = [rooms.begin_next(), rooms.begin_next()].map(|room| room.map(|room| room.agent));
        assert!(next.contains(&Some(room(200, 0).agent)), "owners take turns: {next:?}");
    }

    #[test]
    fn an_organization_with_many_owners_leaves_places_to_others() {
        let mut rooms = Rooms::default();
        for agent in 0..400 {
            (0..2).for_each(|chat| rooms.add(room(agent, chat), member(agent / 10, 1)));
        }
        let begun = begin(&mut rooms);
        assert_eq!(begun.len(), MAX_IN_FLIGHT_PER_ORGANIZATION);
        (0..3).for_each(|chat| rooms.add(room(1_000, chat), member(1_000, 2)));
        assert_eq!(begin(&mut rooms).len(), 3, "at once");
        (0..10).for_each(|agent| rooms.add(room(2_000 + agent, 0), member(2_000 + agent, 3)));
        rooms.done(begun[0], false);
        let next = [rooms.begin_next(), rooms.begin_next()].map(|room| room.map(|room| room.agent));
        assert!(next.contains(&Some(room(2_000, 0).agent)), "organizations take turns: {next:?}");
    }

    #[test]
    fn few_configurations_of_a_user_are_worked_on() {
        let mut configs = Rooms::default();
        (0..10).for_each(|id| configs.add(PushConfigId::new(Uuid::from_u128(id)), owner(1)));
        (10..12).for_each(|id| configs.add(PushConfigId::new(Uuid::from_u128(id)), owner(2)));
        assert_eq!(std::iter::from_fn(|| configs.begin_next()).count(), MAX_CONFIGS_PER_OWNER + 2);
    }

    #[test]
    fn a_server_has_a_limit() {
        let mut rooms = Rooms::default();
        (0..1_000).for_each(|agent| rooms.add(room(agent, 0), owner(agent)));
        assert_eq!(begin(&mut rooms).len(), MAX_IN_FLIGHT);
    }

    #[test]
    fn news_of_a_busy_room_are_not_lost() {
        let mut rooms = Rooms::default();
        let add = |rooms: &mut Rooms| rooms.add(room(1, 1), owner(1));
        add(&mut rooms);
        add(&mut rooms);
        assert_eq!((rooms.begin_next(), rooms.begin_next()), (Some(room(1, 1)), None));
        add(&mut rooms);
        assert_eq!(rooms.begin_next(), None, "one at a time in a room");
        rooms.done(room(1, 1), false);
        assert_eq!(rooms.begin_next(), Some(room(1, 1)));
        rooms.done(room(1, 1), true);
        add(&mut rooms);
        assert_eq!((rooms.begin_next(), rooms.begin_next()), (Some(room(1, 1)), None));
        rooms.done(room(1, 1), false);
        assert_eq!(rooms.begin_next(), None);
    }
}
