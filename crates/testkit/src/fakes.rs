//! Deterministic fakes of the small ports.

use std::collections::HashSet;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use domain::account::{ApiKey, KeyDigest, KeyKind, TokenClaims};
use domain::event::DomainEvent;
use domain::id::{OrganizationId, ParticipantId, SessionId, UserId};
use domain::login::{HasherBusy, Password, PasswordCheck, PasswordHash, PasswordHasher};
use domain::ports::{Clock, EventPublisher, IdGenerator, KeyMint, Presence, TokenMint};
use domain::time::Timestamp;
use domain::webhook::{WebhookMint, WebhookSecret, WebhookUrl, WebhookUrlFault};
use uuid::Uuid;

/// A clock that moves only when told.
pub struct FixedClock {
    now: AtomicI64,
    steady: AtomicI64,
}

impl FixedClock {
    /// A clock that stands at `now`.
    pub fn at(now: Timestamp) -> Self {
        Self { now: AtomicI64::new(now.micros()), steady: AtomicI64::new(now.micros()) }
    }

    /// Moves it forward.
    pub fn advance(&self, duration: Duration) {
        let micros = i64::try_from(duration.as_micros()).unwrap();
        self.now.fetch_add(micros, Ordering::SeqCst);
        self.steady.fetch_add(micros, Ordering::SeqCst);
    }

    /// Time passes until `now`; if that is in the past, the clock is only set.
    pub fn set(&self, now: Timestamp) {
        let passed = now.micros() - self.now.swap(now.micros(), Ordering::SeqCst);
        self.steady.fetch_add(passed.max(0), Ordering::SeqCst);
    }

    /// Sets the wall clock to `now`; no time passes.
    pub fn jump(&self, now: Timestamp) {
        self.now.store(now.micros(), Ordering::SeqCst);
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.now.load(Ordering::SeqCst))
    }

    fn steady(&self) -> Timestamp {
        Timestamp::from_micros(self.steady.load(Ordering::SeqCst))
    }
}

/// Ids 1, 2, 3 …, as UUIDs of version 7 that carry the time.
#[derive(Default)]
pub struct SequentialIds(AtomicU64);

impl IdGenerator for SequentialIds {
    fn generate(&self, now: Timestamp) -> Uuid {
        let number = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        let mut counter = [0; 10];
        counter[2..].copy_from_slice(&number.to_be_bytes());
        uuid::Builder::from_unix_timestamp_millis(now.unix_millis(), &counter).into_uuid()
    }
}

/// Keys `thnv_u_1`, `thnv_a_2` …; the digest is a plain function of the text, the prefix is the text. Random bytes begin
/// with their number.
#[derive(Default)]
pub struct FixedMint(AtomicU64);

impl KeyMint for FixedMint {
    fn mint(&self, kind: KeyKind, _: Timestamp) -> ApiKey {
        let number = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        let text = format!("{}{number}", kind.prefix());
        let digest = self.digest(&text);
        ApiKey::new(text, digest)
    }

    fn random_bytes(&self) -> [u8; 20] {
        let number = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        let mut bytes = [0; 20];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        bytes
    }

    fn digest(&self, presented: &str) -> KeyDigest {
        let mut bytes = [0_u8; 32];
        for (index, byte) in presented.bytes().enumerate() {
            let place = index % bytes.len();
            bytes[place] = bytes[place].wrapping_mul(31).wrapping_add(byte);
        }
        bytes[31] = bytes[31].wrapping_add(u8::try_from(presented.len() % 256).unwrap());
        KeyDigest::new(bytes)
    }

    fn prefix(&self, text: &str) -> String {
        text.to_owned()
    }
}

/// Secrets `whsec_0001`, `whsec_0002` …; every address with `https://` is accepted as it is.
#[derive(Default)]
pub struct FixedWebhookMint(AtomicU64);

impl WebhookMint for FixedWebhookMint {
    fn url(&self, text: &str) -> Result<WebhookUrl, WebhookUrlFault> {
        let is_good = text.starts_with("https://");
        if is_good { Ok(WebhookUrl::checked(text.to_owned())) } else { Err(WebhookUrlFault::Malformed) }
    }

    fn secret(&self) -> WebhookSecret {
        let number = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        WebhookSecret::new(format!("whsec_{number:04}"))
    }
}

/// Passwords that stand openly in their hashes: `plain.<costs>.<password>`.
#[derive(Default)]
pub struct FixedHasher(AtomicU64);

impl FixedHasher {
    /// From now on hashes cost more, and those from before are outdated.
    pub fn raise_costs(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn hashed(&self, password: &Password) -> PasswordHash {
        PasswordHash::new(format!("plain.{}.{}", self.0.load(Ordering::SeqCst), password.reveal()))
    }
}

#[async_trait]
impl PasswordHasher for FixedHasher {
    async fn hash(&self, password: Password) -> Result<PasswordHash, HasherBusy> {
        Ok(self.hashed(&password))
    }

    async fn verify(
        &self,
        password: Password,
        hash: Option<PasswordHash>,
    ) -> Result<PasswordCheck, HasherBusy> {
        let Some(hash) = hash else { return Ok(PasswordCheck::Wrong) };
        let known = hash.as_str().splitn(3, '.').nth(2);
        Ok(match (known == Some(password.reveal()), hash == self.hashed(&password)) {
            (false, _) => PasswordCheck::Wrong,
            (true, true) => PasswordCheck::Right,
            (true, false) => PasswordCheck::RightButOutdated,
        })
    }
}

/// Tokens that say openly what they say:
/// `plain.<user>.<organization>.<from>.<until>.<password set at>.<session>`.
pub struct PlainTokens;

impl TokenMint for PlainTokens {
    fn sign(&self, claims: &TokenClaims) -> String {
        let (from, until) = (claims.issued_at.micros(), claims.expires_at.micros());
        let set_at = claims.password_set_at.map_or_else(String::new, |at| at.micros().to_string());
        let session = claims.session.map_or_else(String::new, |session| session.to_string());
        format!("plain.{}.{}.{from}.{until}.{set_at}.{session}", claims.user, claims.organization)
    }

    fn verify(&self, presented: &str) -> Option<TokenClaims> {
        let mut parts = presented.strip_prefix("plain.")?.split('.');
        let mut next = || parts.next();
        Some(TokenClaims {
            user: UserId::parse(next()?)?,
            organization: OrganizationId::parse(next()?)?,
            issued_at: Timestamp::from_micros(next()?.parse().ok()?),
            expires_at: Timestamp::from_micros(next()?.parse().ok()?),
            password_set_at: match next()? {
                "" => None,
                at => Some(Timestamp::from_micros(at.parse().ok()?)),
            },
            session: match next()? {
                "" => None,
                id => Some(SessionId::parse(id)?),
            },
        })
    }
}

/// Remembers every event.
#[derive(Default)]
pub struct RecordingPublisher(Mutex<Vec<DomainEvent>>);

impl RecordingPublisher {
    /// The events published since the last call, in order.
    pub fn take(&self) -> Vec<DomainEvent> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl EventPublisher for RecordingPublisher {
    fn publish(&self, event: DomainEvent) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }
}

/// The users and agents that a test declared online.
#[derive(Default)]
pub struct FixedPresence(Mutex<HashSet<ParticipantId>>);

impl FixedPresence {
    /// From now on `who` is online.
    pub fn connect(&self, who: ParticipantId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(who);
    }
}

impl Presence for FixedPresence {
    fn is_online(&self, who: ParticipantId) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&who)
    }
}
