//! The webhook of an organization, and the deliveries to it.

use super::filter::EventFilter;
use crate::audit::AuditAction;
use crate::id::{AuditEntryId, OrganizationId, RecordId, WebhookDeliveryId};
use crate::page::Position;
use crate::time::Timestamp;
use crate::webhook::Webhook;
use crate::webhook::model::{Ended, WebhookOutcome};
use crate::webhook::schedule::{LEASE, OVERDUE_AFTER, in_a_row};
use crate::webhook::settle::{Reply, Resumption};

/// The webhook of an organization.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OrganizationWebhook {
    /// The organization.
    pub organization: OrganizationId,
    /// The URL, the secrets, and the state.
    pub webhook: Webhook,
    /// What it receives.
    pub events: EventFilter,
    /// The number of the newest entry that was sent, or passed over.
    pub seen: i64,
}

/// A sealed entry, as far as is needed to tell whether a webhook receives it.
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
    /// The delivery of the first of the next entries that it receives; those before it are passed over. An entry that only
    /// newer servers can read is left to them, with all that follow.
    pub fn next(
        &mut self,
        entries: impl IntoIterator<Item = EventEntry>,
        now: Timestamp,
    ) -> Option<EventDelivery> {
        for entry in entries {
            let is_received = self.events.has(&entry.action);
            if is_received && AuditAction::parse(&entry.action).is_none() {
                break;
            }
            self.seen = entry.number;
            if is_received {
                return Some(EventDelivery::new(self.organization, entry, now));
            }
        }
        None
    }

    /// What becomes of its delivery that has not ended. One that it does not receive any more is dropped, so that an admin can
    /// skip an entry that the receiver refuses. One that only newer servers can read is left to them.
    pub fn resume(&self, begun: &EventDelivery, now: Timestamp) -> Resumption {
        let is_readable = AuditAction::parse(&begun.action).is_some();
        if !begun.is_leased(now) && !self.events.has(&begun.action) {
            Resumption::End(WebhookOutcome::Dropped)
        } else if now < begun.next_attempt_at || !is_readable {
            Resumption::Wait(begun.next_attempt_at)
        } else {
            Resumption::Send
        }
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
    /// Its end.
    pub ended: Option<Ended>,
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
            ended: None,
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
        let requests = in_a_row(self.attempts, now.since(self.created_at));
        if reply.is_success() {
            self.end(WebhookOutcome::Delivered, now);
        } else {
            self.next_attempt_at = now.plus(reply.pause(self.id.into(), requests));
        }
    }

    /// Ends it.
    pub fn end(&mut self, outcome: WebhookOutcome, now: Timestamp) {
        self.leased_until = None;
        self.ended = Some(Ended { at: now, outcome });
    }

    /// Returns whether a sender works on it.
    pub fn is_leased(&self, now: Timestamp) -> bool {
        self.leased_until.is_some_and(|until| now < until)
    }

    /// Its state: `sending`, `waiting` for the next request, or the outcome. One whose sender has died waits.
    pub fn state(&self, now: Timestamp) -> &'static str {
        match self.ended {
            Some(ended) => ended.outcome.as_str(),
            None if self.is_leased(now) => "sending",
            None => "waiting",
        }
    }

    /// The time of the next request, if it waits for one. To a disabled webhook, none is made.
    pub fn next_attempt(&self, is_disabled: bool, now: Timestamp) -> Option<Timestamp> {
        (self.ended.is_none() && !is_disabled && !self.is_leased(now)).then_some(self.next_attempt_at)
    }

    /// Returns whether its requests have failed for [`OVERDUE_AFTER`].
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        self.ended.is_none() && now.since(self.created_at) >= OVERDUE_AFTER
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

    fn hook(names: &[&str]) -> OrganizationWebhook {
        let url = WebhookUrl::checked("https://a.example/".to_owned());
        let secret = WebhookSecret::new("whsec_a".to_owned());
        let webhook = Webhook::new(url, secret, Timestamp::from_micros(0));
        let events = EventFilter::new(names.iter().map(|name| (*name).to_owned()).collect());
        OrganizationWebhook { organization: OrganizationId::NIL, webhook, events, seen: 3 }
    }

    #[test]
    fn entries_are_passed_over_until_one_is_received() {
        let now = Timestamp::from_micros(7);
        let mut hook = hook(&["key.*"]);
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
    fn a_delivery_that_is_not_received_any_more_is_dropped() {
        let now = Timestamp::from_micros(0);
        let mut hook = hook(&["key.*"]);
        let mut begun = hook.next([entry(1, "key.created")], now).unwrap();
        assert_eq!(hook.resume(&begun, now), Resumption::Send);
        begun.begin(now);
        assert_eq!(hook.resume(&begun, now), Resumption::Wait(now.plus(LEASE)));
        hook.events = EventFilter::new(vec!["agent.*".to_owned()]);
        assert_eq!(hook.resume(&begun, now), Resumption::Wait(now.plus(LEASE)), "its request is in flight");
        begun.settle(&Reply::Answered { status: 422, retry_after: None }, now);
        assert_eq!(hook.resume(&begun, now), Resumption::End(WebhookOutcome::Dropped));
        hook.events = EventFilter::default();
        assert_eq!(hook.resume(&begun, now), Resumption::Wait(begun.next_attempt_at));
        begun.action = "key.of_a_newer_server".to_owned();
        let later = begun.next_attempt_at;
        assert_eq!(hook.resume(&begun, later), Resumption::Wait(later));
    }

    #[test]
    fn a_delivery_is_repeated_until_it_succeeds() {
        let now = Timestamp::from_micros(0);
        let mut sent = EventDelivery::new(OrganizationId::NIL, entry(1, "key.created"), now);
        assert_eq!((sent.state(now), sent.next_attempt(false, now)), ("waiting", Some(now)));
        sent.begin(now);
        assert_eq!((sent.state(now), sent.next_attempt(false, now), sent.attempts), ("sending", None, 1));
        let later = now.plus(LEASE);
        assert_eq!((sent.state(later), sent.next_attempt(false, later)), ("waiting", Some(later)));
        let asked = Duration::from_secs(90);
        sent.settle(&Reply::Answered { status: 503, retry_after: Some(asked) }, now);
        assert_eq!((sent.status, sent.next_attempt(false, now)), (Some(503), Some(now.plus(asked))));
        assert_eq!(sent.next_attempt(true, now), None);
        assert!(sent.is_overdue(now.plus(OVERDUE_AFTER)));
        sent.begin(now.plus(asked));
        sent.settle(&Reply::Answered { status: 204, retry_after: None }, later);
        assert_eq!((sent.state(later), sent.attempts), ("delivered", 2));
        assert_eq!(sent.ended, Some(Ended { at: later, outcome: WebhookOutcome::Delivered }));
    }
}
