//! Waiting for what another process has changed.

use std::time::Duration;

use tokio::time::Instant;

use crate::server::is_spread;

/// Whatever a command or another server changed of callers holds for requests that begin so much later.
pub const LEASE: Duration = Duration::from_secs(1);

/// How long something that must happen may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whether it is so for a request that begins within [`LEASE`], or for the first one after it. To be called when
/// whoever changed it is done.
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

/// Whether it is so at once; where a test [is spread](is_spread) over several servers, whether it is [soon](soon()).
pub async fn at_once(mut is_so: impl AsyncFnMut() -> bool) -> bool {
    if is_spread() { soon(is_so).await } else { is_so().await }
}

/// The time that 99 of a hundred of these are within. At least one is given.
pub fn p99(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[(times.len() * 99).div_ceil(100) - 1]
}

/// Whether a test takes its full measure, against the program as it is shipped: `PARLANCE_TEST_FULL`.
pub fn is_full() -> bool {
    std::env::var_os("PARLANCE_TEST_FULL").is_some()
}

/// Asks until it is so, for a time; then the test fails with this text.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so().await {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The sum of the figures whose series begin with this text, from the metrics listener at this port.
pub async fn figure(port: u16, series: &str) -> f64 {
    let text = reqwest::get(format!("http://127.0.0.1:{port}/metrics")).await.unwrap().text().await.unwrap();
    let lines = text.lines().filter(|line| line.starts_with(series));
    lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum()
}
