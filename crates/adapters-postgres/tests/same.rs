//! The same sequences of operations on SQLite and on PostgreSQL: every answer and every event is compared.

mod common;

use common::store;
use testkit::{Stores, same};

const STEPS: usize = 1000;

/// One number says which sequence: `PARLANCE_TEST_SEED=7` plays that one alone.
#[tokio::test]
async fn every_answer_is_the_same_on_both_stores() {
    let seeds = match std::env::var_os("PARLANCE_TEST_SEED") {
        Some(seed) => {
            let seed = seed.to_str().unwrap().parse::<u64>().unwrap();
            seed..seed + 1
        }
        None if std::env::var_os("PARLANCE_TEST_FULL").is_some() => 0..60,
        None => 0..3,
    };
    for seed in seeds {
        let (stores, _database) = store().await;
        same::play(seed, STEPS, Stores::in_memory(), stores).await;
    }
}
