//! Notifications: tells users outside the console that something waits for them.
//!
//! [`Sender`] is one task of a server. It makes the notifications of rooms in which something has happened, takes what is due on
//! a lease of its channel, and sends it: by e-mail ([`Mailer`]), or as one request of the client of webhooks, whose rules for
//! addresses apply. What is sent when, and what it says, is in the domain.

mod email;
mod hook;
mod ntfy;
mod sender;
mod web_push;

pub use email::{Mailer, MailerFault};
pub use sender::{Sender, Transports};
pub use web_push::Vapid;
