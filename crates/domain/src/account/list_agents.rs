//! Reading agents: the calling agent's own record, and the agents of an owner.

use std::sync::Arc;

use super::agent::Agent;
use super::port::{AccountStatus, AgentListing};
use super::service::AccountService;
use crate::caller::{AgentCaller, UserCaller};
use crate::id::AgentId;
use crate::page::{Page, PageRequest};
use crate::store::StoreError;

impl AccountService {
    /// The record of the calling agent; `None` if it was deleted after it authenticated.
    pub async fn agent_record(&self, caller: AgentCaller) -> Result<Option<Arc<Agent>>, StoreError> {
        let read = async { self.accounts.find_agent(caller.agent).await };
        self.cache.agent(caller.agent, self.clock.steady(), read).await
    }

    /// An agent that its owner lists for A2A; `None` if it is not listed, or if it or its owner is disabled.
    pub async fn a2a_agent(&self, agent: AgentId) -> Result<Option<Arc<Agent>>, StoreError> {
        let read = async { self.accounts.find_agent(agent).await };
        let found = self.cache.agent(agent, self.clock.steady(), read).await?;
        let Some(found) = found.filter(|agent| agent.a2a && agent.disabled_at.is_none()) else {
            return Ok(None);
        };
        let status = async { self.accounts.find_account_status(found.owner).await };
        let admits = |status: &AccountStatus| !status.is_disabled;
        let owner = self.cache.status(found.owner, self.clock.steady(), admits, status).await?;
        Ok(owner.filter(|owner| !owner.is_disabled).map(|_| found))
    }

    /// The agents that the caller owns.
    pub async fn list_agents(
        &self,
        caller: UserCaller,
        listing: AgentListing,
        page: PageRequest,
    ) -> Result<Page<Agent>, StoreError> {
        self.accounts.list_agents(caller.user, listing, page).await
    }
}
