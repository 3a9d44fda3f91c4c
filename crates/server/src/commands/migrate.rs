//! `parlance migrate`: migrates the store's schema to this version.

use serde_json::json;

use crate::cli::ListArguments;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{count, print};
use crate::progress::Spinner;
use crate::store;

/// Migrates the schema and prints the applied steps.
pub(crate) async fn migrate(config: &Config, arguments: ListArguments) -> Result<(), Failure> {
    config.refuse_memory()?;
    let spinner = Spinner::begin("migrating the store");
    let opened = store::open_or_create(config).await;
    drop(spinner);
    let opened = opened?;
    let steps = opened.steps().clone();
    opened.close().await;
    let text = if arguments.json {
        json!({ "applied": steps.applied, "steps": steps.all }).to_string()
    } else if steps.applied.is_empty() {
        format!("Up to date. All {} migrations were already applied.", steps.all.len())
    } else {
        format!("Applied {}.", count(steps.applied.len() as u64, "migration"))
    };
    print(&text)
}
