//! Push notifications of A2A: a caller has what happens to its task sent to a URL.
//!
//! A [`PushConfig`] is one such wish. It says what its receiver knows of the task ([`Known`]), and a *sender*, one on each
//! server, derives from the messages of the task what is new and sends it. Nothing is written when something happens: an
//! event in the room of a configuration only makes it due, and a configuration that no event has told of is looked at from
//! time to time.
//!
//! Invariants: a configuration has at most one sender, among all servers, by its lease. A sender that died leaves its lease,
//! which expires. What was delivered is stored after each notification, so each is sent at least once, and in order.
//!
//! A configuration ends with its task, a while after the last notification was delivered; with the credential that made it;
//! when its caller can no longer read the task; and when its receiver has failed for a day, or says that it is gone.

mod model;
mod port;
mod service;
mod set;
mod target;

pub use model::{FAILING_FOR, KEPT_FOR, LEASE, LONGEST_REST, SHORTEST_REST};
pub use model::{Known, PushConfig, PushCredential, PushEnd, PushName, PushRemoval, PushStep, PushTask};
pub use port::{
    AppliedPush, DuePush, MAX_OF_TASK, MAX_OF_USER, PushLease, PushRefused, PushRepository, RemovePushConfig,
    SetPushConfig, SettledPush,
};
pub use service::{NewPush, PushPorts, PushService, SetPushError};
pub use set::{PushEvents, PushSet, PushWakes};
pub use target::{PushAuthentication, PushFault, PushSecret, PushTarget};
