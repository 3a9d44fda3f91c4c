//! API keys, and the log of what has ended.

use std::time::Duration;

use domain::account::{CreateKey, KeyName, KeyScope, WhichKeys};
use domain::change::ChangePosition;
use domain::id::{ApiKeyId, ParticipantId};
use domain::ports::Clock;
use uuid::Uuid;

use super::cast::{Cast, Made, next};
use super::{Act, nothing, played};

impl Cast {
    pub(super) fn keys(&mut self) -> Act {
        match self.rng.below(12) {
            0..3 => self.create_key(),
            3..5 => self.list_keys(),
            5 => self.revoke_key(),
            6 => self.revoke_keys(),
            7 => self.rotate_key(),
            8 | 9 => self.show_key(),
            10 => {
                let nobody = ();
                act!("write_uses", |world, nobody| {
                    let () = nobody;
                    played(world.accounts.write_uses().await, nothing)
                })
            }
            _ => self.read_log(),
        }
    }

    fn key(&mut self) -> ApiKeyId {
        if self.keys.is_empty() || self.rng.one_in(10) {
            return ApiKeyId::new(Uuid::from_u128(13));
        }
        self.rng.of(&self.keys).0
    }

    fn holder(&mut self) -> ParticipantId {
        self.caller().participant()
    }

    fn create_key(&mut self) -> Act {
        let user = self.user().user;
        let name = if self.rng.one_in(3) { None } else { Some(KeyName::new(&self.line()).unwrap()) };
        let after = self.rng.of(&[None, None, Some(0), Some(1), Some(3600)]).map(Duration::from_secs);
        let scope = KeyScope {
            is_read_only: self.rng.one_in(4),
            chat: self.rng.one_in(4).then(|| self.chat()),
            agent: self.rng.one_in(4).then(|| self.agent().agent),
        };
        act!("create_key", |world, user, name, after, scope| {
            let expires_at = after.map(|after| world.clock.now().plus(after));
            let created = world.accounts.create_key(user, CreateKey { name, expires_at, scope }).await;
            played(created, |created| vec![Made::Key(created.record.id, created.key.reveal().to_owned())])
        })
    }

    fn list_keys(&mut self) -> Act {
        let (holder, page) = (self.holder(), self.page("keys"));
        act!("list_keys", |world, holder, page| {
            played(world.accounts.list_keys(holder, page).await, next("keys"))
        })
    }

    fn revoke_key(&mut self) -> Act {
        let (caller, key) = (self.user(), self.key());
        act!("revoke_key", |world, caller, key| {
            played(world.accounts.revoke_key(caller, key).await, nothing)
        })
    }

    fn revoke_keys(&mut self) -> Act {
        let which = match self.rng.below(4) {
            0 | 1 => WhichKeys::Id(self.key()),
            2 if !self.keys.is_empty() => WhichKeys::Prefix(self.rng.of(&self.keys).1),
            2 => WhichKeys::Prefix("nothing".to_owned()),
            _ => WhichKeys::AllOf(self.holder()),
        };
        act!("revoke_keys", |world, which| played(world.accounts.revoke_keys(which).await, nothing))
    }

    fn rotate_key(&mut self) -> Act {
        let agent = self.agent();
        let owner = if self.rng.one_in(6) { self.user().user } else { agent.owner };
        let agent = agent.agent;
        act!("rotate_key", |world, owner, agent| {
            played(world.accounts.rotate_key(owner, agent).await, |rotated| {
                let key = rotated.key.reveal().to_owned();
                vec![Made::Key(ApiKeyId::new(Uuid::from_u128(13)), key)]
            })
        })
    }

    fn show_key(&mut self) -> Act {
        let key = match self.rng.below(4) {
            0 => self.rng.of(&self.users).key,
            1 => self.some_agent().key,
            _ if self.keys.is_empty() => "thnv_u_nothing".to_owned(),
            _ => self.rng.of(&self.keys).1,
        };
        act!("authenticate", |world, key| played(world.accounts.authenticate(&key).await, nothing))
    }

    /// The stores may number otherwise, so only what stands there is compared.
    fn read_log(&mut self) -> Act {
        let (limit, forgets) = (self.rng.of(&[1, 3, 500]), self.rng.one_in(2));
        act!("read_log", |world, limit, forgets| {
            let entries = world.stores.changes.changes_after(ChangePosition(0), limit).await;
            if forgets
                && let Ok(entries) = &entries
                && let Some(last) = entries.last()
            {
                return played(world.stores.changes.forget_changes(last.position, limit).await, nothing);
            }
            let seen =
                entries.map(|entries| entries.into_iter().map(|entry| entry.change).collect::<Vec<_>>());
            played(seen, nothing)
        })
    }
}
