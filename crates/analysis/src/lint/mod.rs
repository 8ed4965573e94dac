//! Lint findings behind the metric `code_quality`: undefined and unused names, and a few common mistakes.
//!
//! One pass over the tree. Function bodies, lambdas and quoted annotations are evaluated after the module around them,
//! as in Python. Behaviour follows ruff's rules of the same meaning.

mod annotation;
mod binding;
mod builtins;
mod check;
mod expression;
mod finding;
mod import;
mod lookup;
mod mutable_default;
mod noqa;
mod origin;
mod scope;
mod statement;
mod structural_rules;
mod unused;

#[cfg(test)]
mod check_tests;

pub(crate) use check::findings;
