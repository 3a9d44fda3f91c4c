//! Proof that nothing is lost while servers, databases and networks fail, in the manner of Jepsen: [callers](Stage)
//! record what they ask and are told, a [world](World) strikes what serves them, and a [checker](check()) looks for
//! anything in the [history](History) that must not be.

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
