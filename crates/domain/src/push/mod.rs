//! Push notifications about A2A tasks: the server reports what happens to a task to a URL that its caller has set.
//!
//! A [`PushConfig`] is one such URL of one task. It records what its receiver knows of the task ([`Known`]). A *sender*, one
//! on each server, derives what is new from the messages of the task and sends it. When something happens, nothing is
//! written: an event in the room of a configuration only makes it due. A task without events is read from time to time.
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
