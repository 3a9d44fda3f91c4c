//! The store of secrets.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::secret::{Secret, SecretRepository};
use domain::store::StoreError;

use crate::SqliteStore;
use crate::error::Fault;
use crate::schema::secrets;

#[async_trait]
impl SecretRepository for SqliteStore {
    async fn secret(&self, name: &'static str, fresh: Secret) -> Result<Secret, StoreError> {
        self.alter(move |connection| secret_on(connection, name, fresh)).await
    }
}

fn secret_on(connection: &mut SqliteConnection, name: &str, fresh: Secret) -> Result<Secret, Fault> {
    diesel::insert_or_ignore_into(secrets::table)
        .values((secrets::name.eq(name), secrets::secret.eq(fresh.0.as_slice())))
        .execute(connection)?;
    let kept: Vec<u8> = secrets::table.find(name).select(secrets::secret).get_result(connection)?;
    kept.try_into().map(Secret).map_err(|_| Fault::Row(format!("the secret {name} has another length")))
}
