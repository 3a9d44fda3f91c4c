//! Stopping the agents of a chat, and letting them play again.

use super::port::{SetStopped, StoppedChat};
use super::service::ControlService;
use super::signal::ControlSignal;
use crate::caller::UserCaller;
use crate::chat::StopRefused;
use crate::event::DomainEvent;
use crate::id::{ChatId, SignalId};
use crate::store::{OnCommit, StoreError};

/// The reason why agents were not stopped.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// A rule forbids it.
    #[error(transparent)]
    Refused(#[from] StopRefused),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ControlService {
    /// Stops every agent in the chat, and signals those already stopped again, since a signal may have been lost.
    pub async fn stop(&self, caller: UserCaller, chat: ChatId) -> Result<StoppedChat, StopError> {
        self.set_stopped(caller, chat, true).await
    }

    /// Lets every agent in the chat play, and signals those that play again. A pause of the organization still stops
    /// them, and so does the signal.
    pub async fn play(&self, caller: UserCaller, chat: ChatId) -> Result<StoppedChat, StopError> {
        self.set_stopped(caller, chat, false).await
    }

    async fn set_stopped(
        &self,
        by: UserCaller,
        chat: ChatId,
        stopped: bool,
    ) -> Result<StoppedChat, StopError> {
        let now = self.clock.now();
        let (events, ids, activity) = (self.events.clone(), self.ids.clone(), self.activity.clone());
        let on_commit = OnCommit::new(move |set: &StoppedChat| {
            if stopped {
                activity.clear(set.chat.id);
            }
            for found in set.agents.iter().copied() {
                let signal = ControlSignal::of(found, set.has_changed, SignalId::new(ids.generate(now)));
                events.publish(DomainEvent::AgentControlled { agent: found.agent, signal });
            }
            if set.has_changed {
                let (to, chat, details) = (set.users.clone(), set.chat.clone(), set.details.clone());
                events.publish(DomainEvent::RoomUpdated { to, chat, details });
            }
        });
        let command = SetStopped { chat, by, stopped, now };
        Ok(self.control.set_stopped(command, on_commit).await??)
    }
}
