//! Unread responses: how many bytes they may hold, for each address and in all.
//!
//! A response takes memory until its client has read it, and a client decides how long that is. An
//! response above [`FREE_BYTES`] is charged when it is complete, and refused if there is no capacity: one
//! that waited for it would hold its memory meanwhile. How many are built at once is bounded by
//! the permits of reads. A smaller response costs nothing as long as the client reads: what a
//! connection cannot write is charged to the same budget, and a connection for which there is none
//! left is closed.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_web::{HttpRequest, web};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{ApiError, ErrorCode};
use crate::limit::Network;
use crate::limit::address::{self, Source};

/// The size up to which a response is not charged.
pub const FREE_BYTES: u64 = 64 * 1024;

/// The unit in which bytes are counted.
const UNIT: u64 = 1024;

/// The limits of unread responses.
#[derive(Clone, Debug)]
pub struct ResponseLimit {
    /// Bytes for one address, or of IPv6 one network of 64 bits.
    pub per_address: u64,
    /// Bytes in all.
    pub total: u64,
    /// Proxies whose statement of the client's address is trusted; responses to them only count
    /// towards the total.
    pub trusted_proxies: Vec<Network>,
}

impl Default for ResponseLimit {
    fn default() -> Self {
        Self { per_address: 8 * 1024 * 1024, total: 64 * 1024 * 1024, trusted_proxies: Vec::new() }
    }
}

/// The capacity for unread responses; one for all workers of the server.
pub struct ResponseBudget {
    limit: ResponseLimit,
    total: Arc<Semaphore>,
    addresses: Mutex<HashMap<u128, Share>>,
}

/// The share of one address.
struct Share {
    free: Arc<Semaphore>,
    users: usize,
}

/// The capacity of one response, until it is dropped.
pub struct ResponsePermit {
    _of_all: OwnedSemaphorePermit,
    _of_address: Option<OwnedSemaphorePermit>,
    _share_use: ShareUse,
}

/// Keeps the share of an address in the table.
struct ShareUse {
    budget: Arc<ResponseBudget>,
    address: Option<u128>,
}

impl ResponseBudget {
    /// Makes an empty budget.
    pub fn new(limit: ResponseLimit) -> Arc<Self> {
        let total = Arc::new(Semaphore::new(units(limit.total) as usize));
        Arc::new(Self { limit, total, addresses: Mutex::default() })
    }

    /// Capacity for `bytes`, if there is some now. The source `None` counts in all only.
    pub fn try_take(self: &Arc<Self>, source: Option<Source>, bytes: u64) -> Option<ResponsePermit> {
        let units = self.units(bytes);
        let (share_use, free) = self.share_use(source);
        let of_address = free.map(|free| free.try_acquire_many_owned(units)).transpose().ok()?;
        let of_all = self.total.clone().try_acquire_many_owned(units).ok()?;
        Some(ResponsePermit { _of_all: of_all, _of_address: of_address, _share_use: share_use })
    }

    /// The source of a connection; `None` for a trusted proxy, which stands for many.
    pub fn peer(&self, address: IpAddr) -> Option<Source> {
        let is_proxy = self.limit.trusted_proxies.iter().any(|network| network.holds(address));
        (!is_proxy).then(|| Source::new(address))
    }

    /// The source of a request.
    fn source(&self, request: &HttpRequest) -> Option<Source> {
        let peer = request.peer_addr().map(|peer| peer.ip());
        address::source(peer, request.headers(), &self.limit.trusted_proxies)
    }

    /// Returns whether more than half of the budget is used, for the source or in all: slow readers
    /// are then disconnected soon.
    pub fn is_scarce(&self, source: Option<Source>) -> bool {
        let is_scarce =
            |free: &Semaphore, of: u64| (free.available_permits() as u64) < u64::from(units(of)) / 2;
        let of_address = || {
            let addresses = self.addresses();
            let share = source.and_then(|source| addresses.get(&source.key()));
            share.is_some_and(|share| is_scarce(&share.free, self.limit.per_address))
        };
        is_scarce(&self.total, self.limit.total) || of_address()
    }

