//! Waiting for what another process has changed.

use std::time::Duration;

use tokio::time::Instant;

use crate::server::is_spread;

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

/// The time that 99 of a hundred of these are within. At least one is given.
pub fn p99(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[(times.len() * 99).div_ceil(100) - 1]
}

/// Returns whether tests run in their long form, against the shipped build: `PARLANCE_TEST_FULL`.
pub fn is_full() -> bool {
    std::env::var_os("PARLANCE_TEST_FULL").is_some()
}

/// The sum of the metrics whose series begin with this text, from the metrics listener on this port.
pub async fn figure(port: u16, series: &str) -> f64 {
    let text = reqwest::get(format!("http://127.0.0.1:{port}/metrics")).await.unwrap().text().await.unwrap();
    let lines = text.lines().filter(|line| line.starts_with(series));
    lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum()
}
