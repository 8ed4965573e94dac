//! Security findings: the tests that Bandit 1.9 runs by default, in one walk over a file's tree.
//!
//! `check` walks the tree; every other file has the tests for one family of constructs. Bandit's results are reproduced
//! down to the reported line and its peculiarities, so that its users get the same findings here.

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
