//! The OpenAPI 3.1 document of the server: every operation with its parameters, bodies, and
//! responses.
//!
//! One table per crate both mounts and documents: an [`Endpoint`] holds the handler and its
//! documentation, so that neither can exist without the other. Responses are described by the views
//! themselves (`ToSchema`); requests by their readers
//! ([`FromBody`](crate::strict_json::FromBody), [`FromQuery`](crate::query::FromQuery)), which read an
//! empty request and record the schema of everything that they look for.

mod document;
mod endpoint;
pub mod schema;

pub use document::{AllowedCallers, Interface, document};
pub(crate) use endpoint::Parameter;
pub use endpoint::{Endpoint, delete, get, mount, patch, post, put};
