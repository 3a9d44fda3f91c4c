//! Whose comings and goings are watched: the people of the rooms to whose people somebody listens.
//!
//! So a socket that opens or ends costs a look at these rooms alone, and nothing where nobody
//! listens.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use domain::chat::{Participant, SHOWN_PARTICIPANTS};
use domain::id::{ChatId, ParticipantId};
use tokio::sync::OnceCell;

/// Somebody who is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Person {
    pub(crate) id: ParticipantId,
    pub(crate) is_external: Option<bool>,
}

impl Person {
    pub(super) fn of(participant: &Participant) -> Self {
        Self { id: participant.id, is_external: participant.is_external }
    }

    /// Who runs here has no socket.
    fn has_sockets(self) -> bool {
        self.is_external != Some(false)
    }
}

/// Who comes and goes while the store is being asked.
enum Change {
    Came(Person),
    Left(ParticipantId),
    /// These are there and nobody else.
    Held(Vec<Person>),
}

#[derive(Default)]
struct Room {
    /// Lets one ask the store who is in the room, and the others wait.
    asking: Arc<OnceCell<()>>,
    /// Whether the store has told.
    known: bool,
    /// By id, and of a larger room not all: what lists of rooms show as well.
    people: Vec<Person>,
    /// What happened before that.
    changes: Vec<Change>,
}

#[derive(Default)]
pub(super) struct Watch {
    rooms: HashMap<ChatId, Room>,
    places: HashMap<ParticipantId, HashSet<ChatId>>,
}

impl Watch {
    /// Somebody listens to the people of a room to whom nobody did.
    pub(super) fn begin(&mut self, chat: ChatId) {
        self.rooms.insert(chat, Room::default());
    }

    /// Nobody listens to the room's people any more.
    pub(super) fn forget(&mut self, chat: ChatId) {
        for person in self.rooms.remove(&chat).map(|room| room.people).unwrap_or_default() {
            self.leave(chat, person.id);
        }
    }

    /// What is set once the store has told who is in the room; `None` where nobody listens.
    pub(super) fn asking(&self, chat: ChatId) -> Option<Arc<OnceCell<()>>> {
        self.rooms.get(&chat).map(|room| room.asking.clone())
    }

    /// The store has told who is in the room; it was asked under `asking`.
    pub(super) fn load(&mut self, chat: ChatId, asking: &Arc<OnceCell<()>>, people: Vec<Person>) {
        let Some(room) = self.rooms.get_mut(&chat).filter(|room| Arc::ptr_eq(&room.asking, asking)) else {
            return;
        };
        room.known = true;
        let changes = std::mem::take(&mut room.changes);
        self.replace(chat, people);
        for change in changes {
            match change {
                Change::Came(person) => self.add(chat, person),
                Change::Left(id) => self.remove(chat, id),
                Change::Held(people) => self.replace(chat, people),
            }
        }
    }

    /// Somebody came into a room.
    pub(super) fn came(&mut self, chat: ChatId, person: Person) {
        match self.rooms.get_mut(&chat) {
            Some(room) if !room.known => room.changes.push(Change::Came(person)),
            Some(_) => self.add(chat, person),
            None => {}
        }
    }

    /// Somebody left a room.
    pub(super) fn left(&mut self, chat: ChatId, id: ParticipantId) {
        match self.rooms.get_mut(&chat) {
            Some(room) if !room.known => room.changes.push(Change::Left(id)),
            Some(_) => self.remove(chat, id),
            None => {}
        }
    }

    /// Only these are in a room, as the store has told just now.
    pub(super) fn hold(&mut self, chat: ChatId, people: Vec<Person>) {
        match self.rooms.get_mut(&chat) {
            // What was before that is in it.
            Some(room) if !room.known => room.changes = vec![Change::Held(people)],
            Some(_) => self.replace(chat, people),
            None => {}
        }
    }

    /// The people of a room, by id.
    pub(super) fn people(&self, chat: ChatId) -> Vec<Person> {
        self.rooms.get(&chat).map(|room| room.people.clone()).unwrap_or_default()
    }

    /// The rooms in which somebody is watched.
    pub(super) fn rooms_of(&self, who: ParticipantId) -> Vec<ChatId> {
        self.places.get(&who).into_iter().flatten().copied().collect()
    }

    fn replace(&mut self, chat: ChatId, mut people: Vec<Person>) {
        let there = people.iter().map(|person| person.id).collect::<HashSet<_>>();
        for person in self.people(chat) {
            if !there.contains(&person.id) {
                self.remove(chat, person.id);
            }
        }
        people.sort_by_key(|person| person.id.uuid());
        for person in people {
            self.add(chat, person);
        }
    }

