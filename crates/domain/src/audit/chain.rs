//! The chain of digests over the audit log.
//!
//! Entries are written with the change that they record, and sealed shortly after: a seal gives an
//! entry the next number, and a digest over the entry and the digest before it. A change, removal,
//! or move of a sealed entry breaks the chain at that entry. See `docs/adr/0013-audit-chain.md`.

use std::fmt;
use std::str::FromStr;

use crate::id::{AuditEntryId, OrganizationId, SubjectId};
use crate::time::Timestamp;
use sha2::{Digest, Sha256};

/// The beginning of every digested text, so that no digest can be taken for one of another kind.
const DOMAIN: &[u8] = b"parlance audit 1";

/// A digest of the chain (SHA-256).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ChainDigest(pub [u8; 32]);

impl fmt::Display for ChainDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A position in the chain: the number of entries sealed so far, and the digest over all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChainLink {
    /// The number of the entry; the first is 1.
    pub number: i64,
    /// The digest over the entry and all before it.
    pub digest: ChainDigest,
}

impl ChainLink {
    /// Before the first entry.
    pub const START: Self = Self { number: 0, digest: ChainDigest([0; 32]) };

    /// The seal of the entry that follows this one.
    #[must_use]
    pub fn next(self, entry: &StoredEntry) -> Self {
        Self { number: self.number + 1, digest: entry.digest_after(self.digest) }
    }
}

impl fmt::Display for ChainLink {
    /// The form for operators: the number, a colon, and the digest.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.number, self.digest)
    }
}

impl FromStr for ChainLink {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault =
            || format!("'{text}' is not an anchor, as `parlance audit verify` prints one: NUMBER:DIGEST");
        let (number, digest) = text.trim().split_once(':').ok_or_else(fault)?;
        let number = number.parse::<i64>().ok().filter(|number| *number > 0).ok_or_else(fault)?;
        let mut bytes = [0; 32];
        if digest.len() != 64 || !digest.is_ascii() {
            return Err(fault());
        }
        for (index, byte) in bytes.iter_mut().enumerate() {
            let pair = &digest[index * 2..index * 2 + 2];
            *byte = u8::from_str_radix(pair, 16).map_err(|_| fault())?;
        }
        Ok(Self { number, digest: ChainDigest(bytes) })
    }
}

/// An object of a stored entry, as stored.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StoredObject {
    /// Its kind.
    pub kind: Option<String>,
    /// Its id.
    pub id: Option<SubjectId>,
    /// Its name when the entry was written.
    pub name: Option<String>,
}

/// A stored entry, possibly of a newer program: the data that its digest covers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredEntry {
    /// Identifier.
    pub id: AuditEntryId,
    /// The time of the action.
    pub at: Timestamp,
    /// The organization that it belongs to.
    pub organization: Option<OrganizationId>,
    /// The actor.
    pub actor: StoredObject,
    /// The action.
    pub action: String,
    /// The subject.
    pub subject: StoredObject,
    /// What the subject belongs to, or who the action was for: the chat of a participant, the holder of a key.
    pub place: StoredObject,
    /// The detail.
    pub detail: Option<String>,
}

impl StoredEntry {
    /// The digest of this entry if it follows one with the digest `before`. Each field is written
    /// with its length, so that no two entries give the same bytes. U+0000 counts as U+FFFD: not
    /// every store can hold it, and a log that was moved to such a store stays verifiable.
    pub fn digest_after(&self, before: ChainDigest) -> ChainDigest {
        let mut hash = Sha256::new();
        hash.update(DOMAIN);
        hash.update(before.0);
        hash.update(self.id.uuid().as_bytes());
        hash.update(self.at.micros().to_be_bytes());
        let objects = [&self.actor, &self.subject, &self.place];
        let organization = self.organization.map(OrganizationId::uuid);
        let ids = [organization].into_iter().chain(objects.map(|object| object.id.map(SubjectId::uuid)));
        for id in ids {
            field(&mut hash, id.as_ref().map(|id| id.as_bytes().as_slice()));
        }
        let texts = [Some(&self.action), self.detail.as_ref()];
        let named = objects.into_iter().flat_map(|object| [object.kind.as_ref(), object.name.as_ref()]);
        for text in texts.into_iter().chain(named) {
            let text = text.map(|text| text.replace('\0', "\u{FFFD}"));
            field(&mut hash, text.as_deref().map(str::as_bytes));
        }
        ChainDigest(hash.finalize().into())
    }
}

