//! The thresholds of the flags of work, and the lease of claims.

use domain::delivery::{ClaimLease, SHOWN_ATTEMPTS};
use domain::work::WorkThresholds;

use super::key::Key;
use super::parse;
use super::values::Values;

pub(super) fn read(values: &mut Values) -> (WorkThresholds, ClaimLease) {
    values.section("Work of agents");
    let unanswered = Key::number(
        "work_unanswered_after_ms",
        "MS",
        "300000",
        "Time until a message that an agent has not begun to process is shown as `unanswered`, in milliseconds. See \
         *An agent does not answer* in [operations.md](operations.md).",
    );
    let stuck = Key::number(
        "work_stuck_after_ms",
        "MS",
        "900000",
        "Time until a message that an agent is processing is shown as `stuck`, in milliseconds since the attempt \
         began. After that, the attempt no longer keeps older messages from being pushed to the agent.",
    );
    let failing = Key::number(
        "work_failing_attempts",
        "NUMBER",
        "3",
        "Number of failed attempts in a row after which a message is shown as `failing`. An attempt that another one \
         superseded has failed.",
    );
    let lease = Key::number(
        "claim_lease_ms",
        "MS",
        "60000",
        "How long an attempt of an agent with exclusive claims keeps its message from other workers of the agent without \
         a sign of life, in milliseconds. The same on all servers. See *Exclusive claims* in [API.md](API.md).",
    );
    let thresholds = WorkThresholds {
        unanswered_after: values.read(unanswered, parse::millis(1, MAX_MS)),
        stuck_after: values.read(stuck, parse::millis(1, MAX_MS)),
        failing_attempts: values.read(failing, parse::number(1, SHOWN_ATTEMPTS - 1)),
    };
    (thresholds, ClaimLease::new(values.read(lease, parse::millis(100, parse::DAY_MS))))
}

/// Thirty days.
const MAX_MS: u64 = 30 * parse::DAY_MS;

#[cfg(test)]
mod tests {
    use super::*;

    /// Services without a configuration use the same.
    #[test]
    fn the_defaults_are_those_of_the_domain() {
        assert_eq!(read(&mut Values::gather_nothing()), Default::default());
    }
}
