//! The requests of the local sockets to begin or end a subscription, in order.
//!
//! The queue is bounded by the interests of this node: if it is long, the newest request for each
//! interest remains, which decides alone whether there is a subscription.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::bus::Interest;
use tokio::sync::Notify;

/// The length from which on outdated requests are removed.
const COMPACT_AT: usize = 16 * 1024;

/// The maximum number of requests that are taken at a time.
const AT_ONCE: usize = 1024;

/// A change of the events that the local sockets need.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum SubscriptionRequest {
    Begin(Interest),
    End(Interest),
    /// The server stops.
    Leave,
}

impl SubscriptionRequest {
    fn interest(self) -> Option<Interest> {
        match self {
            Self::Begin(interest) | Self::End(interest) => Some(interest),
            Self::Leave => None,
        }
    }
}

/// The requests that were not taken yet.
#[derive(Default)]
pub(crate) struct Requests {
    waiting: Mutex<Waiting>,
    some: Notify,
}

#[derive(Default)]
struct Waiting {
    /// Each with its number.
    queue: VecDeque<(u64, SubscriptionRequest)>,
    made: u64,
    /// The length after the last removal.
    kept: usize,
}

impl Waiting {
    fn remove_outdated(&mut self) {
        let newest = self.queue.iter().map(|(number, request)| (request.interest(), *number));
        let newest = newest.collect::<HashMap<_, _>>();
        self.queue.retain(|(number, request)| newest.get(&request.interest()) == Some(number));
        self.kept = self.queue.len();
    }
}

impl Requests {
    /// Adds a request; never waits.
    pub(crate) fn put(&self, request: SubscriptionRequest) {
        let mut waiting = self.waiting();
        if waiting.queue.len() >= COMPACT_AT.max(2 * waiting.kept) {
            waiting.remove_outdated();
        }
        waiting.made += 1;
        let number = waiting.made;
        waiting.queue.push_back((number, request));
        self.some.notify_one();
    }

    /// The number of requests so far.
    pub(crate) fn made(&self) -> u64 {
        self.waiting().made
    }

    /// Takes the next requests, with the number of the last one; waits until there is one.
    pub(crate) async fn take(&self) -> (u64, Vec<SubscriptionRequest>) {
        loop {
            {
                let mut waiting = self.waiting();
                let count = waiting.queue.len().min(AT_ONCE);
                let taken = waiting.queue.drain(..count).collect::<Vec<_>>();
                if let Some((last, _)) = taken.last() {
                    return (*last, taken.into_iter().map(|(_, request)| request).collect());
                }
                waiting.kept = 0;
            }
            self.some.notified().await;
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use domain::id::ChatId;
    use uuid::Uuid;

    use super::*;

    fn room(number: usize) -> Interest {
        Interest::Room(ChatId::new(Uuid::from_u128(number as u128)))
    }

    #[tokio::test]
    async fn a_queue_that_nobody_takes_keeps_the_newest_request_for_each_interest() {
        let requests = Requests::default();
        requests.put(SubscriptionRequest::Begin(room(7)));
        for _ in 0..10 * COMPACT_AT {
            requests.put(SubscriptionRequest::Begin(room(1)));
            requests.put(SubscriptionRequest::End(room(1)));
        }
        requests.put(SubscriptionRequest::Begin(room(2)));
        assert_eq!(requests.made(), 20 * COMPACT_AT as u64 + 2);
        assert!(requests.waiting().queue.len() <= COMPACT_AT + 1);
        let (mut last, mut newest) = (0, HashMap::new());
        while last < requests.made() {
            let (number, taken) = requests.take().await;
            assert!(number > last && taken.len() <= AT_ONCE);
            last = number;
            newest.extend(taken.into_iter().map(|request| (request.interest(), request)));
        }
        let expected = [
            SubscriptionRequest::Begin(room(7)),
            SubscriptionRequest::End(room(1)),
            SubscriptionRequest::Begin(room(2)),
        ];
        assert_eq!(newest, expected.map(|request| (request.interest(), request)).into());
    }

    #[test]
    fn more_interests_than_the_queue_is_long_are_all_kept() {
        let requests = Requests::default();
        for number in 0..3 * COMPACT_AT {
            requests.put(SubscriptionRequest::Begin(room(number)));
        }
        assert_eq!(requests.waiting().queue.len(), 3 * COMPACT_AT);
    }
}
