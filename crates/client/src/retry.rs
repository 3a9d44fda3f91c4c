//! Pauses between tries.

use std::time::Duration;

use crate::error::ClientError;

/// The pause after the first failure.
const FIRST: Duration = Duration::from_millis(500);

/// The longest pause, unless the server asks for a longer one.
const LONGEST: Duration = Duration::from_secs(15);

/// The longest pause that a server may ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(5 * 60);

/// Doubles the pause with each failure in a row, and honors what the server asks for. Each pause is up to a quarter longer
/// by chance, so that clients of a server that has restarted do not return together.
#[derive(Default, Debug)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The pause after another failure; `None` if the failure will not pass.
    pub fn pause(&mut self, error: &ClientError) -> Option<Duration> {
        let asked = match error {
            ClientError::Unreachable { .. } => None,
            ClientError::Unavailable { retry_after, .. } => *retry_after,
            ClientError::Untrusted { .. }
            | ClientError::Unauthorized { .. }
            | ClientError::Refused { .. }
            | ClientError::Foreign { .. } => return None,
        };
        let own = FIRST.saturating_mul(1 << self.failures.min(10)).min(LONGEST);
        self.failures += 1;
        let pause = own.max(asked.unwrap_or_default().min(LONGEST_ASKED));
        Some(pause + pause.mul_f64(f64::from(random_byte()) / 1024.0))
    }

    /// Returns whether the last try failed.
    pub const fn is_failing(&self) -> bool {
        self.failures > 0
    }

    /// Ends the row of failures; returns whether there was one.
    pub fn end(&mut self) -> bool {
        std::mem::take(&mut self.failures) > 0
    }
}

/// Without randomness, all clients pause equally long.
fn random_byte() -> u8 {
    let mut byte = [0];
    getrandom::fill(&mut byte).map_or(0, |()| byte[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unavailable(seconds: Option<u64>) -> ClientError {
        let (server, message) = (String::new(), String::new());
        ClientError::Unavailable { server, message, retry_after: seconds.map(Duration::from_secs) }
    }

    #[test]
    fn pauses_double_up_to_a_limit() {
        let mut backoff = Backoff::default();
        let unreachable = ClientError::Unreachable { server: String::new(), reason: String::new() };
        for at_least in [500, 1000, 2000, 4000, 8000, 15_000, 15_000] {
            let pause = backoff.pause(&unreachable).unwrap();
            let at_least = Duration::from_millis(at_least);
            assert!(pause >= at_least && pause <= at_least.mul_f64(1.25), "{pause:?}");
        }
        assert!(backoff.end() && !backoff.end());
        assert!(backoff.pause(&unreachable).unwrap() < Duration::from_secs(1));
    }

    #[test]
    fn a_server_may_ask_for_a_longer_pause() {
        let asked = |seconds| Backoff::default().pause(&unavailable(seconds)).unwrap();
        assert!(asked(Some(60)) >= Duration::from_secs(60));
        assert!(asked(Some(86_400)) <= LONGEST_ASKED.mul_f64(1.25), "but for no day");
        assert!(asked(Some(0)) >= FIRST);
        let refused = ClientError::Refused { status: 404, code: String::new(), message: String::new() };
        assert_eq!(Backoff::default().pause(&refused), None);
    }
}
