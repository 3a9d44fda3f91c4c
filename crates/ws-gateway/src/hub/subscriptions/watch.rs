//! Watched chats: those with a subscription to the presence of their participants.
//!
//! A socket that opens or ends only affects these chats, and costs nothing without such
//! subscriptions.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use domain::chat::SHOWN_PARTICIPANTS;
use domain::id::{ChatId, ParticipantId};
use tokio::sync::OnceCell;

use crate::person::Person;

/// A change of the participants while the store is being read.
enum Change {
    Added(Person),
    Removed(ParticipantId),
    /// Exactly these are the participants.
    Replaced(Vec<Person>),
}

#[derive(Default)]
struct WatchedChat {
    /// Lets one subscriber read the participants from the store while the others wait.
    asking: Arc<OnceCell<()>>,
    /// Set once the participants were read.
    known: bool,
    /// The participants by id; for a large chat only as many as chat lists show.
    people: Vec<Person>,
    /// Changes since the read began.
    changes: Vec<Change>,
}

#[derive(Default)]
pub(super) struct Watch {
    chats: HashMap<ChatId, WatchedChat>,
    chats_by_person: HashMap<ParticipantId, HashSet<ChatId>>,
}

impl Watch {
    /// Begins to watch a chat: its first subscription to participants has begun.
    pub(super) fn begin(&mut self, chat: ChatId) {
        self.chats.insert(chat, WatchedChat::default());
    }

    /// Stops watching a chat after its last subscription to participants.
    pub(super) fn forget(&mut self, chat: ChatId) {
        for person in self.chats.remove(&chat).map(|watched| watched.people).unwrap_or_default() {
            self.leave(chat, person.id);
        }
    }

    /// The cell that is set once the participants of the chat were read; `None` if the chat is not
    /// watched.
    pub(super) fn asking(&self, chat: ChatId) -> Option<Arc<OnceCell<()>>> {
        self.chats.get(&chat).map(|watched| watched.asking.clone())
    }

    /// Applies the participants that were read under `asking`.
    pub(super) fn load(&mut self, chat: ChatId, asking: &Arc<OnceCell<()>>, people: Vec<Person>) {
        let Some(watched) = self.chats.get_mut(&chat).filter(|watched| Arc::ptr_eq(&watched.asking, asking))
        else {
            return;
        };
        watched.known = true;
        let changes = std::mem::take(&mut watched.changes);
        self.replace(chat, people);
        for change in changes {
            match change {
                Change::Added(person) => self.add(chat, person),
                Change::Removed(id) => self.remove(chat, id),
                Change::Replaced(people) => self.replace(chat, people),
            }
        }
    }

    /// Adds a participant to a watched chat.
    pub(super) fn came(&mut self, chat: ChatId, person: Person) {
        match self.chats.get_mut(&chat) {
            Some(watched) if !watched.known => watched.changes.push(Change::Added(person)),
            Some(_) => self.add(chat, person),
            None => {}
        }
    }

    /// Removes a participant from a watched chat.
    pub(super) fn left(&mut self, chat: ChatId, id: ParticipantId) {
        match self.chats.get_mut(&chat) {
            Some(watched) if !watched.known => watched.changes.push(Change::Removed(id)),
            Some(_) => self.remove(chat, id),
            None => {}
        }
    }

    /// Replaces the participants of a chat by those that were just read from the store.
    pub(super) fn hold(&mut self, chat: ChatId, people: Vec<Person>) {
        match self.chats.get_mut(&chat) {
            // The list includes all earlier changes.
            Some(watched) if !watched.known => watched.changes = vec![Change::Replaced(people)],
            Some(_) => self.replace(chat, people),
            None => {}
        }
    }

    /// The participants of a chat, by id.
    pub(super) fn people(&self, chat: ChatId) -> Vec<Person> {
        self.chats.get(&chat).map(|watched| watched.people.clone()).unwrap_or_default()
    }

    /// The watched chats in which `who` is a participant.
    pub(super) fn chats_of(&self, who: ParticipantId) -> Vec<ChatId> {
        self.chats_by_person.get(&who).into_iter().flatten().copied().collect()
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
        let Some(watched) =
            self.chats.get_mut(&chat).filter(|watched| watched.people.len() < SHOWN_PARTICIPANTS)
        else {
            return;
        };
        let found = watched.people.binary_search_by_key(&person.id.uuid(), |other| other.id.uuid());
        let Err(index) = found else { return };
        watched.people.insert(index, person);
        if person.has_sockets() {
            self.chats_by_person.entry(person.id).or_default().insert(chat);
        }
    }

    fn remove(&mut self, chat: ChatId, id: ParticipantId) {
        if let Some(watched) = self.chats.get_mut(&chat) {
            watched.people.retain(|person| person.id != id);
        }
        self.leave(chat, id);
    }

    fn leave(&mut self, chat: ChatId, id: ParticipantId) {
        if let Some(chats) = self.chats_by_person.get_mut(&id) {
            chats.remove(&chat);
            if chats.is_empty() {
                self.chats_by_person.remove(&id);
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
        assert!(watch.asking(ROOM).is_none() && watch.chats_of(person(2).id).is_empty());
        let mut watch = loaded(&[person(2)]);
        assert_eq!(watch.chats_of(person(2).id), [ROOM]);
        watch.forget(ROOM);
        assert!(watch.chats.is_empty() && watch.chats_by_person.is_empty());
    }

    #[test]
    fn comings_and_goings_are_followed() {
        let mut watch = loaded(&[person(4), person(2)]);
        watch.came(ROOM, person(3));
        watch.came(ROOM, person(3));
        assert_eq!(watch.people(ROOM), [person(2), person(3), person(4)]);
        watch.left(ROOM, person(2).id);
        assert_eq!(watch.people(ROOM), [person(3), person(4)]);
        assert!(watch.chats_of(person(2).id).is_empty());
    }

    /// Changes that were published during the read win, whether the store had seen them or not.
    #[test]
    fn changes_meanwhile_win() {
        for stored in [vec![person(2), person(4)], vec![person(3), person(4)]] {
            let mut watch = Watch::default();
            watch.begin(ROOM);
            let asking = watch.asking(ROOM).unwrap();
            watch.came(ROOM, person(3));
            watch.left(ROOM, person(2).id);
            assert!(watch.chats_of(person(3).id).is_empty(), "not known yet");
            watch.load(ROOM, &asking, stored);
            assert_eq!(watch.people(ROOM), [person(3), person(4)]);
        }
    }

    /// The chat was not watched for a moment, so the earlier read is stale.
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
        assert!(watch.chats_of(person(101).id).is_empty());
        watch.left(ROOM, person(1).id);
        watch.came(ROOM, person(1_000));
        assert_eq!(watch.chats_of(person(1_000).id), [ROOM]);
    }

    #[test]
    fn who_runs_here_is_shown_and_not_watched() {
        let user = ParticipantId::User(UserId::new(Uuid::from_u128(9)));
        let (here, human) =
            (Person { is_external: Some(false), ..person(2) }, Person { id: user, is_external: None });
        let watch = loaded(&[here, human]);
        assert_eq!(watch.people(ROOM), [here, human]);
        assert!(watch.chats_of(here.id).is_empty());
        assert_eq!(watch.chats_of(user), [ROOM]);
    }
}
