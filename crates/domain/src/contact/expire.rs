//! Writing down which requests nobody answered in time.

use super::request::ContactRequest;
use super::service::ContactService;
use crate::event::DomainEvent;
use crate::store::{OnCommit, StoreError};

/// How many requests are written down at once, so that others need not wait for long.
const BATCH: u32 = 200;

impl ContactService {
    /// Writes down expired requests and tells both sides of each; gives how many there were.
    ///
    /// Reads know of an expired request without it: this is for those who listen.
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
