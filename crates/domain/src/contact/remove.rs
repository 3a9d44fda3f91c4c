//! Ending a contact.

use super::port::{NoSuchContact, RemoveContact, RemovedContact, WhichContact};
use super::service::ContactService;
use crate::caller::Caller;
use crate::event::DomainEvent;
use crate::store::{OnCommit, StoreError};

/// The reason why nothing was removed.
#[derive(Debug, thiserror::Error)]
pub enum RemoveContactError {
    /// The caller has no such contact.
    #[error("there is no such contact of the caller")]
    NotFound,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ContactService {
    /// Removes a contact of the caller, for both sides. Chats do not change.
    pub async fn remove(
        &self,
        caller: impl Into<Caller>,
        which: WhichContact,
    ) -> Result<(), RemoveContactError> {
        let command = RemoveContact { by: caller.into().participant(), which };
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |removed: &RemovedContact| {
            for (owner, id) in removed.sides.iter().copied() {
                events.publish(DomainEvent::ContactRemoved { owner, id });
            }
        });
        match self.contacts.remove(command, on_commit).await? {
            Ok(_) => Ok(()),
            Err(NoSuchContact) => Err(RemoveContactError::NotFound),
        }
    }
}
