//! Security findings: the tests that Bandit 1.9 runs by default, decided on one file's tree in one walk.
//!
//! `check` walks and asks; every other file answers for one family of constructs. What Bandit sees is matched down to
//! the reported line and to its oddities, so that its users find the same findings here.

mod bidi;
mod blacklist;
mod blacklist_calls;
mod blacklist_imports;
mod call;
mod check;
mod code_execution;
mod crypto;
mod deserialization;
mod django;
mod files;
mod mark_safe;
mod names;
mod nosec;
mod noteworthy;
mod passwords;
mod remote;
mod report;
mod shell;
mod sql;
mod statements;
mod strings;
mod tls;
mod value;
mod web;

#[cfg(test)]
mod security_tests;

pub(crate) use check::findings;
