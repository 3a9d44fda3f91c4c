//! Checking the chain of the audit log.

use std::time::Duration;

use uuid::Uuid;

use super::chain::{ChainDigest, Seal, SealedEntry, StoredEntry};
use super::service::AuditService;
use crate::store::StoreError;
use crate::time::Timestamp;

/// How many sealed entries are read at once.
const PAGE: u32 = 500;

/// How many findings are reported; the rest is counted.
const MOST_FINDINGS: usize = 100;

/// After what time an entry without a seal is a fault, on any machine and with any clock.
const SEALED_WITHIN: Duration = Duration::from_secs(60);

/// For how many entries that do not fit is looked where they belong; each costs a digest per entry of the log.
const MOST_SOUGHT: usize = 16;

/// How far the log is sealed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AuditState {
    /// The newest seal, as the store keeps it apart from the entries; `None` if nothing was ever sealed.
    pub head: Option<Seal>,
    /// How many entries are not sealed yet.
    pub unsealed: u64,
    /// The time of the oldest of them.
    pub unsealed_since: Option<Timestamp>,
}

impl AuditState {
    /// Since when entries wait for their seal that should have it: a server seals them within a second, and an entry
    /// without a seal can be changed without a trace.
    pub fn overdue(&self, now: Timestamp) -> Option<Timestamp> {
        self.unsealed_since.filter(|since| since.plus(SEALED_WITHIN) < now)
    }
}

/// Something that is wrong with the chain.
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
        id: Uuid,
    },
    /// An entry was sealed after another one than it stands behind now.
    Moved {
        /// Its number.
        number: i64,
        /// Its id.
        id: Uuid,
        /// The number of the entry that it was sealed after; 0 for the beginning.
        sealed_after: i64,
    },
    /// An entry has a number that no seal gives.
    Unexpected {
        /// The number.
        number: i64,
        /// Its id.
        id: Uuid,
    },
    /// The store's own record of the newest seal is missing, or is another one.
    Head {
        /// The newest entry that was found.
        last: Seal,
    },
    /// The chain does not go through the anchor: it was written anew since, or cut before it.
    Anchor(Seal),
}

/// What a check has found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChainReport {
    /// How many entries were checked.
    pub checked: u64,
    /// How far the log is sealed; the rest is not checked. The newest seal is an anchor to be kept elsewhere.
    pub state: AuditState,
    /// What is wrong, in the order of the chain; at most a hundred.
    pub faults: Vec<ChainFault>,
    /// How many faults there are in all.
    pub fault_count: u64,
}

/// A check on its way along the chain.
struct Check {
    anchor: Option<Seal>,
    is_anchored: bool,
    /// The seal of the entry before, as it is stored.
    last: Seal,
    /// The digest that the entry before should have, if that is known.
    computed: Option<ChainDigest>,
    checked: u64,
    faults: Vec<ChainFault>,
    fault_count: u64,
    /// Entries that do not fit where they are, and which fault says so.
    misfits: Vec<(usize, StoredEntry, ChainDigest)>,
}

impl Check {
    fn new(anchor: Option<Seal>) -> Self {
        Self {
            anchor,
            is_anchored: anchor.is_none(),
            last: Seal::START,
            computed: Some(Seal::START.digest),
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

    /// Looks at the entry with the next higher number.
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
            // Where only a digest was changed the next entry still follows the one that it should be.
            let fits = after(self.last.digest) == seal.digest
                || self.computed.is_none()
                || self.computed.is_some_and(|computed| after(computed) == seal.digest);
            let computed = after(self.last.digest);
            if !fits {
                self.found(ChainFault::Altered { number: seal.number, id: entry.id });
                if self.misfits.len() < MOST_SOUGHT && self.faults.len() < MOST_FINDINGS {
                    self.misfits.push((self.faults.len() - 1, entry, seal.digest));
                }
            }
            Some(computed)
        } else {
            // What this one follows is gone, so it cannot be checked.
            self.found(ChainFault::Missing { from: expected, to: seal.number - 1 });
            Some(seal.digest)
        };
        (self.last, self.computed) = (seal, computed);
    }

