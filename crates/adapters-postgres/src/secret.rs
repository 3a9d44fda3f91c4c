//! The store of secrets.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::secret::{Secret, SecretRepository};
use domain::store::StoreError;
use futures_util::FutureExt;

use crate::PostgresStore;
use crate::error::Fault;
use crate::run::Db;
use crate::schema::secrets;

#[async_trait]
impl SecretRepository for PostgresStore {
    async fn secret(&self, name: &'static str, fresh: Secret) -> Result<Secret, StoreError> {
        self.alter((name, fresh), |db, (name, fresh)| secret_on(db, name, fresh).boxed()).await
    }
}

async fn secret_on(mut db: &Db, name: &str, fresh: &Secret) -> Result<Secret, Fault> {
    diesel::insert_into(secrets::table)
        .values((secrets::name.eq(name), secrets::secret.eq(fresh.0.as_slice())))
        .on_conflict_do_nothing()
        .execute(&mut db)
        .await?;
    // The next statement sees the commits of other processes meanwhile.
    let kept: Vec<u8> = secrets::table.find(name).select(secrets::secret).first(&mut db).await?;
    let kept = kept.try_into().map(Secret);
    kept.map_err(|_| Fault::Row(format!("the secret {name} has another length")))
}
