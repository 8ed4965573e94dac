//! The dashboard from outside: its endpoints over a real data directory, and its pages in a real browser.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]
#![expect(clippy::print_stderr, reason = "tests report skips and timings")]

mod browser;
mod data;
mod guarded;
mod load;
mod looked_at;
mod shown;
