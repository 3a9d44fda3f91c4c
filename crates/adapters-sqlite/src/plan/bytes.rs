//! How many bytes organizations keep.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;

use crate::error::Fault;
use crate::statement::statement;

/// An organization.
#[derive(QueryableByName)]
pub(super) struct Sum {
    #[diesel(sql_type = Binary)]
    id: Vec<u8>,
    /// Bytes of its rooms.
    #[diesel(sql_type = BigInt)]
    pub(super) counted: i64,
    /// The sum that is written down.
    #[diesel(sql_type = BigInt)]
    pub(super) noted: i64,
}

const SUMS: &str = "SELECT organizations.id, sum(chats.content_bytes) AS counted, \
         organizations.content_bytes AS noted \
     FROM chats JOIN organizations ON organizations.id = chats.organization_id \
     GROUP BY organizations.id, organizations.content_bytes";

/// Adds up the rooms of every organization; deleted ones count, since their messages are still there.
pub(super) fn sums_on(connection: &mut SqliteConnection) -> Result<Vec<Sum>, Fault> {
    Ok(diesel::sql_query(SUMS).load(connection)?)
}

/// Writes the sums down.
pub(super) fn note_on(connection: &mut SqliteConnection, sums: &[Sum]) -> Result<(), Fault> {
    for sum in sums {
        statement!("UPDATE organizations SET content_bytes = ? WHERE id = ?")
            .bind::<BigInt, _>(sum.counted)
            .bind::<Binary, _>(&sum.id)
            .execute(connection)?;
    }
    Ok(())
}
