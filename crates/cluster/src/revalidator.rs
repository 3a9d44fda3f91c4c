//! Compares the subscriptions to a chat with the store after its participants were changed
//! elsewhere: according to an event of another node, or to the change log.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::chat::ChatService;
use domain::id::ChatId;
use domain::store::StoreError;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout_at};
use ws_gateway::Hub;

/// The time during which stale chats accumulate, so that a chat with many events is read once.
const PAUSE: Duration = Duration::from_millis(50);

/// The pause before a chat is read again after a failure of the store.
pub(crate) const RETRY: Duration = Duration::from_millis(500);

/// The maximum number of attempts to read a chat while the change log can be read.
pub(crate) const FAILURES: u32 = 20;

/// The chats that wait for a comparison, each once.
#[derive(Default)]
pub(crate) struct StaleChats {
    chats: Mutex<HashMap<ChatId, StaleChat>>,
    added: Notify,
}

/// A chat that waits for a comparison.
#[derive(Clone, Copy)]
pub(crate) struct StaleChat {
    not_before: Instant,
    /// Failed attempts to read it.
    failures: u32,
}

impl StaleChats {
    /// Adds a chat, to be read after `grace` at the earliest.
    pub(crate) fn add(&self, chat: ChatId, grace: Duration) {
        self.put(chat, StaleChat { not_before: Instant::now() + grace, failures: 0 });
    }

    fn put(&self, chat: ChatId, stale: StaleChat) {
        let mut chats = self.chats();
        let waiting = chats.entry(chat).or_insert(stale);
        waiting.not_before = waiting.not_before.max(stale.not_before);
        waiting.failures = waiting.failures.max(stale.failures);
        self.added.notify_one();
    }

    /// Takes the chats that may be read at `now`.
    pub(crate) fn take(&self, now: Instant) -> HashMap<ChatId, StaleChat> {
        self.chats().extract_if(|_, stale| stale.not_before <= now).collect()
    }

    /// Takes the chats that may be read; waits until there is one.
    async fn due(&self) -> HashMap<ChatId, StaleChat> {
        loop {
            let due = self.take(Instant::now());
            if !due.is_empty() {
                return due;
            }
            let next = self.chats().values().map(|stale| stale.not_before).min();
            match next {
                Some(next) => {
                    // A chat that was added and an elapsed pause have the same effect.
                    let _ = timeout_at(next, self.added.notified()).await;
                }
                None => self.added.notified().await,
            }
        }
    }

    fn chats(&self) -> MutexGuard<'_, HashMap<ChatId, StaleChat>> {
        self.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Compares stale chats with the store in a task of its own, so that no revocation and no event waits
/// for hundreds of reads.
pub(crate) struct Revalidator {
    hub: Arc<Hub>,
    chats: Arc<ChatService>,
    stale_chats: Arc<StaleChats>,
    /// The last read of the change log has succeeded.
    is_log_read: AtomicBool,
}

impl Revalidator {
    pub(crate) fn new(hub: Arc<Hub>, chats: Arc<ChatService>, stale_chats: Arc<StaleChats>) -> Self {
        Self { hub, chats, stale_chats, is_log_read: AtomicBool::new(true) }
    }

    /// The chats that wait for it.
    pub(crate) fn stale_chats(&self) -> &StaleChats {
        &self.stale_chats
    }

    /// Records whether the change log could be read.
    pub(crate) fn set_log_readable(&self, is_readable: bool) {
        self.is_log_read.store(is_readable, Ordering::Relaxed);
    }

    /// Revalidates stale chats, until it is dropped.
    pub(crate) async fn run(&self) {
        loop {
            let due = self.stale_chats.due().await;
            self.revalidate(due).await;
            sleep(PAUSE).await;
        }
    }

    /// Compares the subscriptions to these chats with the store. Those that cannot be read are tried
    /// again; not forever, since their subscriptions may have lost their access. An outage of the
    /// store closes no socket: attempts count only while the change log can be read.
    pub(crate) async fn revalidate(&self, due: HashMap<ChatId, StaleChat>) {
        let mut unread = Vec::new();
        for (chat, StaleChat { failures, .. }) in due {
            if let Err(error) = self.hub.revalidate(chat, &self.chats).await {
                let failures = failures + u32::from(self.is_log_read.load(Ordering::Relaxed));
                unread.push((chat, failures, error));
            }
        }
        if let Some(error) = given_up(&unread) {
            tracing::warn!(error = %error, "closing all sockets: participants of chats cannot be read");
            self.hub.end_sockets();
            return;
        }
        let not_before = Instant::now() + RETRY;
        for (chat, failures, _) in unread {
            self.stale_chats.put(chat, StaleChat { not_before, failures });
        }
    }
}

/// The error of a chat that was tried too often.
fn given_up(unread: &[(ChatId, u32, StoreError)]) -> Option<&StoreError> {
    unread.iter().find(|(_, failures, _)| *failures >= FAILURES).map(|(_, _, error)| error)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const GRACE: Duration = Duration::from_secs(60);

    fn chat(number: u128) -> ChatId {
        ChatId::new(Uuid::from_u128(number))
    }

    fn taken(stale_chats: &StaleChats, now: Instant) -> Vec<ChatId> {
        stale_chats.take(now).into_keys().collect()
    }

    #[test]
    fn a_chat_waits_for_the_latest_grace_and_holds_up_no_other() {
        let stale_chats = StaleChats::default();
        stale_chats.add(chat(1), GRACE);
        stale_chats.add(chat(1), Duration::ZERO);
        stale_chats.add(chat(2), Duration::ZERO);
        assert_eq!(taken(&stale_chats, Instant::now()), [chat(2)]);
        assert_eq!(taken(&stale_chats, Instant::now() + GRACE), [chat(1)]);
        assert_eq!(taken(&stale_chats, Instant::now() + GRACE), []);
    }
}
