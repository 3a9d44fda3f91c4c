//! Parity of SQLite and PostgreSQL: the same sequences of operations give the same responses and events.

mod common;

use common::store;
use testkit::{Stores, parity};

const STEPS: usize = 1000;

/// A seed determines a sequence; `PARLANCE_TEST_SEED=7` runs only that one.
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
        parity::play(seed, STEPS, Stores::in_memory(), stores).await;
    }
}
