//! Why the last sockets of agents have ended, until it is stored.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::account::{AccountService, Disconnect, EndReason, LastDisconnect};
use domain::id::{AgentId, ParticipantId};
use domain::store::StoreError;
use domain::time::Timestamp;

use super::Hub;

/// The number of ends per write.
const WRITTEN_AT_ONCE: usize = 500;

/// The newest end of each agent that is to be stored.
#[derive(Default)]
pub(super) struct Disconnects(Mutex<HashMap<AgentId, Disconnect>>);

impl Disconnects {
    fn note(&self, ended: Disconnect) {
        self.all().insert(ended.agent, ended);
    }

    /// Some that are to be stored.
    fn some(&self) -> Vec<Disconnect> {
        self.all().values().take(WRITTEN_AT_ONCE).copied().collect()
    }

    /// Removes those that were stored, unless there is a newer one.
    fn stored(&self, some: &[Disconnect]) {
        let mut all = self.all();
        for one in some {
            if all.get(&one.agent) == Some(one) {
                all.remove(&one.agent);
            }
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<AgentId, Disconnect>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hub {
    /// Notes that the last socket of an agent has ended, or that its server has. Only the server knows when the socket
    /// was opened.
    pub(super) fn note_disconnect(&self, agent: AgentId, began_at: Option<Timestamp>, reason: EndReason) {
        let last = LastDisconnect { at: self.clock.now(), reason };
        self.disconnects.note(Disconnect { agent, began_at, last });
    }

    /// Notes that an agent had its socket on a server that has ended, unless it is connected again.
    pub fn note_server_lost(&self, agent: AgentId) {
        if !self.presence.is_online(ParticipantId::Agent(agent)) {
            self.note_disconnect(agent, None, EndReason::ServerLost);
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
