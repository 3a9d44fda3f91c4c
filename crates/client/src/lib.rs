//! A user's client of a server, over the REST interface for humans: what `parlance client` does.
//!
//! It knows a server only by its public API, like any other client, so it uses no other crate of this workspace. Messages
//! are read with the cursor of each room, which makes repeated requests safe: after a broken connection, the client goes on
//! behind the last message that it has shown, and shows none twice.
//!
//! Texts of others never reach a terminal as they are: [`text`] takes out what a terminal would interpret.

mod access;
mod address;
mod connection;
mod editor;
mod error;
mod feed;
mod mention;
mod model;
mod profile;
mod question;
mod render;
mod retry;
mod room_list;
pub mod screen;
mod session;
pub mod text;
mod work;

pub use access::{Access, AccessError, Given, KEY_VARIABLE, PROFILE_VARIABLE, URL_VARIABLE};
pub use address::Address;
pub use editor::{Editor, Event};
pub use error::ClientError;
pub use feed::{Feed, POLL_INTERVAL, Shown, Start};
pub use mention::mentioned;
pub use model::{ApiKey, Message, Participant, Profile, Room, Sent, Unread, Warning};
pub use profile::{ProfileError, Profiles, StoredProfile};
pub use question::{Asked, Notice, Outcome, Question};
pub use render::{Clock, Rendering};
pub use retry::Backoff;
pub use room_list::RoomList;
pub use session::{IdempotencyKey, Rooms, Session};
pub use work::{Retried, WorkItem};
