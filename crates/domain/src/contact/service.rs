//! The contact area's ports in one place.

use std::sync::Arc;
use std::time::Duration;

use super::port::ContactRepository;
use crate::foreign::ForeignRepository;
use crate::id::ContactId;
use crate::ports::{Clock, EventPublisher, IdGenerator, Presence};
use crate::time::Timestamp;

/// How long a request can be answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestLifetime(Option<Duration>);

impl RequestLifetime {
    /// A lifetime in days; 0 is unlimited.
    pub fn days(days: u32) -> Self {
        let seconds = u64::from(days) * 24 * 60 * 60;
        Self((days > 0).then(|| Duration::from_secs(seconds)))
    }

    /// Requests sent at or before this time have expired at `now`.
    pub(super) fn expired_until(self, now: Timestamp) -> Timestamp {
        let micros = self.0.map(|lifetime| i64::try_from(lifetime.as_micros()).unwrap_or(i64::MAX));
        Timestamp::from_micros(micros.map_or(i64::MIN, |micros| now.micros().saturating_sub(micros)))
    }
}

impl Default for RequestLifetime {
    fn default() -> Self {
        Self::days(30)
    }
}

/// Use cases on contacts and contact requests.
pub struct ContactService {
    pub(super) contacts: Arc<dyn ContactRepository>,
    pub(super) work: Arc<dyn ForeignRepository>,
    pub(super) presence: Arc<dyn Presence>,
    pub(super) events: Arc<dyn EventPublisher>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdGenerator>,
    pub(super) lifetime: RequestLifetime,
}

impl ContactService {
    /// Wires the area to its ports.
    pub fn new(
        contacts: Arc<dyn ContactRepository>,
        work: Arc<dyn ForeignRepository>,
        presence: Arc<dyn Presence>,
        events: Arc<dyn EventPublisher>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
        lifetime: RequestLifetime,
    ) -> Self {
        Self { contacts, work, presence, events, clock, ids, lifetime }
    }

    /// The current time, and the time until which requests have expired.
    pub(super) fn now(&self) -> (Timestamp, Timestamp) {
        let now = self.clock.now();
        (now, self.lifetime.expired_until(now))
    }

    /// Ids for the records of both sides.
    pub(super) fn contact_ids(&self, now: Timestamp) -> [ContactId; 2] {
        [self.ids.generate(now), self.ids.generate(now)].map(ContactId::new)
    }
}
