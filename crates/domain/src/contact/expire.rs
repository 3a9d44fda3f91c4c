//! Marking unanswered requests as expired.

use super::request::ContactRequest;
use super::service::ContactService;
use crate::event::DomainEvent;
use crate::store::{OnCommit, StoreError};

/// The number of requests per write, so that other writes need not wait for long.
const BATCH: u32 = 200;

impl ContactService {
    /// Marks expired requests, and notifies both sides of each; returns their number.
    ///
    /// Reads do not depend on it: it is for subscribers.
    pub async fn expire(&self) -> Result<usize, StoreError> {
        let (_, expired_until) = self.now();
        let mut count = 0;
        loop {
            let events = self.events.clone();
            let on_commit = OnCommit::new(move |expired: &Vec<ContactRequest>| {
                for request in expired.clone() {
                    events.publish(DomainEvent::ContactRequestUpdated { request });
                }
            });
            let expired = self.contacts.expire(expired_until, BATCH, on_commit).await?.len();
            count += expired;
            if expired < BATCH as usize {
                return Ok(count);
            }
        }
    }
}