    /// The charged units: a response larger than the whole budget takes all of it, so that it can be
    /// sent alone.
    fn units(&self, bytes: u64) -> u32 {
        units(bytes).min(units(self.limit.per_address)).min(units(self.limit.total))
    }

    fn share_use(self: &Arc<Self>, source: Option<Source>) -> (ShareUse, Option<Arc<Semaphore>>) {
        let address = source.map(Source::key);
        let free = address.map(|address| {
            let mut addresses = self.addresses();
            let capacity = units(self.limit.per_address) as usize;
            let share = addresses
                .entry(address)
                .or_insert_with(|| Share { free: Arc::new(Semaphore::new(capacity)), users: 0 });
            share.users += 1;
            share.free.clone()
        });
        (ShareUse { budget: self.clone(), address }, free)
    }

    fn addresses(&self) -> MutexGuard<'_, HashMap<u128, Share>> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ShareUse {
    fn drop(&mut self) {
        let Some(address) = self.address else { return };
        let mut addresses = self.budget.addresses();
        if let Some(share) = addresses.get_mut(&address) {
            share.users -= 1;
            if share.users == 0 {
                addresses.remove(&address);
            }
        }
    }
}

fn units(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX).max(1)
}

/// The refusal of a response for which there is no capacity.
pub(crate) fn no_capacity() -> ApiError {
    let message = "Your address has too many unread responses. Read them, or try again in a second.";
    ApiError::new(ErrorCode::ServiceUnavailable, message).with_retry_after(1)
}

/// The capacity for a response of `bytes` to `request` that is complete; where no budget is registered
/// there is no limit.
///
/// # Errors
/// 503 with `retry-after` if there is none.
pub fn charge(request: &HttpRequest, bytes: u64) -> Result<Option<ResponsePermit>, ApiError> {
    let Some(budget) = request.app_data::<web::Data<ResponseBudget>>() else { return Ok(None) };
    budget.clone().into_inner().try_take(budget.source(request), bytes).map(Some).ok_or_else(no_capacity)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(per_address: u64, total: u64) -> Arc<ResponseBudget> {
        let trusted_proxies = vec!["10.0.0.0/8".parse().unwrap()];
        ResponseBudget::new(ResponseLimit { per_address, total, trusted_proxies })
    }

    #[test]
    fn an_address_has_its_room_and_all_have_theirs() {
        let budget = budget(10 * UNIT, 25 * UNIT);
        let from = |address: &str| budget.peer(address.parse().unwrap());
        let take = |address: &str, units: u64| budget.try_take(from(address), units * UNIT);
        let first = take("192.0.2.1", 8).unwrap();
        assert!(take("192.0.2.1", 3).is_none() && budget.is_scarce(from("192.0.2.1")));
        assert!(!budget.is_scarce(from("192.0.2.2")));
        let held = (take("192.0.2.2", 10).unwrap(), take("::ffff:192.0.2.1", 2).unwrap());
        assert!(take("192.0.2.3", 6).is_none(), "there is no more in all");
        drop(held);
        drop(first);
        assert!(budget.addresses().is_empty(), "addresses that hold nothing are forgotten");
        assert_eq!(budget.total.available_permits(), 25);
        let _proxy = take("10.1.2.3", 10).unwrap();
        assert!(take("10.1.2.3", 10).is_some(), "a proxy stands for many");
    }

    #[test]
    fn an_answer_larger_than_the_room_is_sent_alone() {
        let budget = budget(10 * UNIT, 25 * UNIT);
        let source = budget.peer("192.0.2.1".parse().unwrap());
        let alone = budget.try_take(source, 99 * UNIT).unwrap();
        assert!(budget.try_take(source, 1).is_none());
        drop(alone);
        assert!(budget.try_take(source, 10 * UNIT).is_some());
    }
}
