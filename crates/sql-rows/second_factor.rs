//! Second factors as rows. Compiled into each store, whose tables it names.

use diesel::prelude::*;
use domain::account::KeyDigest;
use domain::id::UserId;
use domain::login::{SecondFactor, Step, TotpSecret};

use crate::error::Fault;
use crate::row::{At, Id};
use crate::schema::second_factors;

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = second_factors)]
pub(super) struct SecondFactorRow {
    user_id: Id,
    secret: Vec<u8>,
    begun_at: At,
    enabled_at: Option<At>,
    used_step: Option<i64>,
    /// The digests, one after the other.
    recovery_codes: Vec<u8>,
}

impl SecondFactorRow {
    pub(super) fn of(user: UserId, factor: &SecondFactor) -> Self {
        Self {
            user_id: Id(user.uuid()),
            secret: factor.secret.bytes().to_vec(),
            begun_at: At(factor.begun_at),
            enabled_at: factor.enabled_at.map(At),
            used_step: factor.used_step.map(|step| step.number().into()),
            recovery_codes: factor.recovery_codes.iter().flat_map(|digest| *digest.bytes()).collect(),
        }
    }

    pub(super) fn into_factor(self) -> Result<SecondFactor, Fault> {
        let fault = || Fault::Row("a second factor that cannot be".to_owned());
        let secret = <[u8; TotpSecret::BYTES]>::try_from(self.secret).map_err(|_| fault())?;
        let used_step = self.used_step.map(u32::try_from).transpose().map_err(|_| fault())?;
        let (digests, []) = self.recovery_codes.as_chunks::<32>() else { return Err(fault()) };
        Ok(SecondFactor {
            secret: TotpSecret::new(secret),
            begun_at: self.begun_at.0,
            enabled_at: self.enabled_at.map(|at| at.0),
            used_step: used_step.map(Step::new),
            recovery_codes: digests.iter().copied().map(KeyDigest::new).collect(),
        })
    }
}
