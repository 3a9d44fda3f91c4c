//! Reading keys and accounts, for the operator.

use super::agent::Agent;
use super::handle::UserHandle;
use super::key::KeyRecord;
use super::service::AccountService;
use crate::id::ParticipantId;
use crate::page::{Page, PageRequest};
use crate::store::StoreError;

impl AccountService {
    /// The keys of a user or an agent that are not revoked, newest first, including expired ones.
    pub async fn list_keys(
        &self,
        holder: ParticipantId,
        page: PageRequest,
    ) -> Result<Page<KeyRecord>, StoreError> {
        self.keys.list_keys(holder, page).await
    }

    /// The agent with this handle in its stored form, of any owner.
    pub async fn find_agent(&self, handle: &str) -> Result<Option<Agent>, StoreError> {
        self.accounts.find_agent_by_handle(handle).await
    }

    /// The user or agent with this handle in its stored form.
    pub async fn find_holder(&self, handle: &str) -> Result<Option<ParticipantId>, StoreError> {
        if handle.contains('/') {
            return Ok(self.find_agent(handle).await?.map(|agent| ParticipantId::Agent(agent.id)));
        }
        let found = self.accounts.find_user_by_handle(&UserHandle::from_stored(handle.to_owned())).await?;
        Ok(found.map(|user| ParticipantId::User(user.id)))
    }
}
