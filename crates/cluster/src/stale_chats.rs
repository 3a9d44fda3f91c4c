//! Chats whose subscriptions must be compared with the store.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::chat::ChatService;
use domain::id::ChatId;
use domain::store::StoreError;
use tokio::sync::Notify;
use ws_gateway::Hub;

/// The chats that wait for a comparison, each once.
#[derive(Default)]
pub(crate) struct StaleChats {
    chats: Mutex<HashSet<ChatId>>,
    added: Notify,
}

impl StaleChats {
    /// Adds a chat.
    pub(crate) fn add(&self, chat: ChatId) {
        self.extend([chat]);
    }

    /// Adds several chats.
    pub(crate) fn extend(&self, chats: impl IntoIterator<Item = ChatId>) {
        let mut waiting = self.chats();
        let before = waiting.len();
        waiting.extend(chats);
        if waiting.len() > before {
            self.added.notify_one();
        }
    }

    /// Takes all of them; waits until there is one.
    pub(crate) async fn take(&self) -> HashSet<ChatId> {
        loop {
            let taken = std::mem::take(&mut *self.chats());
            if !taken.is_empty() {
                return taken;
            }
            self.added.notified().await;
        }
    }

    fn chats(&self) -> MutexGuard<'_, HashSet<ChatId>> {
        self.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The chats that could not be compared, which must be tried again.
pub(crate) struct Unread {
    pub(crate) chats: Vec<ChatId>,
    /// The first error.
    pub(crate) error: StoreError,
}

/// Compares the subscriptions to these chats with the store.
///
/// # Errors
/// [`Unread`] if the participants of some chats could not be read; all others are compared.
pub(crate) async fn revalidate(
    hub: &Hub,
    service: &ChatService,
    stale: HashSet<ChatId>,
) -> Result<(), Unread> {
    let mut unread = None::<Unread>;
    for chat in stale {
        if let Err(error) = hub.revalidate(chat, service).await {
            unread.get_or_insert_with(|| Unread { chats: Vec::new(), error }).chats.push(chat);
        }
    }
    unread.map_or(Ok(()), Err)
}
