//! Measurements of tests: a server's metrics, and the times of requests.

use std::time::Duration;

/// The sum of the metrics whose series begin with this text, from the metrics listener on this port.
pub async fn figure(port: u16, series: &str) -> f64 {
    let text = reqwest::get(format!("http://127.0.0.1:{port}/metrics")).await.unwrap().text().await.unwrap();
    let lines = text.lines().filter(|line| line.starts_with(series));
    lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum()
}

/// The time that 99 of a hundred of these are within. At least one is given.
pub fn p99(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[(times.len() * 99).div_ceil(100) - 1]
}
