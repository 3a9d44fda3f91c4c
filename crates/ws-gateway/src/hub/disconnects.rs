//! Why the last sockets of agents have ended, until it is stored.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::account::{AccountService, Disconnect, EndReason, LastDisconnect};
use domain::id::{AgentId, ParticipantId};
use domain::store::StoreError;

use super::Hub;

/// The number of ends per write.
const WRITTEN_AT_ONCE: usize = 500;

/// The newest end of each agent that is to be stored.
#[derive(Default)]
pub(super) struct Disconnects(Mutex<HashMap<AgentId, LastDisconnect>>);

impl Disconnects {
    fn note(&self, agent: AgentId, last: LastDisconnect) {
        self.all().insert(agent, last);
    }

    /// Some that are to be stored.
    fn some(&self) -> Vec<Disconnect> {
        let all = self.all();
        all.iter()
            .take(WRITTEN_AT_ONCE)
            .map(|(agent, last)| Disconnect { agent: *agent, last: *last })
            .collect()
    }

    /// Removes those that were stored, unless there is a newer one.
    fn stored(&self, some: &[Disconnect]) {
        let mut all = self.all();
        for one in some {
            if all.get(&one.agent) == Some(&one.last) {
                all.remove(&one.agent);
            }
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<AgentId, LastDisconnect>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hub {
    /// Notes that the last socket of an agent has ended, or that its server has.
    pub(super) fn note_disconnect(&self, agent: AgentId, reason: EndReason) {
        self.disconnects.note(agent, LastDisconnect { at: self.clock.now(), reason });
    }

    /// Notes that an agent had its socket on a server that has ended, unless it is connected again.
    pub fn note_server_lost(&self, agent: AgentId) {
        if !self.presence.is_online(ParticipantId::Agent(agent)) {
            self.note_disconnect(agent, EndReason::ServerLost);
        }
    }

    /// Stores why the last sockets of agents have ended; must be called about once a second, and at the end.
    ///
    /// # Errors
    /// [`StoreError`]; what could not be stored is stored with the next call.
    pub async fn write_disconnects(&self, accounts: &AccountService) -> Result<(), StoreError> {
        loop {
            let some = self.disconnects.some();
            if some.is_empty() {
                return Ok(());
            }
            accounts.note_disconnects(some.clone()).await?;
            self.disconnects.stored(&some);
        }
    }
}
