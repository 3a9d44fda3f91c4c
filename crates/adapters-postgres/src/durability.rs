//! Whether what is committed outlives a crash of the database.
//!
//! `synchronous_commit` is set for every transaction ([`begin`](crate::run)); what only the database's administrator
//! can set is looked at.

use diesel_async::RunQueryDsl;

use crate::error::Fault;
use crate::run::Db;
use crate::statement::statement;

/// Those that have to be on, or a crash of the machine may lose or tear what the disk was told to keep.
const OFF: &str = "SELECT name FROM pg_settings \
     WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name";

pub(crate) async fn unsafe_settings_on(mut db: &Db) -> Result<Vec<String>, Fault> {
    Ok(statement::<diesel::sql_types::Text>(OFF).load::<String>(&mut db).await?)
}
