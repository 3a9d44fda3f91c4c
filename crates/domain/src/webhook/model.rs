//! A webhook, and the deliveries to it.

use std::fmt;
use std::time::Duration;

use super::schedule::OVERDUE_AFTER;
use crate::id::{AgentId, ChatId, MessageId, Sequence, WebhookDeliveryId};
use crate::page::Position;
use crate::time::Timestamp;
use crate::words::words;

/// How long requests are also signed with a secret that was replaced.
const PREVIOUS_SECRET_LASTS: Duration = Duration::from_secs(24 * 60 * 60);

/// The number of replaced secrets that requests are also signed with.
const PREVIOUS_SECRETS: usize = 2;

/// A URL that was checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WebhookUrl(String);

impl WebhookUrl {
    /// The maximum number of characters.
    pub const MAX_CHARS: usize = 2_000;

    /// A URL that a [`WebhookMint`](super::WebhookMint) has checked, or that a store has kept.
    pub const fn checked(text: String) -> Self {
        Self(text)
    }

    /// The URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The scheme, the host, and the port.
    pub fn origin(&self) -> &str {
        let host_at = self.0.find("://").map_or(0, |at| at + 3);
        let end = self.0[host_at..].find(['/', '?']).map_or(self.0.len(), |end| host_at + end);
        &self.0[..end]
    }
}

/// A secret that requests are signed with: `whsec_` and base64. Shown only to the owner, once.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(String);

impl WebhookSecret {
    /// Wraps the text.
    pub const fn new(text: String) -> Self {
        Self(text)
    }

    /// The text.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret")
    }
}

/// A secret that was replaced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PreviousSecret {
    /// The secret.
    pub secret: WebhookSecret,
    /// Requests are signed with it until then.
    pub until: Timestamp,
}

words! {
    /// The reason why the server has disabled a webhook.
    DisabledReason {
        /// The receiver answered 410.
        Gone = "gone",
        /// No request has succeeded for too long.
        Failing = "failing",
    }

    /// How a delivery ended.
    WebhookOutcome {
        /// The receiver accepted it, or the agent received or processed the message another way.
        Delivered = "delivered",
        /// The message was deleted, is dead or held, or is no longer for the agent.
        Dropped = "dropped",
    }
}

/// The end of a webhook until its owner enables it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Disabled {
    /// The time.
    pub at: Timestamp,
    /// The reason.
    pub reason: DisabledReason,
}

/// A webhook, of an agent or of an organization.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Webhook {
    /// The URL.
    pub url: WebhookUrl,
    /// The secret.
    pub secret: WebhookSecret,
    /// The secrets before it, newest first, also those that have expired; at most two.
    pub previous: Vec<PreviousSecret>,
    /// The first failure since the last success.
    pub failing_since: Option<Timestamp>,
    /// The time of the warning that all requests fail.
    pub warned_at: Option<Timestamp>,
    /// Set if nothing is sent.
    pub disabled: Option<Disabled>,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// The time of the owner's last change.
    pub updated_at: Timestamp,
}

impl Webhook {
    /// A new webhook.
    pub const fn new(url: WebhookUrl, secret: WebhookSecret, now: Timestamp) -> Self {
        Self {
            url,
            secret,
            previous: Vec::new(),
            failing_since: None,
            warned_at: None,
            disabled: None,
            created_at: now,
            updated_at: now,
        }
    }

