//! The shared parts of the REST edges, without a store: bodies, errors, views, the request scope.
#![expect(clippy::unwrap_used, reason = "a test may end at whatever it did not expect")]

mod bodies;
mod errors;
mod scope;
mod views;
