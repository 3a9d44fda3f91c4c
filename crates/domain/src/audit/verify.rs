//! Checking the chain of the audit log.

use std::time::Duration;

use super::chain::{ChainDigest, ChainLink, SealedEntry, StoredEntry};
use super::service::AuditService;
use crate::id::AuditEntryId;
use crate::store::StoreError;
use crate::time::Timestamp;

/// The number of sealed entries that are read at a time.
const PAGE: u32 = 500;

/// The number of findings that are reported; the rest is counted.
const MOST_FINDINGS: usize = 100;

/// The age from which an entry without a seal is a fault, on any machine and with any clock.
const SEALED_WITHIN: Duration = Duration::from_secs(60);

/// The number of misplaced entries whose original position is searched; each costs a digest per entry
/// of the log.
const MAX_SOUGHT: usize = 16;

/// The state of the sealing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AuditState {
    /// The newest seal, which the store keeps apart from the entries; `None` if nothing was ever
    /// sealed.
    pub head: Option<ChainLink>,
    /// The number of unsealed entries.
    pub unsealed: u64,
    /// The time of the oldest of them.
    pub unsealed_since: Option<Timestamp>,
}

impl AuditState {
    /// The time since which entries should have been sealed: a server seals them within a second,
    /// and an entry without a seal can be changed without a trace.
    pub fn overdue(&self, now: Timestamp) -> Option<Timestamp> {
        self.unsealed_since.filter(|since| since.plus(SEALED_WITHIN) < now)
    }
}

/// A fault of the chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChainFault {
    /// Entries with these numbers are missing.
    Missing {
        /// The first.
        from: i64,
        /// The last.
        to: i64,
    },
    /// An entry does not match its digest: it was changed, or the one before it was removed.
    Altered {
        /// Its number.
        number: i64,
        /// Its id.
        id: AuditEntryId,
    },
    /// An entry was sealed after a different one than it follows now.
    Moved {
        /// Its number.
        number: i64,
        /// Its id.
        id: AuditEntryId,
        /// The number of the entry that it was sealed after; 0 for the beginning.
        sealed_after: i64,
    },
    /// An entry has a number that no seal can have.
    Unexpected {
        /// The number.
        number: i64,
        /// Its id.
        id: AuditEntryId,
    },
    /// The store's record of the newest seal is missing, or different.
    Head {
        /// The newest entry that was found.
        last: ChainLink,
    },
    /// The chain does not contain the anchor: it was rewritten since, or cut before it.
    Anchor(ChainLink),
}

/// The result of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChainReport {
    /// The number of checked entries.
    pub checked: u64,
    /// The state of the sealing; unsealed entries are not checked. The newest seal is an anchor to
    /// be kept elsewhere.
    pub state: AuditState,
    /// The faults, in the order of the chain; at most a hundred.
    pub faults: Vec<ChainFault>,
    /// The number of all faults.
    pub fault_count: u64,
}

/// A check in progress.
struct Check {
    anchor: Option<ChainLink>,
    is_anchored: bool,
    /// The stored seal of the previous entry.
    last: ChainLink,
    /// The digest that the previous entry should have, if known.
    computed: Option<ChainDigest>,
    checked: u64,
    faults: Vec<ChainFault>,
    fault_count: u64,
    /// Misplaced entries, with the fault that reports each.
    misfits: Vec<(usize, StoredEntry, ChainDigest)>,
}

impl Check {
    fn new(anchor: Option<ChainLink>) -> Self {
        Self {
            anchor,
            is_anchored: anchor.is_none(),
            last: ChainLink::START,
            computed: Some(ChainLink::START.digest),
            checked: 0,
            faults: Vec::new(),
            fault_count: 0,
            misfits: Vec::new(),
        }
    }

    fn found(&mut self, fault: ChainFault) {
        self.fault_count += 1;
        if self.faults.len() < MOST_FINDINGS {
            self.faults.push(fault);
        }
    }

