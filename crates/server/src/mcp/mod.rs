//! MCP server (Model Context Protocol) with sandboxes as tools, over stdio or HTTP.

mod http;
mod server;
mod tools;

pub use http::router;
pub use server::McpServer;
