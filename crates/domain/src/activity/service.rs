//! Reporting and reading indicators.

use std::sync::{Arc, Mutex, PoisonError};

use super::board::{ActivityBoard, AgentActivity};
use crate::caller::AgentCaller;
use crate::chat::{ChatRepository, WorkStatus};
use crate::event::DomainEvent;
use crate::id::{AgentId, ChatId, ParticipantId};
use crate::ports::{Clock, EventPublisher};
use crate::store::StoreError;

/// Why a report was not taken.
#[derive(Debug, thiserror::Error)]
pub enum ReportActivityError {
    /// The caller is not in the room, or there is no such room.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The store gave no answer.
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

    /// The calling agent says whether it is at work in the room.
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

    /// Takes off every indicator that was not renewed in time; to be called about once a second.
    pub fn expire(&self) {
        let now = self.clock.steady();
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        for (chat, agent) in board.expire(now) {
            self.on_commit(chat, AgentActivity { agent, working: false });
        }
    }

    /// The agents at work in a room, by id.
    pub fn working_in(&self, chat: ChatId) -> Vec<AgentId> {
        let now = self.clock.steady();
        self.board.lock().unwrap_or_else(PoisonError::into_inner).working_in(chat, now)
    }

    /// Whether a room's agents are at work: what the deliveries say, and the indicators.
    pub fn work_status(&self, chat: ChatId, deliveries: WorkStatus) -> WorkStatus {
        if self.working_in(chat).is_empty() { deliveries } else { WorkStatus::Working }
    }

    /// Published while the board is locked, so that listeners hear changes in their order.
    fn on_commit(&self, chat_id: ChatId, activity: AgentActivity) {
        self.events.publish(DomainEvent::ActivityChanged { chat_id, activity });
    }
}