    /// Checks the entry with the next higher number.
    fn entry(&mut self, sealed: SealedEntry) {
        let SealedEntry { seal, entry } = sealed;
        self.checked += 1;
        self.is_anchored |= self.anchor == Some(seal);
        let expected = self.last.number + 1;
        if seal.number < expected {
            return self.found(ChainFault::Unexpected { number: seal.number, id: entry.id });
        }
        let computed = if seal.number == expected {
            let after = |before: ChainDigest| entry.digest_after(before);
            // If only a digest was changed, the next entry still follows the original one.
            let fits = after(self.last.digest) == seal.digest
                || self.computed.is_none()
                || self.computed.is_some_and(|computed| after(computed) == seal.digest);
            let computed = after(self.last.digest);
            if !fits {
                self.found(ChainFault::Altered { number: seal.number, id: entry.id });
                if self.misfits.len() < MAX_SOUGHT && self.faults.len() < MOST_FINDINGS {
                    self.misfits.push((self.faults.len() - 1, entry, seal.digest));
                }
            }
            Some(computed)
        } else {
            // The predecessor is gone, so this entry cannot be checked.
            self.found(ChainFault::Missing { from: expected, to: seal.number - 1 });
            Some(seal.digest)
        };
        (self.last, self.computed) = (seal, computed);
    }

    /// Searches the misplaced entries for one that was sealed after this seal.
    fn find_origin(&mut self, seal: ChainLink) {
        let faults = &mut self.faults;
        self.misfits.retain(|(fault, entry, digest)| {
            let belongs = entry.digest_after(seal.digest) == *digest;
            if let (true, ChainFault::Altered { number, id }) = (belongs, faults[*fault]) {
                faults[*fault] = ChainFault::Moved { number, id, sealed_after: seal.number };
            }
            !belongs
        });
    }

    fn end(&mut self, state: &AuditState) {
        match state.head {
            Some(head) if head.number > self.last.number => {
                self.found(ChainFault::Missing { from: self.last.number + 1, to: head.number });
            }
            head if head.unwrap_or(ChainLink::START) != self.last => {
                self.found(ChainFault::Head { last: self.last });
            }
            _ => {}
        }
        if let (false, Some(anchor)) = (self.is_anchored, self.anchor) {
            self.found(ChainFault::Anchor(anchor));
        }
    }
}

impl AuditService {
    /// The state of the sealing.
    pub async fn state(&self) -> Result<AuditState, StoreError> {
        self.log.audit_state().await
    }

    /// Returns whether the chain still contains a seal that was its newest.
    pub async fn goes_through(&self, seal: ChainLink) -> Result<bool, StoreError> {
        let found = self.log.sealed_audit(Some(seal.number - 1), 1).await?;
        Ok(found.first().is_some_and(|sealed| sealed.seal == seal))
    }

    /// Checks every sealed entry. With an anchor, an earlier seal, it also checks that the chain
    /// still contains it, which an attacker with write access to the database cannot forge.
    pub async fn verify(&self, anchor: Option<ChainLink>) -> Result<ChainReport, StoreError> {
        let state = self.log.audit_state().await?;
        let newest = state.head.map_or(i64::MAX, |head| head.number);
        let mut check = Check::new(anchor);
        let mut after = None;
        while let Some(page) = self.page(&mut after).await? {
            // Entries sealed since the state was read are not part of this check.
            let is_known = |sealed: &SealedEntry| sealed.seal.number <= newest;
            let (known, newer) = page.into_iter().partition::<Vec<_>, _>(is_known);
            for sealed in known {
                check.entry(sealed);
            }
            if let Some(first) = newer.first() {
                let head = self.log.audit_state().await?.head;
                if head.is_none_or(|head| head.number < first.seal.number) {
                    check.found(ChainFault::Unexpected { number: first.seal.number, id: first.entry.id });
                }
                break;
            }
        }
        check.end(&state);
        if !check.misfits.is_empty() {
            check.find_origin(ChainLink::START);
            let mut after = None;
            while let Some(page) = self.page(&mut after).await? {
                for sealed in page {
                    check.find_origin(sealed.seal);
                }
            }
        }
        let Check { checked, faults, fault_count, .. } = check;
        Ok(ChainReport { checked, state, faults, fault_count })
    }