    /// Its status: `active`, `failing` after the warning, or `disabled`.
    pub const fn status(&self) -> &'static str {
        if self.disabled.is_some() {
            "disabled"
        } else if self.warned_at.is_some() {
            "failing"
        } else {
            "active"
        }
    }

    /// The newest of the previous secrets, while it is used.
    pub fn valid_previous(&self, now: Timestamp) -> Option<&PreviousSecret> {
        self.previous.first().filter(|previous| now < previous.until)
    }

    /// The secrets that a request is signed with, the current one first.
    pub fn secrets(&self, now: Timestamp) -> Vec<&WebhookSecret> {
        let previous = self.previous.iter().filter(|previous| now < previous.until);
        std::iter::once(&self.secret).chain(previous.map(|previous| &previous.secret)).collect()
    }

    /// Replaces the secret. The one that was replaced stays valid for 24 hours, and so does the one before it: if the response
    /// to a rotation was lost and the rotation repeated, the receiver may have either. With `revoke_previous`, only the new one
    /// is valid.
    pub fn rotate(&mut self, fresh: WebhookSecret, revoke_previous: bool, now: Timestamp) {
        let replaced = std::mem::replace(&mut self.secret, fresh);
        self.previous.insert(0, PreviousSecret { secret: replaced, until: now.plus(PREVIOUS_SECRET_LASTS) });
        self.previous.retain(|previous| !revoke_previous && now < previous.until);
        self.previous.truncate(PREVIOUS_SECRETS);
        self.updated_at = now;
    }

    /// Resumes requests, and forgets earlier failures.
    pub fn enable(&mut self, now: Timestamp) {
        (self.disabled, self.failing_since, self.warned_at) = (None, None, None);
        self.updated_at = now;
    }

    /// Changes the URL; a different one is tried even if the webhook was disabled.
    pub fn set_url(&mut self, url: WebhookUrl, now: Timestamp) {
        if self.url != url {
            self.url = url;
            self.enable(now);
        }
    }
}

/// The webhook of an agent that the server has disabled, or all of whose requests have failed for a day.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailingWebhook {
    /// The agent.
    pub agent: AgentId,
    /// Its handle.
    pub handle: String,
    /// Its name.
    pub name: String,
    /// Set if it is disabled.
    pub disabled: Option<DisabledReason>,
    /// The time of the warning, or at which it was disabled.
    pub since: Timestamp,
}

impl FailingWebhook {
    /// What has happened, in a sentence.
    pub fn summary(&self) -> String {
        let handle = &self.handle;
        match self.disabled {
            Some(DisabledReason::Gone) => {
                format!("The webhook of @{handle} was disabled: its receiver responded with 410.")
            }
            Some(DisabledReason::Failing) => {
                format!("The webhook of @{handle} was disabled: all requests have failed for days.")
            }
            None => format!("All requests to the webhook of @{handle} have failed for a day."),
        }
    }
}

/// The end of a delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ended {
    /// The time.
    pub at: Timestamp,
    /// The outcome.
    pub outcome: WebhookOutcome,
}

/// The requests for one message to one webhook.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WebhookDelivery {
    /// Its id, which the receiver sees with each request.
    pub id: WebhookDeliveryId,
    /// The agent.
    pub agent: AgentId,
    /// The chat.
    pub chat: ChatId,
    /// The message.
    pub message: MessageId,
    /// The sequence of the message.
    pub sequence: Sequence,
    /// The time of the first request, or at which the owner had it sent again.
    pub created_at: Timestamp,
    /// The number of requests.
    pub attempts: u32,
    /// No request is made before.
    pub next_attempt_at: Timestamp,
    /// Set while a sender works on it; once this time has passed, the sender counts as dead.
    pub leased_until: Option<Timestamp>,
    /// The time of the last request since it began or started over.
    pub attempted_at: Option<Timestamp>,
    /// The status of the answer to that request.
    pub status: Option<u16>,
    /// The reason why that request got no answer.
    pub error: Option<String>,
    /// Its end.
    pub ended: Option<Ended>,
}

impl WebhookDelivery {
    /// A delivery without a request.
    pub const fn new(
        id: WebhookDeliveryId,
        agent: AgentId,
        chat: ChatId,
        message: MessageId,
        sequence: Sequence,
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            agent,
            chat,
            message,
            sequence,
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

    /// Its position in the list of its agent.
    pub fn position(&self) -> Position {
        Position::at(self.created_at.micros(), self.id)
    }

    /// Begins the next request, on a lease.
    pub fn begin(&mut self, lease_until: Timestamp, now: Timestamp) {
        self.attempts = self.attempts.saturating_add(1);
        self.attempted_at = Some(now);
        self.leased_until = Some(lease_until);
        self.next_attempt_at = lease_until;
        (self.status, self.error) = (None, None);
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

    /// Starts it over. Its requests are counted on, so that a late answer to an earlier one is not taken for one to the next.
    pub fn restart(&mut self, now: Timestamp) {
        (self.attempted_at, self.status, self.error) = (None, None, None);
        (self.ended, self.leased_until) = (None, None);
        (self.created_at, self.next_attempt_at) = (now, now);
    }
}
