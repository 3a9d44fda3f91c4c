//! Reporting and reading indicators.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::board::{ActivityBoard, WorkingAgent};
use crate::caller::AgentCaller;
use crate::chat::{ChatDetails, ChatRepository, WorkStatus};
use crate::event::DomainEvent;
use crate::id::{AgentId, ChatId, ExecutionId, ParticipantId};
use crate::ports::{Clock, EventPublisher, Presence};
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
    presence: Arc<dyn Presence>,
    clock: Arc<dyn Clock>,
}

impl ActivityService {
    /// Wires the area to its ports; every indicator is off.
    pub fn new(
        chats: Arc<dyn ChatRepository>,
        events: Arc<dyn EventPublisher>,
        presence: Arc<dyn Presence>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { board: Mutex::default(), chats, events, presence, clock }
    }

    /// Reports whether the calling agent is at work in the chat. Returns what is shown: a stopped agent is not at
    /// work. Other nodes hear of every report, so that an indicator also ends there when it is not renewed.
    pub async fn report(
        &self,
        caller: AgentCaller,
        chat: ChatId,
        working: bool,
    ) -> Result<bool, ReportActivityError> {
        let viewer = ParticipantId::Agent(caller.agent);
        let mut stops = self.board.lock().unwrap_or_else(PoisonError::into_inner).stops();
        let (mut board, own) = loop {
            let own = self.chats.membership(viewer, chat).await?.ok_or(ReportActivityError::ChatNotFound)?;
            let board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
            if board.stops() == stops {
                break (board, own);
            }
            // It may have been stopped since it was read.
            stops = board.stops();
        };
        let working = working && !own.state.is_stopped;
        let execution = ExecutionId::of(chat, caller.agent, own.joined_at);
        let who = WorkingAgent { agent: caller.agent, execution };
        let now = self.clock.steady();
        if board.report(chat, who, working, now) {
            self.on_commit(chat, who, working);
        } else {
            let activity = who.activity(working);
            self.events.publish(DomainEvent::ActivityReported { chat_id: chat, activity });
        }
        Ok(working)
    }

    /// Clears every indicator of a chat whose agents were stopped.
    pub fn clear(&self, chat: ChatId) {
        let now = self.clock.steady();
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        for who in board.clear(chat, now) {
            self.on_commit(chat, who, false);
        }
    }

    /// Clears the indicators of an agent in a chat.
    pub fn clear_agent(&self, chat: ChatId, agent: AgentId) {
        let now = self.clock.steady();
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(who) = board.stop(chat, agent, now) {
            self.on_commit(chat, who, false);
        }
    }

    /// All agents at work, with their chats.
    pub fn working(&self) -> Vec<(AgentId, ChatId)> {
        let now = self.clock.steady();
        let board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        board.working(now).into_iter().map(|(chat, who)| (who.agent, chat)).collect()
    }

    /// Applies what an agent has reported to another node, for the sockets of this one.
    pub fn observe(&self, chat: ChatId, who: WorkingAgent, working: bool, sockets: &dyn EventPublisher) {
        let now = self.clock.steady();
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        if board.report(chat, who, working, now) {
            publish(sockets, chat, who, working);
        }
    }

    /// Clears every indicator that was not renewed in time, for the sockets of this node: others do the same.
    /// Must be called about once a second.
    pub fn expire(&self, sockets: &dyn EventPublisher) {
        let now = self.clock.steady();
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        for (chat, who) in board.expire(now) {
            publish(sockets, chat, who, false);
        }
    }

    /// Clears the indicators of agents that have disconnected, or were disabled or deleted, for the sockets of
    /// this node: others do the same.
    pub fn clear_gone(&self, agents: &HashSet<AgentId>, sockets: &dyn EventPublisher) {
        if agents.is_empty() {
            return;
        }
        let now = self.clock.steady();
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        for (chat, who) in board.working(now) {
            if agents.contains(&who.agent) && board.report(chat, who, false, now) {
                publish(sockets, chat, who, false);
            }
        }
    }

    /// Clears the indicators of those who have left a chat, for the sockets of this node: others do the same.
    ///
    /// # Errors
    /// [`StoreError`] if the memberships could not be read; indicators that are not renewed end soon.
    pub async fn clear_left(&self, chat: ChatId, sockets: &dyn EventPublisher) -> Result<(), StoreError> {
        for who in self.working_in(chat) {
            let own = self.chats.membership(ParticipantId::Agent(who.agent), chat).await?;
            let execution = own.map(|own| ExecutionId::of(chat, who.agent, own.joined_at));
            if execution != Some(who.execution) {
                self.observe(chat, who, false, sockets);
            }
        }
        Ok(())
    }

    /// The agents at work in a chat, by id.
    pub fn working_in(&self, chat: ChatId) -> Vec<WorkingAgent> {
        let now = self.clock.steady();
        self.board.lock().unwrap_or_else(PoisonError::into_inner).working_in(chat, now)
    }

    /// The work status of a chat's agents, from the deliveries, the connections, and the indicators.
    pub fn work_status(&self, chat: ChatId, details: &ChatDetails) -> WorkStatus {
        let is_back = |agent: &AgentId| self.presence.is_online(ParticipantId::Agent(*agent));
        if details.interrupted.iter().any(is_back) || !self.working_in(chat).is_empty() {
            details.work.or_working()
        } else {
            details.work
        }
    }

    /// Published while the board is locked, so that subscribers receive changes in order.
    fn on_commit(&self, chat_id: ChatId, who: WorkingAgent, working: bool) {
        publish(&*self.events, chat_id, who, working);
    }
}

fn publish(to: &dyn EventPublisher, chat_id: ChatId, who: WorkingAgent, working: bool) {
    to.publish(DomainEvent::ActivityChanged { chat_id, activity: who.activity(working) });
}
