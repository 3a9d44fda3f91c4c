//! The condition of a running server, for operators.
//!
//! An *operator* is a user with the role `admin` in the installation, which is unrelated to the role in an
//! organization ([`AccountService::check_operator`](crate::account::AccountService::check_operator)). Their use cases
//! take the [`Operator`](crate::account::Operator) that this check returns. Operators see
//! figures, names, and states, but no contents of rooms that they are not in. The lists of all accounts,
//! organizations, and agents with flagged work are use cases of their areas; this area adds what only a server knows:
//! its sockets, its counters, and the *throughput*, the change of the counters in steps of ten seconds. All of these
//! are of one server, even in a cluster.

mod probe;
mod sent;
mod service;
mod throughput;

pub use probe::{Condition, Finding, OpenSocket, ServerFacts, ServerProbe, StoreKind};
pub use sent::{CountedEvents, SentCounts};
pub use service::{OpenConnection, OperatorService, Overview};
pub use throughput::{Counts, STEP, STEPS, Series, Throughput, ThroughputSteps};
