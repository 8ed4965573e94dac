//! The dashboard from outside: its endpoints over a real data directory, and its pages in a real browser.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]
#![expect(clippy::print_stderr, reason = "tests report skips and timings")]

mod access_control;
mod browser;
mod data;
mod endpoints;
mod load;
mod pages;
