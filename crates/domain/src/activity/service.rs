//! Reporting and reading indicators.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::board::{ActivityBoard, WorkingAgent};
use super::kind::{Activity, ReportedWork};
use crate::caller::AgentCaller;
use crate::chat::{ChatDetails, ChatRepository, WorkStatus};
use crate::delivery::ClaimRenewal;
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

/// The reason why indicators were not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadActivityError {
    /// The caller is not in the chat, or there is no such chat.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An agent at work, as other participants see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShownActivity {
    /// The agent.
    pub who: WorkingAgent,
    /// Its name; `None` if it has just left.
    pub name: Option<String>,
    /// What it is doing.
    pub doing: Activity,
}

/// Use cases on indicators.
pub struct ActivityService {
    board: Mutex<ActivityBoard>,
    chats: Arc<dyn ChatRepository>,
    events: Arc<dyn EventPublisher>,
    presence: Arc<dyn Presence>,
    clock: Arc<dyn Clock>,
    /// Renews the claims of agents that work; `None` if they are not renewed.
    claims: Option<Arc<ClaimRenewal>>,
}

impl ActivityService {
    /// Wires the area to its ports; every indicator is off.
    pub fn new(
        chats: Arc<dyn ChatRepository>,
        events: Arc<dyn EventPublisher>,
        presence: Arc<dyn Presence>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { board: Mutex::default(), chats, events, presence, clock, claims: None }
    }

    /// Sets what renews the claims of agents that work.
    #[must_use]
    pub fn with_claims(self, claims: Arc<ClaimRenewal>) -> Self {
        Self { claims: Some(claims), ..self }
    }

    /// Reports what the calling agent is doing in the chat, if anything, and renews its claims there while it works. Returns
    /// whether the indicator is on: a stopped agent never shows as working. Other nodes receive every report, so that an
    /// indicator that is not renewed ends there, too.
    pub async fn report(
        &self,
        caller: AgentCaller,
        chat: ChatId,
        work: impl Into<ReportedWork>,
    ) -> Result<bool, ReportActivityError> {
        let is_working = self.show(caller, chat, work.into()).await?;
        if let (true, Some(claims)) = (is_working, &self.claims) {
            claims.note(caller, chat, None).await;
        }
        Ok(is_working)
    }

    /// Sets the indicator of an agent; returns whether it is on.
    async fn show(
        &self,
        caller: AgentCaller,
        chat: ChatId,
        work: ReportedWork,
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
        let doing = work.0.filter(|_| !own.state.is_halted());
        let execution = ExecutionId::of(chat, caller.agent, own.joined_at);
        let who = WorkingAgent { agent: caller.agent, execution };
        let now = self.clock.steady();
        let (working, activity) = (doing.is_some(), who.activity(doing.clone()));
        if board.report(chat, who, ReportedWork(doing), now) {
            self.events.publish(DomainEvent::ActivityChanged { chat_id: chat, activity });
        } else {
            self.events.publish(DomainEvent::ActivityReported { chat_id: chat, activity });
        }
        Ok(working)
    }

    /// Clears every indicator of a chat whose agents were stopped.
    pub fn clear(&self, chat: ChatId) {
        let now = self.clock.steady();
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        for who in board.clear(chat, now) {
            publish(&*self.events, chat, who, None);
        }
    }

    /// Clears the indicators of an agent in a chat.
    pub fn clear_agent(&self, chat: ChatId, agent: AgentId) {
        let now = self.clock.steady();
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(who) = board.stop(chat, agent, now) {
            publish(&*self.events, chat, who, None);
        }
    }

    /// All agents at work, with their chats.
    pub fn working(&self) -> Vec<(AgentId, ChatId)> {
        let now = self.clock.steady();
        let board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        board.working(now).into_iter().map(|(chat, who)| (who.agent, chat)).collect()
    }

    /// Applies what an agent has reported to another node, for the sockets of this one.
    pub fn observe(
        &self,
        chat: ChatId,
        who: WorkingAgent,
        work: impl Into<ReportedWork>,
        sockets: &dyn EventPublisher,
    ) {
        let ReportedWork(doing) = work.into();
        let now = self.clock.steady();
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        if board.report(chat, who, ReportedWork(doing.clone()), now) {
            publish(sockets, chat, who, doing);
        }
    }

    /// Clears every indicator that was not renewed in time, for the sockets of this node: others do the same.
    /// Must be called about once a second.
    pub fn expire(&self, sockets: &dyn EventPublisher) {
        let now = self.clock.steady();
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        for (chat, who) in board.expire(now) {
            publish(sockets, chat, who, None);
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
                publish(sockets, chat, who, None);
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

    /// The agents at work in a chat of the calling agent, by id, the caller among them.
    pub async fn read(
        &self,
        caller: AgentCaller,
        chat: ChatId,
    ) -> Result<Vec<ShownActivity>, ReadActivityError> {
        let roster = self.chats.roster(ParticipantId::Agent(caller.agent), chat).await?;
        let roster = roster.ok_or(ReadActivityError::ChatNotFound)?;
        let now = self.clock.steady();
        let doing = self.board.lock().unwrap_or_else(PoisonError::into_inner).doing_in(chat, now);
        let shown = |(who, doing): (WorkingAgent, Activity)| {
            let name = roster.find(ParticipantId::Agent(who.agent)).map(|agent| agent.name.clone());
            ShownActivity { who, name, doing }
        };
        Ok(doing.into_iter().map(shown).collect())
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
}

/// Publishes while the board is locked, so that subscribers receive changes in order.
fn publish(to: &dyn EventPublisher, chat_id: ChatId, who: WorkingAgent, doing: Option<Activity>) {
    to.publish(DomainEvent::ActivityChanged { chat_id, activity: who.activity(doing) });
}
