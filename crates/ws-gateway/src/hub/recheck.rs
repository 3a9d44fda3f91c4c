//! Looking again at who may listen to a room.
//!
//! A removal that this process has made ends stays by its event. Of one that another process has made the log of
//! changes tells that there was one, and no more, and what another node tells may be old; so whoever listens to that
//! room is held against the store once more.
//!
//! One room at a time is looked at. What becomes known of it while the store is being asked may be newer than the answer,
//! so then it is asked again.

use std::collections::{HashMap, HashSet};

use domain::chat::{ChatService, Roster};
use domain::id::{AgentId, ChatId, ParticipantId, UserId};
use domain::store::StoreError;

use super::basis::BasisChange;
use super::{Hub, Listeners, Person};
use crate::inbox::{Ticket, Told};
use crate::topic::Topic;

/// How often the store is asked about a room in which somebody comes or goes each time.
const TRIES: usize = 5;

/// Stays that have begun before the store is asked; what begins later has asked it later.
type Begun = HashSet<(Topic, Ticket)>;

/// The room that is being looked at, and whether something has become known of it since the store was asked.
#[derive(Default)]
pub(super) struct Looked {
    room: Option<ChatId>,
    has_changed: bool,
}

/// Who is in a room, to be asked for many.
pub(super) struct Present {
    people: HashSet<ParticipantId>,
    agents: HashMap<UserId, Vec<AgentId>>,
}

impl Present {
    fn of(roster: &Roster) -> Self {
        let mut agents = HashMap::<_, Vec<_>>::new();
        for participant in &roster.participants {
            if let (Some(owner), Some(agent)) = (participant.owner, participant.id.agent()) {
                agents.entry(owner).or_default().push(agent);
            }
        }
        Self { people: roster.participants.iter().map(|participant| participant.id).collect(), agents }
    }

    /// Whether somebody takes part themselves.
    pub(super) fn holds(&self, who: ParticipantId) -> bool {
        self.people.contains(&who)
    }

    /// The agents of somebody that take part.
    pub(super) fn agents_of(&self, who: ParticipantId) -> Vec<AgentId> {
        who.user().and_then(|user| self.agents.get(&user)).cloned().unwrap_or_default()
    }
}

impl Hub {
    /// Somebody is no longer in a room, or new, or it is gone: ends the stays of all who may not listen to it any more,
    /// and finds out through whom the others do.
    ///
    /// # Errors
    /// [`StoreError`] when the store did not tell who is in the room; then whoever listened goes on.
    pub async fn recheck(&self, chat: ChatId, chats: &ChatService) -> Result<(), StoreError> {
        let _one_at_a_time = self.rechecking.lock().await;
        for attempt in 1..=TRIES {
            *self.looked() = Looked { room: Some(chat), has_changed: false };
            let begun = self.stays_in(chat);
            if begun.is_empty() {
                break;
            }
            let roster = chats.everybody(chat).await?;
            let looked = self.looked();
            if !looked.has_changed || attempt == TRIES {
                // Nothing becomes known before it is carried out.
                match roster {
                    Some(roster) => self.hold_against(&roster, &begun),
                    None => self.end_on(chat, |listener, topic| begun.contains(&(topic, listener.ticket))),
                }
                break;
            }
        }
        *self.looked() = Looked::default();
        Ok(())
    }

    /// Something becomes known of who is in a room, or, without one, in which rooms somebody is no more. To be called
    /// before it is followed.
    pub(super) fn becomes_known(&self, of: Option<ChatId>) {
        let mut looked = self.looked();
        if of.is_none() || looked.room == of {
            looked.has_changed = true;
        }
    }

    /// An agent is no more: whoever listened to rooms only through it does so no longer.
    pub(super) fn unobserve(&self, agent: AgentId) {
        self.becomes_known(None);
        for index in 0..self.shards.len() {
            let mut shard = self.shard_at(index);
            let through = |listeners: &Listeners| listeners.values().any(|one| one.basis.rests_on(agent));
            let topics = shard.iter().filter(|(_, listeners)| through(listeners));
            let topics = topics.map(|(topic, _)| *topic).collect::<Vec<_>>();
            for topic in topics {
                let Some(listeners) = shard.get_mut(&topic) else { continue };
                listeners.retain(|listener| {
                    listener.basis.follow(BasisChange::Left(agent));
                    let stays = !listener.basis.is_over();
                    if !stays {
                        listener.inbox.order(Told::End { topic, ticket: listener.ticket });
                    }
                    stays
                });
                self.vacate(&mut shard, topic);
            }
        }
    }

    /// The stays of those who listen to a room.
    fn stays_in(&self, chat: ChatId) -> Begun {
        let mut begun = Begun::new();
        for topic in Topic::of_room(chat) {
            let shard = self.shard(topic);
            let listeners = shard.get(&topic).into_iter().flat_map(Listeners::values);
            begun.extend(listeners.map(|listener| (topic, listener.ticket)));
        }
        begun
    }

    fn hold_against(&self, roster: &Roster, begun: &Begun) {
        let present = Present::of(roster);
        self.end_on(roster.chat, |listener, topic| {
            begun.contains(&(topic, listener.ticket)) && !listener.basis.holds(listener.who, &present)
        });
        self.watch().hold(roster.chat, roster.participants.iter().map(Person::of).collect());
    }
}

#[cfg(test)]
mod tests;
