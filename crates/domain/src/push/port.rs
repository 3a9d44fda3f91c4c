//! The store of configurations.

use async_trait::async_trait;

use super::model::{PushConfig, PushCredential, PushName, PushRemoval, PushStep, PushTask};
use super::target::PushTarget;
use crate::audit::Actor;
use crate::id::{ChatId, ParticipantId, PushConfigId, UserId};
use crate::store::StoreError;
use crate::time::Timestamp;
use crate::webhook::WebhookOwner;

/// The maximum number of configurations of a task.
pub const MAX_OF_TASK: usize = 10;

/// The maximum number of configurations of a user with all agents of the user, without those whose task has ended.
pub const MAX_OF_USER: u64 = 100;

/// A configuration to be made, or to be changed if the task has one with the name.
#[derive(Clone, Debug)]
pub struct SetPushConfig {
    /// The id of a new record.
    pub id: PushConfigId,
    /// The task.
    pub task: PushTask,
    /// The name.
    pub name: PushName,
    /// The caller.
    pub caller: ParticipantId,
    /// The caller, or the owner of the agent that it is.
    pub user: UserId,
    /// The caller's credential.
    pub credential: PushCredential,
    /// Where notifications go.
    pub target: PushTarget,
    /// The current time.
    pub now: Timestamp,
}

/// The reason why a configuration was not made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PushRefused {
    /// The task has as many as it may.
    #[error("the task has {MAX_OF_TASK} push notification configurations")]
    TooManyOfTask,
    /// The user has as many as the user may.
    #[error("the user has {MAX_OF_USER} push notification configurations of tasks that have not ended")]
    TooManyOfUser,
}

/// A configuration that was made or changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AppliedPush {
    /// The configuration.
    pub config: PushConfig,
    /// Set if it is new.
    pub is_new: bool,
    /// Set if it is new, or has another target.
    pub has_changed: bool,
}

impl SetPushConfig {
    /// Decides on what the store has: the configurations of the caller's task, and the number of those of the user whose task
    /// has not ended.
    ///
    /// # Errors
    /// [`PushRefused`].
    pub fn apply(&self, of_task: Vec<PushConfig>, of_user: u64) -> Result<AppliedPush, PushRefused> {
        let count = of_task.len();
        if let Some(mut config) = of_task.into_iter().find(|config| config.name == self.name) {
            let has_changed = config.replace(&self.target, self.credential, self.now);
            return Ok(AppliedPush { config, is_new: false, has_changed });
        }
        if count >= MAX_OF_TASK {
            return Err(PushRefused::TooManyOfTask);
        }
        if of_user >= MAX_OF_USER {
            return Err(PushRefused::TooManyOfUser);
        }
        let config = PushConfig {
            id: self.id,
            task: self.task,
            name: self.name.clone(),
            caller: self.caller,
            user: self.user,
            credential: self.credential,
            target: self.target.clone(),
            known: None,
            ended: None,
            created_at: self.now,
            news_at: self.now,
            attempts: 0,
            failures: 0,
            failing_since: None,
            error: None,
            next_at: self.now,
            leased_until: None,
        };
        Ok(AppliedPush { config, is_new: true, has_changed: true })
    }
}

/// A configuration to be removed.
#[derive(Clone, Debug)]
pub struct RemovePushConfig {
    /// The task.
    pub task: PushTask,
    /// The required caller, who removes it.
    pub caller: ParticipantId,
    /// The name.
    pub name: PushName,
    /// The current time.
    pub now: Timestamp,
}

impl RemovePushConfig {
    /// Who removes it.
    pub const fn by(&self) -> Actor {
        Actor::Participant(self.caller)
    }
}

/// A configuration that is due, and whose it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DuePush {
    /// The configuration.
    pub id: PushConfigId,
    /// The user and the organization.
    pub owner: WebhookOwner,
}

/// The lease of a sender, which ends when the configuration is taken or changed again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PushLease {
    /// The configuration.
    pub config: PushConfigId,
    /// The number of leases and changes, as of this one.
    pub attempt: u32,
}

impl PushLease {
    /// Returns whether it is still that of a configuration.
    pub fn holds(self, config: &PushConfig) -> bool {
        config.id == self.config && config.leased_until.is_some() && config.attempts == self.attempt
    }
}

/// A configuration after a step of its sender.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettledPush {
    /// The configuration.
    pub config: PushConfig,
    /// Set if it was removed.
    pub removed: Option<PushRemoval>,
}

/// The store of configurations.
#[async_trait]
pub trait PushRepository: Send + Sync {
    /// Makes or changes a configuration ([`SetPushConfig::apply`]), with an entry in the audit log if that changes anything, and
    /// one in the change log if it is new.
    async fn set_push_config(
        &self,
        command: SetPushConfig,
    ) -> Result<Result<PushConfig, PushRefused>, StoreError>;

    /// The configurations of a caller's task, oldest first.
    async fn push_configs(
        &self,
        task: PushTask,
        caller: ParticipantId,
    ) -> Result<Vec<PushConfig>, StoreError>;

    /// Removes a configuration, with an entry in the audit log; returns whether there was one.
    async fn remove_push_config(&self, command: RemovePushConfig) -> Result<bool, StoreError>;

    /// The number of configurations of a user with all agents of the user, without those whose task has ended.
    async fn count_push_configs(&self, user: UserId) -> Result<u64, StoreError>;

    /// The chats with configurations.
    async fn push_chats(&self) -> Result<Vec<ChatId>, StoreError>;

    /// Makes the configurations in chats due, except those that are failing, and those whose task does not go on.
    async fn wake_push_configs(&self, chats: Vec<ChatId>, now: Timestamp) -> Result<(), StoreError>;

    /// Configurations that are due and on no lease: the first ones of each user, then the second ones, and so on.
    async fn due_push_configs(
        &self,
        now: Timestamp,
        of_user: u32,
        limit: u32,
    ) -> Result<Vec<DuePush>, StoreError>;

    /// Takes a configuration on a lease; `None` if it is not due. One whose credential is not valid any more is removed
    /// instead, with an entry in the audit log.
    async fn take_push_config(
        &self,
        id: PushConfigId,
        now: Timestamp,
    ) -> Result<Option<PushConfig>, StoreError>;

    /// Records a step of a sender ([`PushConfig::apply`]); `None` if its lease has ended. One that was sent is removed if its
    /// credential is not valid any more. A removal has an entry in the audit log, unless the task has ended.
    async fn step_push_config(
        &self,
        lease: PushLease,
        step: PushStep,
        now: Timestamp,
    ) -> Result<Option<SettledPush>, StoreError>;
}