/// Distinguishes an absent field from an empty one.
fn field(hash: &mut Sha256, bytes: Option<&[u8]>) {
    match bytes {
        None => hash.update([0]),
        Some(bytes) => {
            hash.update([1]);
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        }
    }
}

/// A sealed entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SealedEntry {
    /// The seal.
    pub seal: ChainLink,
    /// The entry.
    pub entry: StoredEntry,
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn entry() -> StoredEntry {
        let object = |kind: &str, id: u128, name: &str| StoredObject {
            kind: Some(kind.to_owned()),
            id: Some(SubjectId::new(Uuid::from_u128(id))),
            name: Some(name.to_owned()),
        };
        StoredEntry {
            id: AuditEntryId::new(Uuid::from_u128(1)),
            at: Timestamp::from_micros(1_700_000_000_000_000),
            organization: Some(OrganizationId::new(Uuid::from_u128(2))),
            actor: object("User", 3, "ann"),
            action: "key.created".to_owned(),
            subject: object("ApiKey", 4, "thnv_u_1"),
            place: object("User", 3, "ann"),
            detail: Some("x".to_owned()),
        }
    }

    /// A change of the digest would break every existing chain.
    #[test]
    fn the_digest_is_what_it_always_was() {
        let seal = ChainLink::START.next(&entry());
        assert_eq!(seal.to_string(), "1:16ac1cf126d6b763dfa76c682414e52e8f8d21487d0d6d4dae6bbf463baaca0a");
    }

    #[test]
    fn a_change_of_any_field_changes_the_digest() {
        let alterations: [fn(&mut StoredEntry); 15] = [
            |entry| entry.id = AuditEntryId::NIL,
            |entry| entry.at = Timestamp::from_micros(1),
            |entry| entry.organization = None,
            |entry| entry.actor.kind = Some("Agent".to_owned()),
            |entry| entry.actor.id = None,
            |entry| entry.actor.name = Some("ben".to_owned()),
            |entry| entry.action = "key.revoked".to_owned(),
            |entry| entry.subject.kind = None,
            |entry| entry.subject.id = Some(SubjectId::NIL),
            |entry| entry.subject.name = None,
            |entry| entry.place.kind = None,
            |entry| entry.place.id = None,
            |entry| entry.place.name = Some(String::new()),
            |entry| entry.detail = None,
            |entry| std::mem::swap(&mut entry.actor.name, &mut entry.subject.name),
        ];
        let whole = entry().digest_after(ChainLink::START.digest);
        for (number, change) in alterations.into_iter().enumerate() {
            let mut changed = entry();
            change(&mut changed);
            assert_ne!(changed.digest_after(ChainLink::START.digest), whole, "change {number}");
        }
        assert_ne!(entry().digest_after(whole), whole);
    }

    #[test]
    fn a_character_that_not_every_store_keeps_does_not_break_the_chain() {
        let with = |detail: &str| StoredEntry { detail: Some(detail.to_owned()), ..entry() };
        let before = ChainLink::START.digest;
        assert_eq!(with("a\0b").digest_after(before), with("a\u{FFFD}b").digest_after(before));
    }

    #[test]
    fn an_anchor_is_read_as_it_was_written() {
        let seal = ChainLink::START.next(&entry());
        assert_eq!(seal.to_string().parse(), Ok(seal));
        let long = "ä".repeat(32);
        for bad in
            ["", "1", "1:", "1:abc", "0:00", "x:y", &format!("1:{long}"), &format!("-1:{}", seal.digest)]
        {
            assert!(bad.parse::<ChainLink>().is_err(), "{bad}");
        }
    }
}
