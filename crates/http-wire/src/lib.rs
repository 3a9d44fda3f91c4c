//! What both REST interfaces and the socket upgrade share, so that the two edges cannot drift.
//!
//! In the order in which a request meets them:
//!
//! - [`turn`]: whose turn it is on a connection; [`unread`]: the body of its answer;
//! - [`answers`]: how many bytes answers may hold that nobody has read;
//! - [`request_scope`]: request id, log span, and the error envelope around every failure;
//! - [`browser`]: what is said to browsers, and whose pages may read answers;
//! - [`auth`]: from a credential to a caller;
//! - [`limit`]: how often somebody may ask;
//! - [`path`], [`query`], [`strict_json`]: raw text to typed values, with every fault named;
//!   [`body`] holds the bodies that both interfaces know;
//! - [`idempotent`]: bodies of requests that may be sent twice and count once;
//! - [`page`], [`cursor`]: which part of a list, and how to go on from there;
//! - [`services`]: registers the use cases in an application;
//! - [`view`], [`envelope`]: what goes out;
//! - [`peers`]: two lists that both interfaces serve alike; [`memories`]: what theirs have in common;
//! - [`error`]: the only place where a domain error becomes a status and a code.

pub mod answers;
pub mod auth;
pub mod body;
pub mod browser;
pub mod cursor;
pub mod envelope;
pub mod error;
pub mod idempotent;
pub mod limit;
pub mod memories;
pub mod openapi;
pub mod page;
pub mod path;
pub mod peers;
pub mod public_url;
pub mod query;
pub mod request_scope;
pub mod services;
pub mod strict_json;
pub mod turn;
pub mod unread;
pub mod view;
