//! Marking unanswered requests as expired.

use super::request::ContactRequest;
use super::service::ContactService;
use crate::event::DomainEvent;
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// The number of requests per write, so that other writes need not wait for long.
const BATCH: u32 = 200;

impl ContactService {
    /// Marks the requests that have expired at `now`, and notifies both sides of each; returns their
    /// number.
    ///
    /// Reads do not depend on it: it is for subscribers.
    pub async fn expire(&self, now: Timestamp) -> Result<usize, StoreError> {
        let expired_until = self.lifetime.expired_until(now);
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
