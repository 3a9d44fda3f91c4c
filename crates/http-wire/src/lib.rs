//! The code that both REST interfaces and the socket upgrade share, so that the two cannot drift.
//!
//! In the order in which a request meets them:
//!
//! - [`turn`] - the side that may send on a connection; [`tracked_body`]: the body of its answer;
//! - [`response_budget`] - the budget of unread responses;
//! - [`request_scope`] - request id, log span, and the error envelope around every failure;
//! - [`browser`] - headers for browsers, and allowed origins;
//! - [`auth`] - authentication;
//! - [`limit`] - rate limits;
//! - [`path`], [`query`], [`strict_json`] - raw text to typed values, with every fault named;
//!   [`body`] holds the bodies that both interfaces know;
//! - [`idempotent`] - bodies of requests with an idempotency key; [`traceparent`]: their trace;
//! - [`page`], [`cursor`] - pages of lists, and their continuation;
//! - [`room_waiters`] - requests that wait for something to happen in a room;
//! - [`services`] - registers the use cases in an application; [`features`]: the feature flags that clients read;
//! - [`view`], [`envelope`] - JSON of responses;
//! - [`login`] - logging in, for programs and for browsers;
//! - [`handlers`] - handlers that both interfaces share; [`memories`]: the common part of their lists
//!   of memories;
//! - [`static_file`] - documents that are part of the program;
//! - [`error`] - the only place where a domain error becomes a status and a code.

pub mod auth;
pub mod avatar;
pub mod body;
pub mod browser;
pub mod ceremony;
pub mod cursor;
pub mod disk_reserve;
pub mod envelope;
pub mod error;
pub mod features;
pub mod handlers;
pub mod idempotent;
pub mod limit;
pub mod login;
pub mod memories;
pub mod openapi;
pub mod page;
pub mod path;
pub mod public_url;
pub mod query;
pub mod request_scope;
pub mod response_budget;
pub mod room_waiters;
pub mod services;
pub mod static_file;
pub mod strict_json;
pub mod traceparent;
pub mod tracked_body;
pub mod turn;
pub mod view;
