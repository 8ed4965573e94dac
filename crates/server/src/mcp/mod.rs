//! Sandboxes as tools of a model: the Model Context Protocol, as lines on a pipe or over HTTP.

mod answer;
mod http;
mod tools;

pub use answer::Mcp;
pub use http::router;
