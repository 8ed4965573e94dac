//! A call, with its resolved name and the context that tests need.

use std::borrow::Cow;

use super::argument_value::ArgumentValue;
use super::import_aliases::ImportAliases;
use super::mark_safe::LookupLimits;
use crate::syntax::{Expr, ParsedPythonSource, Ranged, Stmt, TextSize, ast};

/// A call that a test may report.
#[derive(Clone, Copy)]
pub(super) struct CheckedCall<'call, 'source> {
    pub(super) node: &'source ast::ExprCall,
    /// Callee with its import aliases resolved, such as `subprocess.run`; `.run` on an unnamed object.
    pub(super) qualified: &'call Cow<'source, str>,
    pub(super) names: &'call ImportAliases<'source>,
    pub(super) source: &'source ParsedPythonSource,
    /// The innermost function around the call, unless it is `async`.
    pub(super) function: Option<&'source ast::StmtFunctionDef>,
    pub(super) lookups: &'call LookupLimits,
}

impl<'source> CheckedCall<'_, 'source> {
    /// The last segment of the callee.
    pub(super) fn name(&self) -> &str {
        self.segments().next_back().unwrap_or_default()
    }

    /// The first segment of the callee.
    pub(super) fn root(&self) -> &str {
        self.segments().next().unwrap_or_default()
    }

    pub(super) fn has_segment(&self, wanted: &str) -> bool {
        self.segments().any(|segment| segment == wanted)
    }

    fn segments(&self) -> std::str::Split<'_, char> {
        self.qualified.split('.')
    }

    pub(super) fn is(&self, qualified: &str) -> bool {
        self.qualified == qualified
    }

    pub(super) fn is_one_of(&self, qualified: &[&str]) -> bool {
        qualified.iter().any(|name| self.is(name))
    }

    /// The positional arguments.
    pub(super) fn arguments(&self) -> &'source [Expr] {
        &self.node.arguments.args
    }

    /// The value of a positional argument.
    pub(super) fn argument(&self, index: usize) -> Option<ArgumentValue<'source>> {
        ArgumentValue::of(self.arguments().get(index)?)
    }

    /// Argument passed by name.
    pub(super) fn keyword(&self, name: &str) -> Option<&'source Expr> {
        let mut keywords = self.node.arguments.keywords.iter();
        keywords.find(|keyword| keyword.arg.as_deref() == Some(name)).map(|keyword| &keyword.value)
    }

    /// Value of an argument passed by name; an expression without a value counts as not passed.
    pub(super) fn keyword_value(&self, name: &str) -> Option<ArgumentValue<'source>> {
        ArgumentValue::of(self.keyword(name)?)
    }

    /// Whether the argument passed by name has the value `text`.
    pub(super) fn keyword_is(&self, name: &str, text: &str) -> bool {
        self.keyword_value(name).and_then(ArgumentValue::text) == Some(text)
    }

    /// Position of the value of a keyword argument.
    pub(super) fn keyword_offset(&self, name: &str) -> Option<TextSize> {
        self.keyword(name).map(Ranged::start)
    }

    /// Statements in which the call's variables are looked up.
    pub(super) fn scope(&self) -> &'source [Stmt] {
        self.function.map_or(self.source.body(), |function| &function.body)
    }
}
