//! The bytes that organizations store.

use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Nullable, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::error::Fault;
use crate::run::Db;
use crate::schema::organizations;
use crate::statement::statement;

/// An organization, and the bytes of its chats and memories.
pub(super) type Sum = (Uuid, i64);

/// Adds up as many chats, or memories, as any machine reads within a moment, however many there are
/// in all. The lengths of memories are read without loading long texts.
const COUNT_CHATS: &str = "WITH part AS MATERIALIZED (\
         SELECT id, organization_id, content_bytes FROM chats WHERE id > ? ORDER BY id LIMIT 50000\
     ) SELECT organization_id, sum(content_bytes)::bigint, (SELECT id FROM part ORDER BY id DESC LIMIT 1) \
     FROM part GROUP BY organization_id";
const COUNT_MEMORIES: &str = "WITH part AS MATERIALIZED (\
         SELECT id, organization_id, octet_length(content) + octet_length(thought) + octet_length(metadata) AS bytes \
         FROM memories WHERE id > ? AND status <> 'deleted' ORDER BY id LIMIT 10000\
     ) SELECT organization_id, sum(bytes)::bigint, (SELECT id FROM part ORDER BY id DESC LIMIT 1) \
     FROM part GROUP BY organization_id";

/// The parts that are added up.
pub(super) const ALL: [&str; 2] = [COUNT_CHATS, COUNT_MEMORIES];

/// Organizations that are being changed are skipped until the next run, so that nothing waits or
/// deadlocks.
const NOTE: &str = "WITH free AS (SELECT id FROM organizations WHERE id = ANY(?) FOR NO KEY UPDATE SKIP LOCKED) \
     UPDATE organizations SET content_bytes = counted.bytes FROM unnest(?, ?) AS counted (id, bytes), free \
     WHERE organizations.id = free.id AND counted.id = free.id";

/// Adds up the next chats or memories after this one by organization, each with the last id of all.
/// Deleted chats count, since their messages still exist.
pub(super) async fn part_on(
    mut db: &Db,
    of: &'static str,
    after: Uuid,
) -> Result<Vec<(Option<Uuid>, i64, Uuid)>, Fault> {
    let part = statement::<(Nullable<SqlUuid>, BigInt, SqlUuid)>(of).bind::<SqlUuid, _>(after);
    Ok(part.load(&mut db).await?)
}

/// The stored sums.
pub(super) async fn noted_on(mut db: &Db) -> Result<Vec<(Uuid, i64)>, Fault> {
    let noted = organizations::table.select((organizations::id, organizations::content_bytes));
    Ok(noted.load(&mut db).await?)
}

/// Stores the sums.
pub(super) async fn note_on(mut db: &Db, sums: &[Sum]) -> Result<(), Fault> {
    let (ids, bytes) = sums.iter().copied().unzip::<_, _, Vec<_>, Vec<_>>();
    statement::<()>(NOTE)
        .bind::<Array<SqlUuid>, _>(ids.clone())
        .bind::<Array<SqlUuid>, _>(ids)
        .bind::<Array<BigInt>, _>(bytes)
        .execute(&mut db)
        .await?;
    Ok(())
}
