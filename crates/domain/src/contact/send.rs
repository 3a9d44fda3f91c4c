//! Sending a contact request.

use std::sync::Arc;

use super::handle::Handle;
use super::port::{Answered, NewRequest, SentRequest};
use super::request::{ContactRequest, RequestMessage, SendRefused};
use super::service::ContactService;
use crate::caller::Caller;
use crate::event::DomainEvent;
use crate::foreign::{self, ForeignCause};
use crate::id::{ContactRequestId, ParticipantKind};
use crate::ports::EventPublisher;
use crate::store::{OnCommit, StoreError};

/// A contact request to be sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SendRequest {
    /// The recipient.
    pub to: Handle,
    /// The message.
    pub message: Option<RequestMessage>,
}

/// The reason why no request was sent.
#[derive(Debug, thiserror::Error)]
pub enum SendRequestError {
    /// A rule forbids it.
    #[error("{refused}")]
    Refused {
        /// The rule.
        refused: SendRefused,
        /// The kind of the caller; the two interfaces answer some rules differently.
        by: ParticipantKind,
    },
    /// The agent works for another organization.
    #[error(transparent)]
    Foreign(#[from] ForeignCause),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ContactService {
    /// Sends a request to the account with the handle. If that has sent one to the caller already,
    /// the two become contacts.
    pub async fn send(
        &self,
        caller: impl Into<Caller>,
        command: SendRequest,
    ) -> Result<ContactRequest, SendRequestError> {
        let by = caller.into();
        foreign::check::<SendRequestError>(&*self.work, by).await?;
        let (now, expired_until) = self.now();
        let new = NewRequest {
            id: ContactRequestId::new(self.ids.generate(now)),
            by,
            to: command.to,
            message: command.message,
            contacts: self.contact_ids(now),
            now,
            expired_until,
        };
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |sent: &SentRequest| publish_sent(&events, sent));
        let sent = self.contacts.send(new, on_commit).await?;
        let by = by.participant().kind();
        Ok(sent.map_err(|refused| SendRequestError::Refused { refused, by })?.request)
    }
}

fn publish_sent(events: &Arc<dyn EventPublisher>, sent: &SentRequest) {
    for request in sent.expired.clone() {
        events.publish(DomainEvent::ContactRequestUpdated { request });
    }
    match &sent.approval {
        Some(approval) => publish_answer(events, approval),
        None => events.publish(DomainEvent::ContactRequestReceived { request: sent.request.clone() }),
    }
}

/// The request first, then the contacts that followed from it.
pub(super) fn publish_answer(events: &Arc<dyn EventPublisher>, answered: &Answered) {
    events.publish(DomainEvent::ContactRequestUpdated { request: answered.request.clone() });
    for contact in answered.contacts.clone() {
        events.publish(DomainEvent::ContactAdded { contact });
    }
}
