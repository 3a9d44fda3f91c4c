//! How the tests run, from the environment: which store, how many servers, and how long.

/// Returns whether servers use PostgreSQL: `PARLANCE_TEST_STORE=postgres`.
pub fn on_postgres() -> bool {
    std::env::var_os("PARLANCE_TEST_STORE").is_some_and(|store| match store.to_str() {
        Some("postgres") => true,
        Some("sqlite") => false,
        other => panic!("PARLANCE_TEST_STORE is sqlite or postgres, not {other:?}"),
    })
}

/// Returns whether a server on PostgreSQL is three servers with NATS, where each caller and each socket of a test uses
/// the next one: `PARLANCE_TEST_NODES=spread`.
pub fn is_spread() -> bool {
    let is_wanted = std::env::var_os("PARLANCE_TEST_NODES").is_some_and(|nodes| match nodes.to_str() {
        Some("spread") => true,
        Some("one") => false,
        other => panic!("PARLANCE_TEST_NODES is one or spread, not {other:?}"),
    });
    is_wanted && on_postgres()
}

/// Returns whether tests run in their long form, against the shipped build: `PARLANCE_TEST_FULL`.
pub fn is_full() -> bool {
    std::env::var_os("PARLANCE_TEST_FULL").is_some()
}
