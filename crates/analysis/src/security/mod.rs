//! Security findings: the tests that Bandit 1.9 runs by default, in one walk over a file's tree.
//!
//! `check` walks the tree; every other file has the tests for one family of constructs. Bandit's results are reproduced
//! down to the reported line and its peculiarities, so that its users get the same findings here.

mod argument_value;
mod bidi;
mod blacklist;
mod blacklist_calls;
mod blacklist_imports;
mod call;
mod call_filter;
mod check;
mod code_execution;
mod crypto;
mod deserialization;
mod django;
mod file_permissions;
mod import_aliases;
mod mark_safe;
mod nosec;
mod passwords;
mod remote_connections;
mod report;
mod shell;
mod sql;
mod statements;
mod string_literals;
mod tls;
mod web;

#[cfg(test)]
mod security_tests;

pub(crate) use check::findings;
