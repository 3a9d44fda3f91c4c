//! Waiting for a fixed time, which a test may only do here.

use std::time::Duration;

/// Lets real time pass: to show that nothing happens in it, or because its length is what is tested. A test that can
/// wait for a fact waits for the fact.
pub async fn elapse(time: Duration) {
    tokio::time::sleep(time).await;
}
