//! The same sequences of operations on SQLite and on PostgreSQL: every answer and every event is compared.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod common;

use common::store;
use testkit::{Stores, same};

const STEPS: usize = 1000;

/// One number says which sequence: `PARLANCE_TEST_SEED=7` plays that one alone.
#[tokio::test]
async fn every_answer_is_the_same_on_both_stores() {
    let seeds = match std::env::var("PARLANCE_TEST_SEED") {
        Ok(seed) => {
            let seed = seed.parse::<u64>().unwrap();
            seed..seed + 1
        }
        Err(_) if std::env::var_os("PARLANCE_TEST_FULL").is_some() => 0..60,
        Err(_) => 0..3,
    };
    for seed in seeds {
        let (stores, _database) = store().await;
        same::play(seed, STEPS, Stores::in_memory(), stores).await;
    }
}