    /// Whether some entry that does not fit was sealed after the one with this seal.
    fn place(&mut self, seal: Seal) {
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
            head if head.unwrap_or(Seal::START) != self.last => {
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
    /// How far the log is sealed.
    pub async fn state(&self) -> Result<AuditState, StoreError> {
        self.log.audit_state().await
    }

    /// Whether the chain still goes through a seal that was its newest.
    pub async fn goes_through(&self, seal: Seal) -> Result<bool, StoreError> {
        let found = self.log.sealed_audit(Some(seal.number - 1), 1).await?;
        Ok(found.first().is_some_and(|sealed| sealed.seal == seal))
    }

    /// Checks every sealed entry. With an anchor, a seal that was noted before, it also tells whether the chain
    /// still goes through it, which somebody who can write into the database cannot arrange.
    pub async fn verify(&self, anchor: Option<Seal>) -> Result<ChainReport, StoreError> {
        let state = self.log.audit_state().await?;
        let newest = state.head.map_or(i64::MAX, |head| head.number);
        let mut check = Check::new(anchor);
        let mut after = None;
        while let Some(page) = self.page(&mut after).await? {
            // What was sealed since the state was read is not part of this check.
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
            check.place(Seal::START);
            let mut after = None;
            while let Some(page) = self.page(&mut after).await? {
                for sealed in page {
                    check.place(sealed.seal);
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

    use super::super::chain::StoredObject;
    use super::super::entry::AuditEntry;
    use super::super::port::{AuditFilter, AuditRecord, AuditRepository};
    use super::*;
    use crate::organization::NotAdmin;
    use crate::page::{Page, PageRequest};

    /// A log that anybody may tamper with.
    struct Log(Mutex<(Vec<SealedEntry>, Option<Seal>)>);

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
        let mut seal = Seal::START;
        let entry = |number: i64| StoredEntry {
            id: Uuid::from_u128(number.unsigned_abs().into()),
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

    /// What is found after somebody has tampered with a chain of twelve hundred entries and its head.
    async fn found(tamper: impl FnOnce(&mut Vec<SealedEntry>, &mut Option<Seal>)) -> Vec<ChainFault> {
        let mut rows = chain(1200);
        let mut head = rows.last().map(|sealed| sealed.seal);
        tamper(&mut rows, &mut head);
        let log = Arc::new(Log(Mutex::new((rows, head))));
        let report = AuditService::new(log).verify(None).await.unwrap();
        assert_eq!(report.fault_count, report.faults.len() as u64);
        report.faults
    }

    fn id(number: u128) -> Uuid {
        Uuid::from_u128(number)
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

    /// Whoever closes the gap by giving the rest new numbers is found as well.
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
        // The two, and those behind them, which now follow another entry.
        let expected =
            [moved(100, 800, 799), moved(101, 101, 800), moved(800, 100, 99), moved(801, 801, 100)];
        assert_eq!(found.await, expected);
    }

    #[tokio::test]
    async fn a_record_of_the_newest_seal_that_does_not_fit_is_a_fault() {
        let last = chain(1200).pop().unwrap();
        assert_eq!(found(|_, head| *head = None).await, [ChainFault::Head { last: last.seal }]);
        let other = Seal { number: 1200, digest: ChainDigest([7; 32]) };
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

    /// A chain that was written anew fits together; only an anchor tells.
    #[tokio::test]
    async fn an_anchor_tells_that_the_chain_was_written_anew() {
        let rows = chain(10);
        let head = rows.last().map(|sealed| sealed.seal);
        let log = AuditService::new(Arc::new(Log(Mutex::new((rows.clone(), head)))));
        assert_eq!(log.verify(Some(rows[4].seal)).await.unwrap().faults, []);
        let other = Seal { digest: ChainDigest([7; 32]), ..rows[4].seal };
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