    fn add(&mut self, chat: ChatId, person: Person) {
        let Some(room) = self.rooms.get_mut(&chat).filter(|room| room.people.len() < SHOWN_PARTICIPANTS)
        else {
            return;
        };
        let place = room.people.binary_search_by_key(&person.id.uuid(), |other| other.id.uuid());
        let Err(place) = place else { return };
        room.people.insert(place, person);
        if person.has_sockets() {
            self.places.entry(person.id).or_default().insert(chat);
        }
    }

    fn remove(&mut self, chat: ChatId, id: ParticipantId) {
        if let Some(room) = self.rooms.get_mut(&chat) {
            room.people.retain(|person| person.id != id);
        }
        self.leave(chat, id);
    }

    fn leave(&mut self, chat: ChatId, id: ParticipantId) {
        if let Some(rooms) = self.places.get_mut(&id) {
            rooms.remove(&chat);
            if rooms.is_empty() {
                self.places.remove(&id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::id::{AgentId, UserId};
    use uuid::Uuid;

    const ROOM: ChatId = ChatId::new(Uuid::from_u128(1));

    fn person(number: u128) -> Person {
        Person { id: ParticipantId::Agent(AgentId::new(Uuid::from_u128(number))), is_external: Some(true) }
    }

    fn loaded(people: &[Person]) -> Watch {
        let mut watch = Watch::default();
        watch.begin(ROOM);
        let asking = watch.asking(ROOM).unwrap();
        watch.load(ROOM, &asking, people.to_vec());
        watch
    }

    #[test]
    fn nobody_is_watched_where_nobody_listens() {
        let mut watch = Watch::default();
        watch.came(ROOM, person(2));
        assert!(watch.asking(ROOM).is_none() && watch.rooms_of(person(2).id).is_empty());
        let mut watch = loaded(&[person(2)]);
        assert_eq!(watch.rooms_of(person(2).id), [ROOM]);
        watch.forget(ROOM);
        assert!(watch.rooms.is_empty() && watch.places.is_empty());
    }

    #[test]
    fn comings_and_goings_are_followed() {
        let mut watch = loaded(&[person(4), person(2)]);
        watch.came(ROOM, person(3));
        watch.came(ROOM, person(3));
        assert_eq!(watch.people(ROOM), [person(2), person(3), person(4)]);
        watch.left(ROOM, person(2).id);
        assert_eq!(watch.people(ROOM), [person(3), person(4)]);
        assert!(watch.rooms_of(person(2).id).is_empty());
    }

    /// What was published while the store was asked holds, whether it had seen it or not.
    #[test]
    fn changes_meanwhile_win() {
        for stored in [vec![person(2), person(4)], vec![person(3), person(4)]] {
            let mut watch = Watch::default();
            watch.begin(ROOM);
            let asking = watch.asking(ROOM).unwrap();
            watch.came(ROOM, person(3));
            watch.left(ROOM, person(2).id);
            assert!(watch.rooms_of(person(3).id).is_empty(), "not known yet");
            watch.load(ROOM, &asking, stored);
            assert_eq!(watch.people(ROOM), [person(3), person(4)]);
        }
    }

    /// Nobody listened for a moment, and what was asked before is stale.
    #[test]
    fn an_answer_that_comes_too_late_is_left() {
        let mut watch = Watch::default();
        watch.begin(ROOM);
        let stale = watch.asking(ROOM).unwrap();
        watch.forget(ROOM);
        watch.load(ROOM, &stale, vec![person(2)]);
        watch.begin(ROOM);
        watch.load(ROOM, &stale, vec![person(2)]);
        assert_eq!(watch.people(ROOM), []);
    }

    #[test]
    fn of_a_large_room_not_all_are_watched() {
        let many = (1..=150).rev().map(person).collect::<Vec<_>>();
        let mut watch = loaded(&many);
        assert_eq!(watch.people(ROOM).len(), SHOWN_PARTICIPANTS);
        assert!(watch.rooms_of(person(101).id).is_empty());
        watch.left(ROOM, person(1).id);
        watch.came(ROOM, person(1_000));
        assert_eq!(watch.rooms_of(person(1_000).id), [ROOM]);
    }

    #[test]
    fn who_runs_here_is_shown_and_not_watched() {
        let user = ParticipantId::User(UserId::new(Uuid::from_u128(9)));
        let (here, human) =
            (Person { is_external: Some(false), ..person(2) }, Person { id: user, is_external: None });
        let watch = loaded(&[here, human]);
        assert_eq!(watch.people(ROOM), [here, human]);
        assert!(watch.rooms_of(here.id).is_empty());
        assert_eq!(watch.rooms_of(user), [ROOM]);
    }
}
