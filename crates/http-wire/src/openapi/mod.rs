//! What the server says of itself: every operation with its parameters, bodies and answers, as
//! OpenAPI 3.1.
//!
//! One table a crate both mounts and documents: an [`Endpoint`] holds the handler and what is said
//! of it, so that neither can be without the other. What goes out is described by the views
//! themselves (`ToSchema`); what comes in by the readers, which know their own rules
//! ([`FromBody::schema`](crate::strict_json::FromBody::schema),
//! [`FromQuery::parameters`](crate::query::FromQuery::parameters)).

mod document;
mod endpoint;
pub mod schema;

pub use document::{Access, Interface, document};
pub use endpoint::{Endpoint, delete, get, mount, patch, post, put};
