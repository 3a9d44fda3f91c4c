//! Waiting for changes that another process makes.

use std::time::Duration;

use tokio::time::Instant;

use crate::mode::is_spread;

/// Whatever a command or another server changed of callers holds for requests that begin so much later.
pub const LEASE: Duration = Duration::from_secs(1);

/// Returns whether a condition holds within [`LEASE`], or at the first check after it. Call it when the change that
/// causes the condition is done.
pub async fn soon(mut is_so: impl AsyncFnMut() -> bool) -> bool {
    let since = Instant::now();
    loop {
        let is_last = since.elapsed() >= LEASE;
        if is_so().await {
            return true;
        }
        if is_last {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Returns whether it is so immediately, or [soon](soon()) if a test [is spread](is_spread) over several servers.
pub async fn at_once(mut is_so: impl AsyncFnMut() -> bool) -> bool {
    if is_spread() { soon(is_so).await } else { is_so().await }
}
