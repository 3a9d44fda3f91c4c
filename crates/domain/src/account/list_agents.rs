//! Reading agents: the calling agent's own record, and the agents of an owner.

use std::sync::Arc;

use super::agent::Agent;
use super::port::AgentListing;
use super::service::AccountService;
use crate::caller::{AgentCaller, UserCaller};
use crate::page::{Page, PageRequest};
use crate::store::StoreError;

impl AccountService {
    /// The record of the calling agent; `None` if it was deleted after it authenticated.
    pub async fn agent_record(&self, caller: AgentCaller) -> Result<Option<Arc<Agent>>, StoreError> {
        let read = async { self.accounts.find_agent(caller.agent).await };
        self.cache.agent(caller.agent, self.clock.steady(), read).await
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
