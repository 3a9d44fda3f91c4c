//! Looking again at who may listen to a room.
//!
//! A removal that this process has made ends stays by its event. Of one that another process has made the log of
//! changes tells that there was one, and no more, and what another node tells may be old; so whoever listens to that
//! room is held against the store once more. For that one read is enough: one of the listeners sees the room, and all
//! that see it see the same.

use std::collections::HashSet;

use domain::chat::{ChatService, Roster};
use domain::id::{AgentId, ChatId, ParticipantId};
use domain::store::StoreError;

use super::stay::Change;
use super::{Hub, Listener, Listeners, Person};
use crate::inbox::{Ticket, Told};
use crate::topic::Topic;

/// Stays that have begun before the store is asked; what begins later has asked it later.
type Begun = HashSet<(Topic, Ticket)>;

impl Hub {
    /// Somebody is no longer in a room, or new, or it is gone: ends the stays of all who may not listen to it any more, and
    /// finds out through whom the others do.
    ///
    /// # Errors
    /// [`StoreError`] when the store did not tell who is in the room; then whoever listened goes on.
    pub async fn recheck(&self, chat: ChatId, chats: &ChatService) -> Result<(), StoreError> {
        let (begun, mut people) = self.stays_in(chat);
        while let Some(who) = people.pop() {
            if let Some(roster) = chats.roster_seen_by(who, chat).await? {
                self.hold_against(&roster, &begun);
                return Ok(());
            }
            // Who does not see the room has no business there, whoever else has.
            let gone = |listener: &mut Listener, topic| {
                listener.who == who && begun.contains(&(topic, listener.ticket))
            };
            self.end_on(chat, gone);
        }
        Ok(())
    }

    /// An agent is no more: whoever listened to rooms only through it does so no longer.
    pub(super) fn unobserve(&self, agent: AgentId) {
        for index in 0..self.shards.len() {
            let mut shard = self.shard_at(index);
            let through = |listeners: &Listeners| listeners.values().any(|one| one.stay.rests_on(agent));
            let topics = shard.iter().filter(|(_, listeners)| through(listeners));
            let topics = topics.map(|(topic, _)| *topic).collect::<Vec<_>>();
            for topic in topics {
                let Some(listeners) = shard.get_mut(&topic) else { continue };
                listeners.retain(|listener| {
                    listener.stay.follow(Change::Left(agent));
                    let stays = !listener.stay.is_over();
                    if !stays {
                        listener.inbox.order(Told::End { topic, ticket: listener.ticket });
                    }
                    stays
                });
                self.vacate(&mut shard, topic);
            }
        }
    }

    /// Who listens to a room, and the stays of theirs.
    fn stays_in(&self, chat: ChatId) -> (Begun, Vec<ParticipantId>) {
        let (mut begun, mut people) = (Begun::new(), HashSet::new());
        for topic in Topic::of_room(chat) {
            let shard = self.shard(topic);
            for listener in shard.get(&topic).into_iter().flat_map(Listeners::values) {
                begun.insert((topic, listener.ticket));
                people.insert(listener.who);
            }
        }
        (begun, people.into_iter().collect())
    }

    fn hold_against(&self, roster: &Roster, begun: &Begun) {
        self.end_on(roster.chat, |listener, topic| {
            begun.contains(&(topic, listener.ticket)) && !listener.stay.holds(listener.who, roster)
        });
        self.watch().hold(roster.chat, roster.participants.iter().map(Person::of).collect());
    }
}

#[cfg(test)]
mod tests;