    async fn page(&self, after: &mut Option<i64>) -> Result<Option<Vec<SealedEntry>>, StoreError> {
        let page = self.log.sealed_audit(*after, PAGE).await?;
        *after = page.last().map(|last| last.seal.number);
        Ok((!page.is_empty()).then_some(page))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use async_trait::async_trait;
    use uuid::Uuid;

    use super::super::chain::StoredObject;
    use super::super::entry::AuditEntry;
    use super::super::port::{AuditFilter, AuditRecord, AuditRepository};
    use super::*;
    use crate::organization::NotAdmin;
    use crate::page::{Page, PageRequest};

    /// A log that tests tamper with.
    struct Log(Mutex<(Vec<SealedEntry>, Option<ChainLink>)>);

    #[async_trait]
    impl AuditRepository for Log {
        async fn list_audit(
            &self,
            _: AuditFilter,
            _: PageRequest,
        ) -> Result<Result<Page<AuditRecord>, NotAdmin>, StoreError> {
            Ok(Err(NotAdmin))
        }

        async fn append_audit(&self, _: Vec<AuditEntry>) -> Result<(), StoreError> {
            Ok(())
        }

        async fn seal_audit(&self, _: u32) -> Result<u32, StoreError> {
            Ok(0)
        }

        async fn audit_state(&self) -> Result<AuditState, StoreError> {
            Ok(AuditState { head: self.0.lock().unwrap().1, unsealed: 0, unsealed_since: None })
        }

        async fn sealed_audit(&self, after: Option<i64>, limit: u32) -> Result<Vec<SealedEntry>, StoreError> {
            let mut rows = self.0.lock().unwrap().0.clone();
            rows.sort_by_key(|sealed| sealed.seal.number);
            rows.retain(|sealed| after.is_none_or(|after| sealed.seal.number > after));
            rows.truncate(limit as usize);
            Ok(rows)
        }
    }

    fn chain(length: i64) -> Vec<SealedEntry> {
        let mut seal = ChainLink::START;
        let entry = |number: i64| StoredEntry {
            id: id(number.unsigned_abs().into()),
            at: Timestamp::from_micros(number),
            organization: None,
            actor: StoredObject::default(),
            action: "chat.created".to_owned(),
            subject: StoredObject::default(),
            place: StoredObject::default(),
            detail: None,
        };
        let sealed = |number| {
            let entry = entry(number);
            seal = seal.next(&entry);
            SealedEntry { seal, entry }
        };
        (1..=length).map(sealed).collect()
    }

    /// The findings after tampering with a chain of twelve hundred entries and its head.
    async fn found(tamper: impl FnOnce(&mut Vec<SealedEntry>, &mut Option<ChainLink>)) -> Vec<ChainFault> {
        let mut rows = chain(1200);
        let mut head = rows.last().map(|sealed| sealed.seal);
        tamper(&mut rows, &mut head);
        let log = Arc::new(Log(Mutex::new((rows, head))));
        let report = AuditService::new(log).verify(None).await.unwrap();
        assert_eq!(report.fault_count, report.faults.len() as u64);
        report.faults
    }

    fn id(number: u128) -> AuditEntryId {
        AuditEntryId::new(Uuid::from_u128(number))
    }

    #[tokio::test]
    async fn an_untouched_chain_has_no_fault() {
        assert_eq!(found(|_, _| ()).await, []);
    }

    #[tokio::test]
    async fn a_changed_entry_is_named_and_no_other() {
        let found = found(|rows, _| rows[699].entry.detail = Some("admin".to_owned())).await;
        assert_eq!(found, [ChainFault::Altered { number: 700, id: id(700) }]);
        let first = super::tests::found(|rows, _| rows[0].entry.at = Timestamp::from_micros(0)).await;
        assert_eq!(first, [ChainFault::Altered { number: 1, id: id(1) }]);
        let last = super::tests::found(|rows, _| rows[1199].entry.action = "x".to_owned()).await;
        assert_eq!(last, [ChainFault::Altered { number: 1200, id: id(1200) }]);
    }

    #[tokio::test]
    async fn a_changed_digest_is_named_and_no_other() {
        let found = found(|rows, _| rows[699].seal.digest = ChainDigest([7; 32])).await;
        assert_eq!(found, [ChainFault::Altered { number: 700, id: id(700) }]);
    }

    #[tokio::test]
    async fn missing_entries_are_named_at_the_beginning_in_the_middle_and_at_the_end() {
        for (range, from, to) in [(0..1, 1, 1), (499..501, 500, 501), (1198..1200, 1199, 1200)] {
            let found = found(|rows, _| drop(rows.drain(range))).await;
            assert_eq!(found, [ChainFault::Missing { from, to }]);
        }
        assert_eq!(found(|rows, _| rows.clear()).await, [ChainFault::Missing { from: 1, to: 1200 }]);
    }

    /// Renumbering the entries after a gap is found as well.
    #[tokio::test]
    async fn an_entry_behind_a_closed_gap_does_not_fit() {
        let found = found(|rows, head| {
            rows.remove(99);
            rows[99..].iter_mut().for_each(|sealed| sealed.seal.number -= 1);
            *head = rows.last().map(|sealed| sealed.seal);
        });
        assert_eq!(found.await, [ChainFault::Altered { number: 100, id: id(101) }]);
    }

    #[tokio::test]
    async fn entries_that_changed_places_are_told_from_changed_ones() {
        let found = found(|rows, _| {
            (rows[99].seal.number, rows[799].seal.number) = (rows[799].seal.number, rows[99].seal.number);
        });
        let moved = |number, entry, sealed_after| ChainFault::Moved { number, id: id(entry), sealed_after };
        // The two, and those after them, which now follow another entry.
        let expected =
            [moved(100, 800, 799), moved(101, 101, 800), moved(800, 100, 99), moved(801, 801, 100)];
        assert_eq!(found.await, expected);
    }

    #[tokio::test]
    async fn a_record_of_the_newest_seal_that_does_not_fit_is_a_fault() {
        let last = chain(1200).pop().unwrap();
        assert_eq!(found(|_, head| *head = None).await, [ChainFault::Head { last: last.seal }]);
        let other = ChainLink { number: 1200, digest: ChainDigest([7; 32]) };
        assert_eq!(found(|_, head| *head = Some(other)).await, [ChainFault::Head { last: last.seal }]);
        let before = chain(1199).pop().unwrap();
        let found = found(|_, head| *head = Some(before.seal)).await;
        assert_eq!(found, [ChainFault::Unexpected { number: 1200, id: id(1200) }]);
    }

    #[tokio::test]
    async fn a_number_below_one_is_a_fault() {
        let found = found(|rows, _| {
            let mut forged = rows[3].clone();
            (forged.seal.number, forged.entry.id) = (0, id(9999));
            rows.push(forged);
        });
        assert_eq!(found.await, [ChainFault::Unexpected { number: 0, id: id(9999) }]);
    }

    /// A rewritten chain is consistent; only an anchor reveals it.
    #[tokio::test]
    async fn an_anchor_tells_that_the_chain_was_written_anew() {
        let rows = chain(10);
        let head = rows.last().map(|sealed| sealed.seal);
        let log = AuditService::new(Arc::new(Log(Mutex::new((rows.clone(), head)))));
        assert_eq!(log.verify(Some(rows[4].seal)).await.unwrap().faults, []);
        let other = ChainLink { digest: ChainDigest([7; 32]), ..rows[4].seal };
        assert_eq!(log.verify(Some(other)).await.unwrap().faults, [ChainFault::Anchor(other)]);
    }

    #[tokio::test]
    async fn faults_are_counted_beyond_those_that_are_listed() {
        let mut rows = chain(300);
        for sealed in &mut rows {
            sealed.entry.detail = Some("x".to_owned());
        }
        let head = rows.last().map(|sealed| sealed.seal);
        let report = AuditService::new(Arc::new(Log(Mutex::new((rows, head))))).verify(None).await.unwrap();
        assert_eq!((report.faults.len(), report.fault_count), (100, 300));
    }
}
