//! The webhook of an organization, and the deliveries to it.

use super::filter::EventFilter;
use crate::audit::AuditAction;
use crate::id::{AuditEntryId, OrganizationId, RecordId, WebhookDeliveryId};
use crate::page::Position;
use crate::time::Timestamp;
use crate::webhook::Webhook;
use crate::webhook::model::WebhookOutcome;
use crate::webhook::schedule::{LEASE, OVERDUE_AFTER};
use crate::webhook::settle::Reply;

/// The webhook of an organization.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OrganizationWebhook {
    /// The organization.
    pub organization: OrganizationId,
    /// The URL, the secrets, and the state.
    pub webhook: Webhook,
    /// What it is told of.
    pub events: EventFilter,
    /// The number of the newest entry that it was told of, or that was passed over.
    pub seen: i64,
}

/// A sealed entry, as far as is needed to tell whether a webhook is told of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventEntry {
    /// Its number.
    pub number: i64,
    /// Its id.
    pub id: AuditEntryId,
    /// The action.
    pub action: String,
}

impl OrganizationWebhook {
    /// The delivery of the first of the next entries of which it is told; those before it are passed over. An entry that only
    /// newer servers can read is left to them, with all that follow.
    pub fn next(
        &mut self,
        entries: impl IntoIterator<Item = EventEntry>,
        now: Timestamp,
    ) -> Option<EventDelivery> {
        for entry in entries {
            let is_told = self.events.has(&entry.action);
            if is_told && AuditAction::parse(&entry.action).is_none() {
                break;
            }
            self.seen = entry.number;
            if is_told {
                return Some(EventDelivery::new(self.organization, entry, now));
            }
        }
        None
    }
}

/// The requests for one entry of the audit log to the webhook of its organization.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventDelivery {
    /// The id of the entry, which the receiver sees with each request.
    pub id: WebhookDeliveryId,
    /// The organization.
    pub organization: OrganizationId,
    /// The number of the entry.
    pub number: i64,
    /// Its action.
    pub action: String,
    /// The time of the first request, or at which an admin had it sent again.
    pub created_at: Timestamp,
    /// The number of requests.
    pub attempts: u32,
    /// No request is made before.
    pub next_attempt_at: Timestamp,
    /// Set while a sender works on it; once this time has passed, the sender counts as dead.
    pub leased_until: Option<Timestamp>,
    /// The time of the last request.
    pub attempted_at: Option<Timestamp>,
    /// The status of the last answer.
    pub status: Option<u16>,
    /// The reason why the last request got no answer.
    pub error: Option<String>,
    /// The time at which the receiver accepted it.
    pub ended_at: Option<Timestamp>,
}

impl EventDelivery {
    fn new(organization: OrganizationId, entry: EventEntry, now: Timestamp) -> Self {
        Self {
            id: WebhookDeliveryId::new(entry.id.uuid()),
            organization,
            number: entry.number,
            action: entry.action,
            created_at: now,
            attempts: 0,
            next_attempt_at: now,
            leased_until: None,
            attempted_at: None,
            status: None,
            error: None,
            ended_at: None,
        }
    }

    /// Its position in the list of its organization.
    pub fn position(&self) -> Position {
        Position::at(self.number, RecordId::NIL)
    }

    /// Begins the next request, on a lease.
    pub fn begin(&mut self, now: Timestamp) {
        let until = now.plus(LEASE);
        self.attempts = self.attempts.saturating_add(1);
        self.attempted_at = Some(now);
        (self.leased_until, self.next_attempt_at) = (Some(until), until);
        (self.status, self.error) = (None, None);
    }

    /// Records the answer to the request that was begun last.
    pub fn settle(&mut self, reply: &Reply, now: Timestamp) {
        self.leased_until = None;
        (self.status, self.error) = reply.record();
        if reply.is_success() {
            self.ended_at = Some(now);
        } else {
            self.next_attempt_at = now.plus(reply.pause(self.id.into(), self.attempts));
        }
    }

    /// Returns whether a sender works on it.
    pub fn is_leased(&self, now: Timestamp) -> bool {
        self.leased_until.is_some_and(|until| now < until)
    }

    /// Its state: `sending`, `waiting` for the next request, or `delivered`. One whose sender has died waits.
    pub fn state(&self, now: Timestamp) -> &'static str {
        match self.ended_at {
            Some(_) => WebhookOutcome::Delivered.as_str(),
            None if self.is_leased(now) => "sending",
            None => "waiting",
        }
    }

    /// The time of the next request, if it waits for one.
    pub fn next_attempt(&self, now: Timestamp) -> Option<Timestamp> {
        (self.ended_at.is_none() && !self.is_leased(now)).then_some(self.next_attempt_at)
    }

    /// Returns whether its requests have failed for [`OVERDUE_AFTER`].
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        self.ended_at.is_none() && now.since(self.created_at) >= OVERDUE_AFTER
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use uuid::Uuid;

    use super::*;
    use crate::webhook::{WebhookSecret, WebhookUrl};

    fn entry(number: i64, action: &str) -> EventEntry {
        let id = AuditEntryId::new(Uuid::from_u128(number.unsigned_abs().into()));
        EventEntry { number, id, action: action.to_owned() }
    }

    #[test]
    fn entries_are_passed_over_until_one_is_told() {
        let now = Timestamp::from_micros(7);
        let url = WebhookUrl::checked("https://a.example/".to_owned());
        let webhook = Webhook::new(url, WebhookSecret::new("whsec_a".to_owned()), now);
        let events = EventFilter::new(vec!["key.*".to_owned()]);
        let mut hook = OrganizationWebhook { organization: OrganizationId::NIL, webhook, events, seen: 3 };
        let entries = [entry(5, "agent.deleted"), entry(9, "key.created"), entry(10, "key.revoked")];
        let next = hook.next(entries, now).unwrap();
        assert_eq!((next.number, next.action.as_str(), hook.seen), (9, "key.created", 9));
        assert_eq!(next.id.uuid(), Uuid::from_u128(9), "that of the entry");
        assert_eq!(hook.next([entry(11, "agent.deleted"), entry(12, "other.new")], now), None);
        assert_eq!(hook.seen, 12);
        assert_eq!(hook.next([entry(14, "key.of_a_newer_server"), entry(15, "key.created")], now), None);
        assert_eq!(hook.seen, 12, "it waits for a server that knows the action");
    }

    #[test]
    fn a_delivery_is_repeated_until_it_succeeds() {
        let now = Timestamp::from_micros(0);
        let mut sent = EventDelivery::new(OrganizationId::NIL, entry(1, "key.created"), now);
        assert_eq!((sent.state(now), sent.next_attempt(now)), ("waiting", Some(now)));
        sent.begin(now);
        assert_eq!((sent.state(now), sent.next_attempt(now), sent.attempts), ("sending", None, 1));
        let later = now.plus(LEASE);
        assert_eq!((sent.state(later), sent.next_attempt(later)), ("waiting", Some(later)));
        let asked = Duration::from_secs(90);
        sent.settle(&Reply::Answered { status: 503, retry_after: Some(asked) }, now);
        assert_eq!((sent.status, sent.next_attempt(now)), (Some(503), Some(now.plus(asked))));
        assert!(sent.is_overdue(now.plus(OVERDUE_AFTER)));
        sent.begin(now.plus(asked));
        sent.settle(&Reply::Answered { status: 204, retry_after: None }, later);
        assert_eq!((sent.state(later), sent.ended_at, sent.attempts), ("delivered", Some(later), 2));
    }
}
