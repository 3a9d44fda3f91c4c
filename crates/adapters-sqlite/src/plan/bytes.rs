//! The bytes that organizations store.

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
    /// Bytes of its chats and memories.
    #[diesel(sql_type = BigInt)]
    pub(super) counted: i64,
    /// The stored sum.
    #[diesel(sql_type = BigInt)]
    pub(super) noted: i64,
}

const SUMS: &str = "WITH kept (organization_id, bytes) AS (\
         SELECT organization_id, sum(content_bytes) FROM chats GROUP BY organization_id UNION ALL \
         SELECT organization_id, sum(octet_length(content) + octet_length(thought) + octet_length(metadata)) \
         FROM memories INDEXED BY memories_of_organization WHERE status <> 'deleted' GROUP BY organization_id\
     ) \
     SELECT organizations.id, coalesce(sum(kept.bytes), 0) AS counted, organizations.content_bytes AS noted \
     FROM organizations LEFT JOIN kept ON kept.organization_id = organizations.id \
     GROUP BY organizations.id, organizations.content_bytes";

/// Adds up the chats of every organization, including deleted ones, whose messages still exist, and
/// its memories. In the order of the index their lengths are read without their texts, which a
/// sorter would have to hold.
pub(super) fn sums_on(connection: &mut SqliteConnection) -> Result<Vec<Sum>, Fault> {
    Ok(diesel::sql_query(SUMS).load(connection)?)
}

/// Stores the sums.
pub(super) fn note_on(connection: &mut SqliteConnection, sums: &[Sum]) -> Result<(), Fault> {
    for sum in sums {
        statement!("UPDATE organizations SET content_bytes = ? WHERE id = ?")
            .bind::<BigInt, _>(sum.counted)
            .bind::<Binary, _>(&sum.id)
            .execute(connection)?;
    }
    Ok(())
}
