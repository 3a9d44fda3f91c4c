//! What callers do with their configurations, and what a sender does.

use std::sync::Arc;

use super::model::{PushConfig, PushCredential, PushName, PushStep, PushTask};
use super::port::{
    DuePush, MAX_OF_USER, PushLease, PushRefused, PushRepository, RemovePushConfig, SetPushConfig,
    SettledPush,
};
use super::set::{PushSet, PushWakes};
use super::target::PushTarget;
use crate::caller::Caller;
use crate::id::{ChatId, PushConfigId};
use crate::ports::{Clock, IdGenerator};
use crate::store::StoreError;
use crate::time::Timestamp;
use crate::webhook::{WebhookMint, WebhookUrl, WebhookUrlFault};

/// The maximum number of configurations of one search.
const SEARCHED: u32 = 1_000;

/// The maximum number of these of one user.
const SEARCHED_OF_USER: u32 = 64;

/// The maximum number of chats whose configurations are made due at a time.
const WOKEN_AT_ONCE: usize = 100;

/// The dependencies of [`PushService`].
pub struct PushPorts {
    /// The store of configurations.
    pub configs: Arc<dyn PushRepository>,
    /// The chats with configurations.
    pub set: Arc<PushSet>,
    /// Checks URLs; `None` if webhooks are off, which notifications then are as well.
    pub mint: Option<Arc<dyn WebhookMint>>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Generates ids.
    pub ids: Arc<dyn IdGenerator>,
}

/// A configuration that a caller wants.
#[derive(Clone, Debug)]
pub struct NewPush {
    /// Its name.
    pub name: PushName,
    /// Where notifications go.
    pub target: PushTarget,
}

/// The reason why a configuration was not made.
#[derive(Debug, thiserror::Error)]
pub enum SetPushError {
    /// There are too many.
    #[error(transparent)]
    Refused(#[from] PushRefused),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Use cases on push notifications. That the task is the caller's is checked before.
pub struct PushService {
    ports: PushPorts,
}

impl PushService {
    /// Wires the area to its ports.
    pub const fn new(ports: PushPorts) -> Self {
        Self { ports }
    }

    /// Returns whether notifications are sent.
    pub fn is_on(&self) -> bool {
        self.ports.mint.is_some()
    }

    /// Checks the text of a URL; `None` if notifications are off.
    pub fn url(&self, text: &str) -> Option<Result<WebhookUrl, WebhookUrlFault>> {
        Some(self.ports.mint.as_ref()?.url(text))
    }

    /// The chats with configurations.
    pub const fn set_of_chats(&self) -> &Arc<PushSet> {
        &self.ports.set
    }

    /// Returns whether a caller may have another configuration.
    pub async fn has_room(&self, caller: Caller) -> Result<bool, StoreError> {
        Ok(self.ports.configs.count_push_configs(caller.accountable_user()).await? < MAX_OF_USER)
    }

    /// Makes a configuration, or changes the one with the name.
    pub async fn set(
        &self,
        caller: Caller,
        credential: PushCredential,
        task: PushTask,
        new: NewPush,
    ) -> Result<PushConfig, SetPushError> {
        let now = self.now();
        let command = SetPushConfig {
            id: PushConfigId::new(self.ports.ids.generate(now)),
            task,
            name: new.name,
            caller: caller.participant(),
            user: caller.accountable_user(),
            credential,
            target: new.target,
            now,
        };
        // Before it is stored, so that no event is missed from then on.
        self.ports.set.add(task.chat);
        let config = self.ports.configs.set_push_config(command).await??;
        self.ports.set.note(task.chat);
        Ok(config)
    }

    /// The configurations of a caller's task, oldest first.
    pub async fn list(&self, caller: Caller, task: PushTask) -> Result<Vec<PushConfig>, StoreError> {
        self.ports.configs.push_configs(task, caller.participant()).await
    }

    /// Removes a configuration of a caller's task, if there is one with the name.
    pub async fn remove(&self, caller: Caller, task: PushTask, name: PushName) -> Result<bool, StoreError> {
        let command = RemovePushConfig { task, caller: caller.participant(), name, now: self.now() };
        self.ports.configs.remove_push_config(command).await
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        self.ports.clock.now()
    }

    /// Reads in which chats there are configurations.
    pub async fn reload(&self) -> Result<(), StoreError> {
        self.ports.set.begin_reload();
        let chats = self.ports.configs.push_chats().await?;
        self.ports.set.replace(chats);
        Ok(())
    }

    /// What is to be looked at because of events and changes.
    pub fn take_wakes(&self) -> PushWakes {
        self.ports.set.take_wakes()
    }

    /// Makes the configurations in chats due.
    pub async fn wake(&self, chats: impl IntoIterator<Item = ChatId>) -> Result<(), StoreError> {
        let mut chats = chats.into_iter().collect::<Vec<_>>();
        // In one order on all servers, as they lock rows.
        chats.sort_unstable();
        for some in chats.chunks(WOKEN_AT_ONCE) {
            self.ports.configs.wake_push_configs(some.to_vec(), self.now()).await?;
        }
        Ok(())
    }

    /// Configurations that are due; none if there are none at all.
    pub async fn due(&self) -> Result<Vec<DuePush>, StoreError> {
        if self.ports.set.is_empty() {
            return Ok(Vec::new());
        }
        self.ports.configs.due_push_configs(self.now(), SEARCHED_OF_USER, SEARCHED).await
    }

    /// Takes a configuration on a lease, if it is due.
    pub async fn take(&self, id: PushConfigId) -> Result<Option<PushConfig>, StoreError> {
        self.ports.configs.take_push_config(id, self.now()).await
    }

    /// Records a step of a sender; `None` if its lease has ended.
    pub async fn step(&self, lease: PushLease, step: PushStep) -> Result<Option<SettledPush>, StoreError> {
        self.ports.configs.step_push_config(lease, step, self.now()).await
    }
}
