//! Approving, rejecting, and cancelling a request.

use super::port::{AnswerRefused, AnswerRequest, Answered, WhichRequest};
use super::request::{ContactRequest, RequestAction, RequestStatus};
use super::send::publish_answer;
use super::service::ContactService;
use crate::caller::Caller;
use crate::foreign::{self, ForeignCause};
use crate::store::{OnCommit, StoreError};

/// The reason why a request was not changed.
#[derive(Debug, thiserror::Error)]
pub enum AnswerRequestError {
    /// The request does not exist, or the caller may not know of it.
    #[error("there is no such request for the caller")]
    NotFound,
    /// Only the other side may do this.
    #[error("this is for the other side to do")]
    OtherSide,
    /// It was answered before, or has expired.
    #[error("the request is {} already", .0.as_str())]
    Settled(RequestStatus),
    /// The request would be approved, and the agent works for another organization.
    #[error(transparent)]
    Foreign(#[from] ForeignCause),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ContactService {
    /// Applies `action` to the request; returns its new state.
    pub async fn answer(
        &self,
        caller: impl Into<Caller>,
        which: WhichRequest,
        action: RequestAction,
    ) -> Result<ContactRequest, AnswerRequestError> {
        let by = caller.into();
        if action == RequestAction::Approve {
            foreign::check::<AnswerRequestError>(&*self.work, by).await?;
        }
        let (now, expired_until) = self.now();
        let by_handle = matches!(which, WhichRequest::With(_));
        let contacts = self.contact_ids(now);
        let command = AnswerRequest { by, which, action, contacts, now, expired_until };
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |answered: &Answered| publish_answer(&events, answered));
        match self.contacts.answer(command, on_commit).await? {
            Ok(Answered { request, .. }) if request.status == action.outcome() => Ok(request),
            // A handle identifies a pending request, and this one no longer was.
            Ok(_) if by_handle => Err(AnswerRequestError::NotFound),
            Ok(Answered { request, .. }) => Err(AnswerRequestError::Settled(request.status)),
            Err(AnswerRefused::NotFound) => Err(AnswerRequestError::NotFound),
            Err(AnswerRefused::OtherSide) => Err(AnswerRequestError::OtherSide),
            Err(AnswerRefused::Settled(status)) => Err(AnswerRequestError::Settled(status)),
        }
    }
}
