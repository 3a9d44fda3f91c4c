//! Passkeys as rows. Compiled into each store, whose tables it names.

use diesel::prelude::*;
use domain::id::{PasskeyId, UserId};
use domain::login::{Passkey, PasskeyCredential, PasskeyName};

use crate::error::Fault;
use crate::row::{At, Id};
use crate::schema::passkeys;

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = passkeys)]
pub(super) struct PasskeyRow {
    id: Id,
    user_id: Id,
    name: String,
    credential_id: Vec<u8>,
    public_key: Vec<u8>,
    is_synced: bool,
    sign_count: i64,
    created_at: At,
    used_at: Option<At>,
}

impl PasskeyRow {
    pub(super) fn of(passkey: &Passkey) -> Self {
        let PasskeyCredential { id, public_key, is_synced, sign_count } = passkey.credential.clone();
        Self {
            id: Id(passkey.id.uuid()),
            user_id: Id(passkey.user.uuid()),
            name: passkey.name.as_str().to_owned(),
            credential_id: id,
            public_key,
            is_synced,
            sign_count: sign_count.into(),
            created_at: At(passkey.created_at),
            used_at: passkey.used_at.map(At),
        }
    }

    pub(super) fn into_passkey(self) -> Result<Passkey, Fault> {
        let sign_count = u32::try_from(self.sign_count);
        let sign_count =
            sign_count.map_err(|_| Fault::Row("a signature counter that cannot be".to_owned()))?;
        Ok(Passkey {
            id: PasskeyId::new(self.id.0),
            user: UserId::new(self.user_id.0),
            name: PasskeyName::from_stored(self.name),
            credential: PasskeyCredential {
                id: self.credential_id,
                public_key: self.public_key,
                is_synced: self.is_synced,
                sign_count,
            },
            created_at: self.created_at.0,
            used_at: self.used_at.map(|at| at.0),
        })
    }
}
