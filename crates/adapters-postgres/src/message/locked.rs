//! The chats of a batch that others have locked.

use std::collections::HashSet;

use diesel::sql_types::{Array, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::message::NewMessage;
use uuid::Uuid;

use super::batch::chats_of;
use crate::error::Fault;
use crate::run::Db;
use crate::statement::statement;

const LOCKED_BY_OTHERS: &str = "WITH free AS (SELECT id FROM chats WHERE id = ANY(?) AND deleted_at IS NULL \
     FOR NO KEY UPDATE SKIP LOCKED) \
     SELECT id FROM chats WHERE id = ANY(?) AND deleted_at IS NULL AND id <> ALL (SELECT id FROM free)";

/// Those of the chats that another transaction has locked.
pub(super) async fn locked_by_others_on(mut db: &Db, news: &[NewMessage]) -> Result<HashSet<Uuid>, Fault> {
    let ids = chats_of(news);
    let held = statement::<SqlUuid>(LOCKED_BY_OTHERS)
        .bind::<Array<SqlUuid>, _>(ids.clone())
        .bind::<Array<SqlUuid>, _>(ids)
        .load::<Uuid>(&mut db)
        .await?;
    Ok(held.into_iter().collect())
}
