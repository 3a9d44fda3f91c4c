//! Proof that nothing is lost while servers, databases, and networks fail, in the manner of Jepsen: [callers](Stage)
//! record their requests and the outcomes, a [world](World) causes failures, and a [checker](check()) searches the
//! [history](History) for anomalies.

mod actors;
mod check;
mod clock;
mod disk;
mod history;
mod link;
mod random;
mod world;

pub use actors::Stage;
pub use check::{Anomaly, Fault, check};
pub use history::{Call, History, LastRow, Operation, Outcome, Row, Work};
pub use random::Random;
pub use world::{Strike, World};
