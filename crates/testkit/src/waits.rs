//! Waiting: for a fact, for a fixed time, and between two requests of a load. `crates/server/tests/sources.rs`
//! lists the few other sleeps of test code, and every use of [`elapse`], with the reasons.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// The maximum wait for something that must happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until a condition holds. After a time, the test fails with this text.
///
/// # Panics
/// If it does not hold in time.
pub async fn until(what: &str, is_so: impl AsyncFnMut() -> bool) {
    until_or(|| what.to_owned(), is_so).await;
}

/// Waits until a condition holds. After a time, the test fails with the text that `otherwise` makes then.
///
/// # Panics
/// If it does not hold in time.
pub async fn until_or(otherwise: impl Fn() -> String, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so().await {
        assert!(Instant::now() < deadline, "{}", otherwise());
        sleep(Duration::from_millis(10)).await;
    }
}

/// Lets real time pass: to show that nothing happens in it, or because its length is what is tested. A test
/// that can wait for a fact waits for the fact.
pub async fn elapse(time: Duration) {
    sleep(time).await;
}

/// The pause of a client between two requests, or between two parts of one: it sets the rate of a load, and
/// nothing is expected to happen in it.
pub async fn pace(time: Duration) {
    sleep(time).await;
}

/// [`pace`] for a client that is a thread.
pub fn pace_thread(time: Duration) {
    std::thread::sleep(time);
}
