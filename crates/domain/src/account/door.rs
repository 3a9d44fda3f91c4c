//! Doors: the ways by which an agent and the server reach each other, and the last call and failure of each.
//!
//! A request only notes its door here; batches are written with the last uses of keys. A call is not noted again for a
//! minute, unless one has failed since, so that a busy agent costs one write per minute.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::disconnect::{Connection, EndReason, LastDisconnect};
use super::key_uses::{USE_RESOLUTION, last_of};
use super::service::AccountService;
use crate::id::AgentId;
use crate::store::StoreError;
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// A way by which an agent and the server reach each other.
    #[derive(PartialOrd, Ord)]
    Door {
        /// The agent calls the REST interface.
        Rest = "rest",
        /// The agent connects a socket.
        Socket = "socket",
        /// The agent calls MCP.
        Mcp = "mcp",
        /// The server calls the agent's webhook.
        Webhook = "webhook",
        /// Others call the agent over A2A.
        A2a = "a2a",
    }
}

/// The code of the failure if an agent uses a key that was revoked.
pub const KEY_REVOKED: &str = "key_revoked";

/// The code of the failure if an agent uses a key that has expired.
pub const KEY_EXPIRED: &str = "key_expired";

/// The reasons for which a socket ends without a failure.
const INTENDED: [EndReason; 2] = [EndReason::ClientClosed, EndReason::ServerClosed];

/// A failure at a door.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DoorFailure {
    /// The time.
    pub at: Timestamp,
    /// What went wrong, as a word.
    pub code: Cow<'static, str>,
    /// The failed request, or the error of a webhook; without contents.
    pub detail: Option<String>,
}

/// The last use of a door of an agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DoorUse {
    /// The agent.
    pub agent: AgentId,
    /// The door.
    pub door: Door,
    /// The last call that did not fail; for a socket, the start of the last connection.
    pub called_at: Option<Timestamp>,
    /// The last failure.
    pub failure: Option<DoorFailure>,
}

impl DoorUse {
    /// The words for the ends of sockets that are failures.
    pub fn failed_ends() -> impl Iterator<Item = &'static str> {
        let failed = EndReason::ALL.into_iter().filter(|reason| !INTENDED.contains(reason));
        failed.map(EndReason::as_str)
    }

    /// The use of a socket whose end was a failure.
    pub fn of_connection(agent: AgentId, connection: Connection) -> Self {
        let LastDisconnect { at, reason } = connection.end;
        let failure = DoorFailure { at, code: reason.as_str().into(), detail: None };
        Self { agent, door: Door::Socket, called_at: connection.began_at, failure: Some(failure) }
    }

    /// Adds another use of the same door; later times win.
    pub fn add(&mut self, other: Self) {
        self.called_at = self.called_at.max(other.called_at);
        let at = |failure: &Option<DoorFailure>| failure.as_ref().map(|failure| failure.at);
        if at(&other.failure) > at(&self.failure) {
            self.failure = other.failure;
        }
    }
}

/// The number of locks, so that requests seldom wait for each other.
const SHARDS: usize = 16;

/// The uses of doors that are to be written, and which calls are not noted.
#[derive(Default)]
pub(super) struct DoorNotes([Mutex<Shard>; SHARDS]);

type Shard = HashMap<(AgentId, Door), Note>;

/// What is known about a door of an agent.
#[derive(Debug)]
struct Note {
    /// Calls before this time are not noted.
    silent_until: Timestamp,
    unwritten: Option<DoorUse>,
}

impl DoorNotes {
    /// Notes a call, unless one was noted within the last minute. Connecting is rare, and always noted.
    pub(super) fn call(&self, agent: AgentId, door: Door, now: Timestamp) {
        let mut shard = self.shard(agent);
        if shard.get(&(agent, door)).is_none_or(|note| now >= note.silent_until) {
            let silence = if door == Door::Socket { Duration::ZERO } else { USE_RESOLUTION };
            put(&mut shard, DoorUse { agent, door, called_at: Some(now), failure: None }, now.plus(silence));
        }
    }

    /// Notes a use; the next call is noted too.
    fn put(&self, used: DoorUse) {
        put(&mut self.shard(used.agent), used, Timestamp::from_micros(0));
    }

    /// Takes what is to be written, and drops expired entries.
    pub(super) fn take(&self, now: Timestamp) -> Vec<DoorUse> {
        let mut taken = Vec::new();
        for shard in &self.0 {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            taken.extend(shard.values_mut().filter_map(|note| note.unwritten.take()));
            shard.retain(|_, note| now < note.silent_until);
        }
        taken
    }

