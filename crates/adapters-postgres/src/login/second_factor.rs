//! Second factors. A change of one, and the use of a code, lock the user.

#[path = "../../../sql-rows/second_factor.rs"]
mod record;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::id::UserId;
use domain::login::{Admission, ChangeSecondFactor, SecondFactor, SecondProof};
use domain::time::Timestamp;

use crate::account::find::user_on;
use crate::audit;
use crate::error::Fault;
use crate::lock;
use crate::run::Db;
use crate::schema::second_factors;
use record::SecondFactorRow;

pub(super) async fn find_on(mut db: &Db, user: UserId) -> Result<Option<SecondFactor>, Fault> {
    let found = second_factors::table.find(user.uuid()).select(SecondFactorRow::as_select());
    found.first::<SecondFactorRow>(&mut db).await.optional()?.map(SecondFactorRow::into_factor).transpose()
}

pub(super) async fn change_on(db: &Db, command: &ChangeSecondFactor) -> Result<bool, Fault> {
    lock::users_on(db, &[command.user]).await?;
    if user_on(db, command.user).await?.is_none() {
        return Ok(false);
    }
    let before = find_on(db, command.user).await?;
    let Ok(after) = command.apply(before.as_ref()) else { return Ok(false) };
    replace_on(db, command.user, after.as_ref()).await?;
    audit::append_on(db, AuditEntry::second_factor_changed(command, before.as_ref())).await?;
    Ok(true)
}

/// Uses up what a user, who is locked, has proved besides the password; returns whether it is enough.
pub(super) async fn admit_on(
    db: &Db,
    user: UserId,
    proof: &SecondProof,
    now: Timestamp,
) -> Result<bool, Fault> {
    let after = match proof.admit(find_on(db, user).await?) {
        Admission::Refused => return Ok(false),
        Admission::Admitted => return Ok(true),
        Admission::Used(after) => after,
    };
    replace_on(db, user, Some(&after)).await?;
    audit::append_on(db, AuditEntry::code_used(user, proof, &after, now)).await?;
    Ok(true)
}

/// Stores the second factor of a user in place of any other.
pub(crate) async fn replace_on(
    mut db: &Db,
    user: UserId,
    factor: Option<&SecondFactor>,
) -> Result<(), Fault> {
    diesel::delete(second_factors::table.find(user.uuid())).execute(&mut db).await?;
    if let Some(factor) = factor {
        let row = SecondFactorRow::of(user, factor);
        diesel::insert_into(second_factors::table).values(row).execute(&mut db).await?;
    }
    Ok(())
}
