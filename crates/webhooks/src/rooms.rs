//! The rooms that a sender works on, and those that wait for it.
//!
//! Organizations take turns, and so do the owners of an organization, the agents of an owner, and the rooms of an agent, so
//! that nobody waits for the many rooms of others.

use std::collections::{HashMap, VecDeque};

use domain::id::{AgentId, OrganizationId, UserId};
use domain::webhook::{WebhookOwner, WebhookRoom};

/// The maximum number of requests of one agent that are in flight.
pub(crate) const MAX_IN_FLIGHT_PER_AGENT: usize = 8;

/// The maximum number of requests of all agents of one owner that are in flight.
pub(crate) const MAX_IN_FLIGHT_PER_OWNER: usize = 32;

/// The maximum number of requests of all owners of one organization that are in flight.
pub(crate) const MAX_IN_FLIGHT_PER_ORGANIZATION: usize = 128;

/// The maximum number of requests of the server that are in flight.
pub(crate) const MAX_IN_FLIGHT: usize = 512;

/// Rooms that have a limit together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Group {
    Server,
    Organization(OrganizationId),
    Owner(UserId),
    Agent(AgentId),
}

impl Group {
    /// Those of a room, each within the one before it.
    const fn of(room: WebhookRoom, owner: WebhookOwner) -> [Self; 4] {
        let WebhookOwner { user, organization } = owner;
        [Self::Server, Self::Organization(organization), Self::Owner(user), Self::Agent(room.agent)]
    }

    const fn limit(self) -> usize {
        match self {
            Self::Server => MAX_IN_FLIGHT,
            Self::Organization(_) => MAX_IN_FLIGHT_PER_ORGANIZATION,
            Self::Owner(_) => MAX_IN_FLIGHT_PER_OWNER,
            Self::Agent(_) => MAX_IN_FLIGHT_PER_AGENT,
        }
    }
}

/// What waits in a group.
#[derive(Clone, Copy)]
enum Turn {
    Of(Group),
    Room(WebhookRoom),
}

/// A room that is worked on.
struct Busy {
    owner: WebhookOwner,
    /// Set if something has happened there meanwhile.
    has_news: bool,
}

/// The rooms.
#[derive(Default)]
pub(crate) struct Rooms {
    busy: HashMap<WebhookRoom, Busy>,
    /// The number of busy rooms of each group.
    busy_in: HashMap<Group, usize>,
    waiting: HashMap<WebhookRoom, WebhookOwner>,
    /// What waits in each group, in turn.
    turns: HashMap<Group, VecDeque<Turn>>,
}

impl Rooms {
    /// Adds a room of an agent of `owner` in which something may be due.
    pub(crate) fn add(&mut self, room: WebhookRoom, owner: WebhookOwner) {
        if let Some(busy) = self.busy.get_mut(&room) {
            busy.has_news = true;
            return;
        }
        if self.waiting.contains_key(&room) {
            return;
        }
        self.waiting.insert(room, owner);
        let mut turn = Turn::Room(room);
        for group in Group::of(room, owner).into_iter().rev() {
            let turns = self.turns.entry(group).or_default();
            turns.push_back(turn);
            if turns.len() > 1 {
                return;
            }
            turn = Turn::Of(group);
        }
    }

    /// The next room to work on, within the limits.
    pub(crate) fn next(&mut self) -> Option<WebhookRoom> {
        let room = self.next_of(Group::Server)?;
        let owner = self.waiting.remove(&room)?;
        for group in Group::of(room, owner) {
            *self.busy_in.entry(group).or_default() += 1;
        }
        self.busy.insert(room, Busy { owner, has_news: false });
        Some(room)
    }

    /// Takes a room of a group that is below its limit.
    fn next_of(&mut self, group: Group) -> Option<WebhookRoom> {
        if self.busy_in.get(&group).is_some_and(|busy| *busy >= group.limit()) {
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
    pub(crate) fn done(&mut self, room: WebhookRoom, has_more: bool) {
        let Some(Busy { owner, has_news }) = self.busy.remove(&room) else { return };
        for group in Group::of(room, owner) {
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
        std::iter::from_fn(|| rooms.next()).collect()
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
        assert_eq!(rooms.next(), Some(room(1, 8)));
        assert_eq!(rooms.next(), None);
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
        let next = [rooms.next(), rooms.next()].map(|room| room.map(|room| room.agent));
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
        let next = [rooms.next(), rooms.next()].map(|room| room.map(|room| room.agent));
        assert!(next.contains(&Some(room(2_000, 0).agent)), "organizations take turns: {next:?}");
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
        assert_eq!((rooms.next(), rooms.next()), (Some(room(1, 1)), None));
        add(&mut rooms);
        assert_eq!(rooms.next(), None, "one at a time in a room");
        rooms.done(room(1, 1), false);
        assert_eq!(rooms.next(), Some(room(1, 1)));
        rooms.done(room(1, 1), true);
        add(&mut rooms);
        assert_eq!((rooms.next(), rooms.next()), (Some(room(1, 1)), None));
        rooms.done(room(1, 1), false);
        assert_eq!(rooms.next(), None);
    }
}
