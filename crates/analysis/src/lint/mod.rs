//! Lint findings behind the metric `code_quality`: names that are wrong or wasted, and a few plain mistakes.
//!
//! One pass over the tree. Function bodies, lambdas and quoted annotations wait until the module around them is
//! known, as they do in Python. Behaviour follows ruff's rules of the same meaning.

mod annotation;
mod binding;
mod builtins;
mod check;
mod default;
mod expression;
mod finding;
mod import;
mod lookup;
mod noqa;
mod origin;
mod pattern;
mod scope;
mod statement;
mod unused;

#[cfg(test)]
mod check_tests;

pub(crate) use check::findings;
