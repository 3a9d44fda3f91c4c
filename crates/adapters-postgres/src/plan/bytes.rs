//! How many bytes organizations keep.

use diesel::sql_types::{Array, BigInt, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::error::Fault;
use crate::run::{Db, Never};
use crate::statement::statement;

/// An organization, the bytes of its rooms, and the sum that is written down.
pub(super) type Sum = (Uuid, i64, i64);

const SUMS: &str = "SELECT organizations.id, sum(chats.content_bytes)::bigint, organizations.content_bytes \
     FROM chats JOIN organizations ON organizations.id = chats.organization_id GROUP BY organizations.id";

/// Organizations that are being changed are left for the next time, so that nothing waits and nothing deadlocks.
const NOTE: &str = "WITH free AS (SELECT id FROM organizations WHERE id = ANY(?) FOR NO KEY UPDATE SKIP LOCKED) \
     UPDATE organizations SET content_bytes = counted.bytes FROM unnest(?, ?) AS counted (id, bytes), free \
     WHERE organizations.id = free.id AND counted.id = free.id";

/// Adds up the rooms of every organization; deleted ones count, since their messages are still there.
pub(super) async fn sums_on(mut db: &Db) -> Result<Vec<Sum>, Fault> {
    Ok(statement::<(SqlUuid, BigInt, BigInt)>(SUMS).load(&mut db).await?)
}

/// Writes the sums down.
pub(super) async fn note_on(mut db: &Db, sums: &[Sum]) -> Result<Result<(), Never>, Fault> {
    let (ids, bytes) = sums.iter().map(|(id, counted, _)| (*id, *counted)).unzip::<_, _, Vec<_>, Vec<_>>();
    statement::<()>(NOTE)
        .bind::<Array<SqlUuid>, _>(ids.clone())
        .bind::<Array<SqlUuid>, _>(ids)
        .bind::<Array<BigInt>, _>(bytes)
        .execute(&mut db)
        .await?;
    Ok(Ok(()))
}
