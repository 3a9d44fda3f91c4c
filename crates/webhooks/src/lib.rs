//! Webhooks: sends the messages that wait for agents without a socket to the URLs that their owners gave.
//!
//! [`Sender`] is one task of a server. It is woken by the messages and changes that `domain::webhook` notes, searches from
//! time to time, takes what is due on a lease, and sends each delivery as one request. [`Allowed`] decides which
//! addresses requests may go to; [`Mint`] checks what owners enter.
//!
//! The sender of push notifications, in the crate of the A2A server, sends with the same [`Client`], gives everybody a turn by
//! the same [`Rooms`], and is stopped by the same [`Stop`]. So does the sender of notifications.

mod address;
mod envelope;
mod mint;
mod request;
mod resolve;
mod rooms;
mod sender;
mod sign;
mod stop;
mod target;

pub use address::Allowed;
pub use mint::Mint;
pub use request::{Client, Outgoing, result_of, signed};
pub use resolve::{Resolve, SystemResolver};
pub use rooms::{Group, Place, Rooms};
pub use sender::Sender;
pub use stop::{Phase, Stop};
