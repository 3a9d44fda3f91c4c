//! Reporting and reading indicators.

use std::sync::{Arc, Mutex, PoisonError};

use super::board::{ActivityBoard, AgentActivity};
use crate::caller::AgentCaller;
use crate::chat::{ChatRepository, WorkStatus};
use crate::event::DomainEvent;
use crate::id::{AgentId, ChatId, ParticipantId};
use crate::ports::{Clock, EventPublisher};
use crate::store::StoreError;

/// The reason why a report was refused.
#[derive(Debug, thiserror::Error)]
pub enum ReportActivityError {
    /// The caller is not in the chat, or there is no such chat.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Use cases on indicators.
pub struct ActivityService {
    board: Mutex<ActivityBoard>,
    chats: Arc<dyn ChatRepository>,
    events: Arc<dyn EventPublisher>,
    clock: Arc<dyn Clock>,
}

impl ActivityService {
    /// Wires the area to its ports; every indicator is off.
    pub fn new(
        chats: Arc<dyn ChatRepository>,
        events: Arc<dyn EventPublisher>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { board: Mutex::default(), chats, events, clock }
    }

    /// Reports whether the calling agent is at work in the chat.
    pub async fn report(
        &self,
        caller: AgentCaller,
        chat: ChatId,
        working: bool,
    ) -> Result<(), ReportActivityError> {
        let viewer = ParticipantId::Agent(caller.agent);
        self.chats.membership(viewer, chat).await?.ok_or(ReportActivityError::ChatNotFound)?;
        let now = self.clock.steady();
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        if board.report(chat, caller.agent, working, now) {
            self.on_commit(chat, AgentActivity { agent: caller.agent, working });
        }
        Ok(())
    }

    /// Clears every indicator that was not renewed in time; must be called about once a second.
    pub fn expire(&self) {
        let now = self.clock.steady();
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        for (chat, agent) in board.expire(now) {
            self.on_commit(chat, AgentActivity { agent, working: false });
        }
    }

    /// The agents at work in a chat, by id.
    pub fn working_in(&self, chat: ChatId) -> Vec<AgentId> {
        let now = self.clock.steady();
        self.board.lock().unwrap_or_else(PoisonError::into_inner).working_in(chat, now)
    }

    /// The work status of a chat's agents, from the deliveries and the indicators.
    pub fn work_status(&self, chat: ChatId, deliveries: WorkStatus) -> WorkStatus {
        if self.working_in(chat).is_empty() { deliveries } else { WorkStatus::Working }
    }

    /// Published while the board is locked, so that subscribers receive changes in order.
    fn on_commit(&self, chat_id: ChatId, activity: AgentActivity) {
        self.events.publish(DomainEvent::ActivityChanged { chat_id, activity });
    }
}
