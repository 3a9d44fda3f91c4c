//! Deleting an organization, which only the operator does.
//!
//! Members come first: an organization can be deleted when it has none. Its chats are deleted one
//! after the other, then the organization in one write, with its memories and open invitations. The
//! row stays without the name, since the audit log and deleted users refer to it.

use super::port::{DeleteOrganization, DeleteOrganizationRefused};
use super::service::OrganizationService;
use crate::chat::{ChatFilter, ChatService, DeleteChatError};
use crate::id::OrganizationId;
use crate::legal_hold::UnderHold;
use crate::plan::Organization;
use crate::store::StoreError;

/// The number of chats that are read at a time.
const AT_ONCE: u32 = 100;

/// The result of deleting an organization.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OrganizationDeletion {
    /// The organization in its last state.
    pub organization: Organization,
    /// The number of chats that were deleted with it.
    pub chats: u64,
}

/// The reason why an organization was not deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeleteOrganizationError {
    /// There is no such organization.
    #[error("there is no such organization")]
    NotFound,
    /// It, or one of its chats, is under a legal hold.
    #[error(transparent)]
    UnderHold(#[from] UnderHold),
    /// Users belong to it.
    #[error("the organization has {0} member(s)")]
    HasMembers(u64),
    /// It has chats, and `force` was not set.
    #[error("the organization has {0} chat(s)")]
    HasChats(u64),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The name of a deleted organization. It begins with a space, unlike any chosen name, so it causes
/// no conflict.
pub fn deleted_name(organization: OrganizationId) -> String {
    format!(" deleted {}", organization.uuid().simple())
}

impl OrganizationService {
    /// Deletes an organization without members; one with chats, which `chats` deletes, only with
    /// `force`.
    pub async fn delete(
        &self,
        chats: &ChatService,
        organization: OrganizationId,
        force: bool,
    ) -> Result<OrganizationDeletion, DeleteOrganizationError> {
        let mut number = 0;
        loop {
            let command = DeleteOrganization { organization, now: self.clock.now() };
            match self.organizations.delete_organization(command).await? {
                Ok(organization) => return Ok(OrganizationDeletion { organization, chats: number }),
                Err(DeleteOrganizationRefused::NotFound) => return Err(DeleteOrganizationError::NotFound),
                Err(DeleteOrganizationRefused::UnderHold) => return Err(UnderHold.into()),
                Err(DeleteOrganizationRefused::HasMembers(members)) => {
                    return Err(DeleteOrganizationError::HasMembers(members));
                }
                Err(DeleteOrganizationRefused::HasChats(chats)) if !force => {
                    return Err(DeleteOrganizationError::HasChats(chats));
                }
                Err(DeleteOrganizationRefused::HasChats(_)) => {
                    number += delete_chats(chats, organization).await?;
                }
            }
        }
    }
}

async fn delete_chats(
    chats: &ChatService,
    organization: OrganizationId,
) -> Result<u64, DeleteOrganizationError> {
    let (mut number, mut before) = (0, None);
    loop {
        let part = chats.overview(ChatFilter::Organization(organization), before, AT_ONCE).await?;
        let Some(last) = part.last() else { return Ok(number) };
        before = Some(last.chat.id);
        for overview in &part {
            match chats.delete_any(overview.chat.id).await {
                Ok(_) => number += 1,
                Err(DeleteChatError::Store(error)) => return Err(error.into()),
                Err(DeleteChatError::UnderHold(held)) => return Err(held.into()),
                // An owner deleted it meanwhile.
                Err(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::OrganizationName;
    use uuid::Uuid;

    #[test]
    fn nobody_can_choose_the_name_of_a_deleted_organization() {
        let name = deleted_name(OrganizationId::new(Uuid::from_u128(7)));
        assert_ne!(OrganizationName::new(&name).unwrap().as_str(), name);
    }
}
