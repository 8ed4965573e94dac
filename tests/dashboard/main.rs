//! The dashboard from outside: its endpoints over a real data directory, and its pages in a real browser.
#![expect(clippy::unwrap_used, reason = "a panic is how a test says that something is wrong")]
#![expect(clippy::print_stderr, reason = "what is skipped and how long things took is said")]

mod browser;
mod data;
mod guarded;
mod load;
mod looked_at;
mod shown;
