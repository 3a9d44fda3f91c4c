//! Revalidation: compares the subscriptions to a chat with its participants in the store.
//!
//! A removal by this process ends subscriptions through its event. Of a removal by another process,
//! the change log only says that there was one, and events of other nodes may be outdated. The
//! subscriptions to such a chat are therefore compared with the store.
//!
//! One chat is revalidated at a time. If a change of it becomes known during the read, the result
//! may be outdated, and the store is read again.

use std::collections::{HashMap, HashSet};

use domain::chat::{ChatService, Roster};
use domain::id::{AgentId, ChatId, ParticipantId, UserId};
use domain::store::StoreError;

use super::basis::BasisChange;
use super::{Hub, Listeners, Person};
use crate::inbox::{SocketCommand, Ticket};
use crate::topic::Topic;

/// The maximum number of reads for a chat that changes during each of them.
const TRIES: usize = 5;

/// Subscriptions that began before the read; later ones have read the store later.
type Subscriptions = HashSet<(Topic, Ticket)>;

/// The chat that is being revalidated, with a flag for a change since the read began.
#[derive(Default)]
pub(super) struct Revalidation {
    room: Option<ChatId>,
    has_changed: bool,
}

/// The participants of a chat, indexed for lookups.
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

    /// Returns whether `who` is a participant.
    pub(super) fn holds(&self, who: ParticipantId) -> bool {
        self.people.contains(&who)
    }

    /// The agents of `who` that are participants.
    pub(super) fn agents_of(&self, who: ParticipantId) -> Vec<AgentId> {
        who.user().and_then(|user| self.agents.get(&user)).cloned().unwrap_or_default()
    }
}

impl Hub {
    /// Ends the subscriptions to a chat that have lost their access, and updates the access basis of the others.
    ///
    /// # Errors
    /// [`StoreError`] if the participants could not be read; all subscriptions go on then.
    pub async fn revalidate(&self, chat: ChatId, chats: &ChatService) -> Result<(), StoreError> {
        let _one_at_a_time = self.revalidating.lock().await;
        for attempt in 1..=TRIES {
            *self.revalidation() = Revalidation { room: Some(chat), has_changed: false };
            let begun = self.subscriptions_in(chat);
            if begun.is_empty() {
                break;
            }
            let roster = chats.everybody(chat).await?;
            let revalidation = self.revalidation();
            if !revalidation.has_changed || attempt == TRIES {
                // The lock keeps changes out until the result is applied.
                match roster {
                    Some(roster) => self.apply_roster(&roster, &begun),
                    None => self.end_on(chat, |listener, topic| begun.contains(&(topic, listener.ticket))),
                }
                break;
            }
        }
        *self.revalidation() = Revalidation::default();
        Ok(())
    }

    /// Must be called before a change of the participants of a chat is applied; without a chat, the
    /// change concerns many.
    pub(super) fn note_change(&self, of: Option<ChatId>) {
        let mut revalidation = self.revalidation();
        if of.is_none() || revalidation.room == of {
            revalidation.has_changed = true;
        }
    }

    /// Ends the subscriptions whose only basis was this agent, which was deleted.
    pub(super) fn end_observers(&self, agent: AgentId) {
        self.note_change(None);
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
                        listener.inbox.order(SocketCommand::End { topic, ticket: listener.ticket });
                    }
                    stays
                });
                self.vacate(&mut shard, topic);
            }
        }
    }

    /// The subscriptions to a chat.
    fn subscriptions_in(&self, chat: ChatId) -> Subscriptions {
        let mut begun = Subscriptions::new();
        for topic in Topic::of_room(chat) {
            let shard = self.shard(topic);
            let listeners = shard.get(&topic).into_iter().flat_map(Listeners::values);
            begun.extend(listeners.map(|listener| (topic, listener.ticket)));
        }
        begun
    }

    fn apply_roster(&self, roster: &Roster, begun: &Subscriptions) {
        let present = Present::of(roster);
        self.end_on(roster.chat, |listener, topic| {
            begun.contains(&(topic, listener.ticket)) && !listener.basis.holds(listener.who, &present)
        });
        self.watch().hold(roster.chat, roster.participants.iter().map(Person::of).collect());
    }
}

#[cfg(test)]
mod tests;
