//! Reading contacts and requests.

use super::record::Contact;
use super::request::{ContactRequest, RequestStatus};
use super::service::ContactService;
use crate::caller::{AgentCaller, Caller, UserCaller};
use crate::id::ParticipantId;
use crate::page::{Page, PageRequest};
use crate::store::StoreError;
use crate::text::NamePart;

/// The sent requests to list: all, or those with one status.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SentFilter {
    /// All of them.
    #[default]
    All,
    /// Those with this status now.
    Only(RequestStatus),
}

impl SentFilter {
    /// Parses a status, or `all`.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "all" { Some(Self::All) } else { RequestStatus::parse(text).map(Self::Only) }
    }
}

/// A contact with its presence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedContact {
    /// The contact.
    pub contact: Contact,
    /// Set if a socket of the other side is open; a platform agent is always present.
    pub online: bool,
}

impl ContactService {
    /// The caller's contacts, newest first, or those with `name` in their name or handle.
    pub async fn list(
        &self,
        caller: impl Into<Caller>,
        name: Option<NamePart>,
        page: PageRequest,
    ) -> Result<Page<ListedContact>, StoreError> {
        let page = self.contacts.list_contacts(caller.into().participant(), name, page).await?;
        Ok(page.map(|contact| {
            let online = self.presence.is_present(contact.with.id, contact.with.is_external);
            ListedContact { contact, online }
        }))
    }

    /// The pending requests to an agent, newest first.
    pub async fn received_by_agent(
        &self,
        caller: AgentCaller,
        page: PageRequest,
    ) -> Result<Page<ContactRequest>, StoreError> {
        let (_, expired_until) = self.now();
        self.contacts.list_received(ParticipantId::Agent(caller.agent), expired_until, page).await
    }

    /// The pending requests to a user and to the user's agents, newest first.
    pub async fn received_by_user(
        &self,
        caller: UserCaller,
        page: PageRequest,
    ) -> Result<Page<ContactRequest>, StoreError> {
        let (_, expired_until) = self.now();
        self.contacts.list_received_by_all_of(caller.user, expired_until, page).await
    }

    /// The requests that the caller sent, newest first.
    pub async fn sent(
        &self,
        caller: impl Into<Caller>,
        filter: SentFilter,
        page: PageRequest,
    ) -> Result<Page<ContactRequest>, StoreError> {
        let (_, expired_until) = self.now();
        self.contacts.list_sent(caller.into().participant(), filter, expired_until, page).await
    }
}
