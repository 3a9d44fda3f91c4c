//! Second factors.

#[path = "../../../sql-rows/second_factor.rs"]
mod record;

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::id::UserId;
use domain::login::{Admission, ChangeSecondFactor, SecondFactor, SecondProof};
use domain::time::Timestamp;

use crate::account::find::user_on;
use crate::audit;
use crate::error::Fault;
use crate::row;
use crate::schema::second_factors;
use record::SecondFactorRow;

pub(super) fn find_on(
    connection: &mut SqliteConnection,
    user: UserId,
) -> Result<Option<SecondFactor>, Fault> {
    let found = second_factors::table.find(row::bytes(user.uuid())).select(SecondFactorRow::as_select());
    found.get_result::<SecondFactorRow>(connection).optional()?.map(SecondFactorRow::into_factor).transpose()
}

pub(super) fn change_on(
    connection: &mut SqliteConnection,
    command: &ChangeSecondFactor,
) -> Result<bool, Fault> {
    if user_on(connection, command.user)?.is_none() {
        return Ok(false);
    }
    let before = find_on(connection, command.user)?;
    let Ok(after) = command.apply(before.as_ref()) else { return Ok(false) };
    replace_on(connection, command.user, after.as_ref())?;
    audit::append_on(connection, AuditEntry::second_factor_changed(command, before.as_ref()))?;
    Ok(true)
}

/// Uses up what a user has proved besides the password; returns whether it is enough.
pub(super) fn admit_on(
    connection: &mut SqliteConnection,
    user: UserId,
    proof: &SecondProof,
    now: Timestamp,
) -> Result<bool, Fault> {
    let after = match proof.admit(find_on(connection, user)?) {
        Admission::Refused => return Ok(false),
        Admission::Admitted => return Ok(true),
        Admission::Used(after) => after,
    };
    replace_on(connection, user, Some(&after))?;
    audit::append_on(connection, AuditEntry::code_used(user, proof, &after, now))?;
    Ok(true)
}

/// Stores the second factor of a user in place of any other.
pub(crate) fn replace_on(
    connection: &mut SqliteConnection,
    user: UserId,
    factor: Option<&SecondFactor>,
) -> Result<(), Fault> {
    diesel::delete(second_factors::table.find(row::bytes(user.uuid()))).execute(connection)?;
    if let Some(factor) = factor {
        let row = SecondFactorRow::of(user, factor);
        diesel::insert_into(second_factors::table).values(row).execute(connection)?;
    }
    Ok(())
}