    fn shard(&self, agent: AgentId) -> MutexGuard<'_, Shard> {
        // The end of an id is random.
        let end = agent.uuid().as_bytes()[15];
        self.0[usize::from(end) % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn put(shard: &mut Shard, used: DoorUse, silent_until: Timestamp) {
    let note = shard.entry((used.agent, used.door)).or_insert(Note { silent_until, unwritten: None });
    note.silent_until = silent_until;
    match &mut note.unwritten {
        Some(unwritten) => unwritten.add(used),
        slot @ None => *slot = Some(used),
    }
}

impl AccountService {
    /// Notes a call at a door of an agent that did not fail.
    pub fn note_call(&self, agent: AgentId, door: Door) {
        self.doors.call(agent, door, self.clock.now());
    }

    /// Notes a failure at a door of an agent. `detail` contains no contents.
    pub fn note_failure(
        &self,
        agent: AgentId,
        door: Door,
        code: impl Into<Cow<'static, str>>,
        detail: Option<String>,
    ) {
        let at = self.clock.now();
        let failure = DoorFailure { at, code: code.into(), detail };
        self.doors.put(DoorUse { agent, door, called_at: None, failure: Some(failure) });
    }

    /// Writes the uses of doors since the last call.
    pub(super) async fn write_doors(&self) -> Result<(), StoreError> {
        let mut uses = self.doors.take(self.clock.now());
        while !uses.is_empty() {
            let batch = last_of(&mut uses);
            if let Err(error) = self.accounts.note_doors(batch.clone()).await {
                batch.into_iter().chain(uses).for_each(|used| self.doors.put(used));
                return Err(error);
            }
        }
        Ok(())
    }

    /// The doors that each of these agents has used, as far as that is stored. A socket that ended has failed, unless its
    /// client or the server closed it.
    pub async fn doors(&self, agents: &[AgentId]) -> Result<Vec<Vec<DoorUse>>, StoreError> {
        let mut by_agent: HashMap<AgentId, Vec<DoorUse>> = HashMap::new();
        for used in self.accounts.list_doors(agents.to_vec()).await? {
            let known = by_agent.entry(used.agent).or_default();
            match known.iter_mut().find(|other| other.door == used.door) {
                Some(other) => other.add(used),
                None => known.push(used),
            }
        }
        let of = |agent| {
            let mut doors = by_agent.remove(agent).unwrap_or_default();
            doors.sort_by_key(|used| used.door);
            doors
        };
        Ok(agents.iter().map(of).collect())
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const AGENT: AgentId = AgentId::new(Uuid::from_u128(7));

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_micros(0).plus(Duration::from_secs(seconds))
    }

    fn used(called_at: impl Into<Option<u64>>, failure: Option<(u64, &'static str)>) -> DoorUse {
        let failure =
            failure.map(|(seconds, code)| DoorFailure { at: at(seconds), code: code.into(), detail: None });
        DoorUse { agent: AGENT, door: Door::Rest, called_at: called_at.into().map(at), failure }
    }

    #[test]
    fn a_busy_agent_is_noted_once_a_minute() {
        let notes = DoorNotes::default();
        notes.call(AGENT, Door::Rest, at(0));
        notes.call(AGENT, Door::Rest, at(1));
        assert_eq!(notes.take(at(2)), [used(0, None)]);
        notes.call(AGENT, Door::Rest, at(59));
        assert_eq!(notes.take(at(59)), []);
        notes.call(AGENT, Door::Rest, at(60));
        assert_eq!(notes.take(at(60)), [used(60, None)]);
        notes.call(AGENT, Door::Socket, at(61));
        notes.take(at(61));
        notes.call(AGENT, Door::Socket, at(62));
        assert_eq!(notes.take(at(62)).len(), 1, "every connection is noted");
        notes.take(at(122));
        assert!(notes.0.iter().all(|shard| shard.lock().unwrap().is_empty()), "old calls are forgotten");
    }

    #[test]
    fn the_last_failure_is_written() {
        let notes = DoorNotes::default();
        notes.put(used(None, Some((1, "forbidden"))));
        notes.put(used(None, Some((2, "not_found"))));
        notes.call(AGENT, Door::Rest, at(3));
        let taken = notes.take(at(3));
        assert_eq!(taken, [used(3, Some((2, "not_found")))], "a call after a failure is noted");
        notes.put(used(None, Some((4, "conflict"))));
        for used in taken {
            notes.put(used);
        }
        assert_eq!(notes.take(at(4)), [used(3, Some((4, "conflict")))], "a later one wins");
    }

    #[test]
    fn later_times_win() {
        for (first, second, expected) in [
            (used(1, None), used(2, None), used(2, None)),
            (used(2, None), used(1, None), used(2, None)),
            (used(2, None), used(None, Some((3, "a"))), used(2, Some((3, "a")))),
            (used(None, Some((3, "a"))), used(2, None), used(2, Some((3, "a")))),
            (used(1, Some((1, "a"))), used(2, None), used(2, Some((1, "a")))),
            (used(3, Some((1, "a"))), used(2, Some((2, "b"))), used(3, Some((2, "b")))),
            (used(3, Some((3, "a"))), used(4, Some((2, "b"))), used(4, Some((3, "a")))),
        ] {
            let mut sum = first;
            sum.add(second);
            assert_eq!(sum, expected);
        }
    }
}
