//! The OpenAPI 3.1 document of the server: every operation with its parameters, bodies, and
//! responses.
//!
//! One table per crate both mounts and documents: an [`Endpoint`] holds the handler and its
//! documentation, so that neither can exist without the other. Responses are described by the views
//! themselves (`ToSchema`); requests by the readers, which know their own rules
//! ([`FromBody::schema`](crate::strict_json::FromBody::schema),
//! [`FromQuery::parameters`](crate::query::FromQuery::parameters)).

mod document;
mod endpoint;
pub mod schema;

pub use document::{Access, Interface, document};
pub use endpoint::{Endpoint, delete, get, mount, patch, post, put};
