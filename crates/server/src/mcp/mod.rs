//! MCP server (Model Context Protocol) with sandboxes as tools, over stdio or HTTP.

mod answer;
mod http;
mod tools;

pub use answer::Mcp;
pub use http::router;
