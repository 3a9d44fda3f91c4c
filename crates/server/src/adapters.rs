//! Adapters of the small ports: the machine's clock, and ids and API keys from its random source.

use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::account::{ApiKey, KeyDigest, KeyKind};
use domain::event::DomainEvent;
use domain::id::ParticipantId;
use domain::ports::{Clock, EventPublisher, IdGenerator, KeyMint, Presence};
use domain::time::Timestamp;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The machine's clock.
pub(crate) struct SystemClock;

#[expect(clippy::disallowed_methods, reason = "this is the one place of the server that reads the clocks")]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX))
    }

    fn steady(&self) -> Timestamp {
        /// The first use in this process, as an arbitrary reference.
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        Timestamp::from_micros(0).plus(START.elapsed())
    }
}

/// For commands, which have no sockets.
pub(crate) struct NobodyListens;

impl EventPublisher for NobodyListens {
    fn publish(&self, _: DomainEvent) {}
}

impl Presence for NobodyListens {
    fn is_online(&self, _: ParticipantId) -> bool {
        false
    }
}

/// UUID version 7: the time in milliseconds, then 74 random bits.
pub(crate) struct RandomIds;

impl IdGenerator for RandomIds {
    fn generate(&self, now: Timestamp) -> Uuid {
        uuid::Builder::from_unix_timestamp_millis(now.unix_millis(), &random()).into_uuid()
    }
}

/// Keys of 256 random bits, digested by SHA-256.
pub(crate) struct RandomKeys;

impl KeyMint for RandomKeys {
    /// `<prefix><unix seconds>_<43 characters>`.
    fn mint(&self, kind: KeyKind, now: Timestamp) -> ApiKey {
        let secret = URL_SAFE_NO_PAD.encode(random::<32>());
        let text = format!("{}{}_{secret}", kind.prefix(), now.unix_millis() / 1000);
        let digest = self.digest(&text);
        ApiKey::new(text, digest)
    }

    fn random_bytes(&self) -> [u8; 20] {
        random()
    }

    fn digest(&self, presented: &str) -> KeyDigest {
        KeyDigest::new(Sha256::digest(presented.as_bytes()).into())
    }

    /// Everything before the secret and eight of its characters; 208 random bits remain.
    fn prefix(&self, text: &str) -> String {
        text.chars().take(KeyKind::User.prefix().len() + "1234567890_".len() + 8).collect()
    }
}

/// Random bytes.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // Without randomness no id and no key is safe to issue; every supported system has it.
    getrandom::fill(&mut bytes).expect("the system's random source answers");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_their_prefix_and_never_repeat() {
        let now = SystemClock.now();
        let (user, agent) = (RandomKeys.mint(KeyKind::User, now), RandomKeys.mint(KeyKind::Agent, now));
        assert!(user.reveal().starts_with("thnv_u_") && agent.reveal().starts_with("thnv_a_"));
        assert_ne!(user.reveal(), RandomKeys.mint(KeyKind::User, now).reveal());
        assert_eq!(RandomKeys.digest(user.reveal()), user.digest());
        assert_ne!(RandomKeys.digest(agent.reveal()), user.digest());
        let secret = user.reveal().rsplit_once('_').map(|(_, secret)| secret.len());
        assert!(user.reveal().len() >= "thnv_u_1234567890_".len() + 43, "{secret:?}");
        let prefix = RandomKeys.prefix(user.reveal());
        assert!(user.reveal().len() - prefix.len() >= 35, "{prefix} gives too much away");
        assert_eq!(RandomKeys.prefix(&prefix), prefix);
    }

    #[test]
    fn ids_are_version_7_and_ordered_by_time() {
        let early = RandomIds.generate(Timestamp::from_micros(1_000_000_000_000));
        let late = RandomIds.generate(Timestamp::from_micros(1_000_000_002_000));
        assert_eq!((early.get_version_num(), late.get_version_num()), (7, 7));
        assert!(early < late);
    }
}
