//! The MCP server at `/mcp` (Model Context Protocol, streamable HTTP without sessions), over the same use cases as the
//! REST interfaces.
//!
//! [`configure`] mounts it. `door` passes a request to the protocol's library, `server` answers its methods, `session` holds
//! the caller of one request and what it may use, and `tool` is the table of tools; each of `tools` reads its arguments,
//! calls use cases, and shows the result.

mod door;
mod failure;
mod resource;
mod server;
mod session;
mod tool;
mod tools;
mod view;

pub use door::configure;
