//! Django's `mark_safe`, followed through the assignments of its argument.

use std::cell::Cell;

use menace_model::inventory::FindingSeverity::{High, Medium};

use super::call::CheckedCall;
use super::report::SecurityIssue;
use crate::syntax::{Expr, ParsedPythonSource, Stmt, ast};

pub(super) const CALLEES: &[&str] = &["mark_safe", "SafeText", "SafeUnicode", "SafeString", "SafeBytes"];

/// Limits on the lookups of variables in a file. `x = x` repeated doubles the work with each line, and
/// `x = (⏎ x)` never ends; a value that is not resolved within the limits counts as unsafe.
#[derive(Debug, Default)]
pub(super) struct LookupLimits {
    /// Remaining variables of the current call.
    variables: Cell<u32>,
    /// Remaining statements of the whole file.
    statements: Cell<u32>,
}

impl LookupLimits {
    const MAX_VARIABLES: u32 = 200;
    const MAX_STATEMENTS: u32 = 1_000_000;

    fn allow_variable(&self) -> bool {
        self.variables.set(self.variables.get() + 1);
        self.variables.get() <= Self::MAX_VARIABLES
    }

    fn allow_statement(&self) -> bool {
        self.statements.set(self.statements.get().saturating_add(1));
        self.statements.get() <= Self::MAX_STATEMENTS
    }
}

/// B703: text marked as safe that does not consist of literals alone.
pub(super) fn unsafe_text(call: &CheckedCall) -> Option<SecurityIssue> {
    if !CALLEES.contains(&call.name()) || !call.names.imports_name_containing("django.utils.safestring") {
        return None;
    }
    let text = call.arguments().first()?;
    let scope = AssignmentScope {
        source: call.source,
        parameters: call.function.map_or(&[], |function| &function.parameters.args),
        body: call.scope(),
        lookups: call.lookups,
    };
    scope.lookups.variables.set(0);
    let is_safe = match text {
        Expr::StringLiteral(_) => true,
        Expr::Name(name) => scope.is_literal_variable(name, call.source.first_line(call.node)),
        Expr::Call(inner) => scope.is_literal_format(inner),
        Expr::BinOp(operation) => scope.is_literal_interpolation(operation),
        _ => false,
    };
    (!is_safe)
        .then(|| SecurityIssue::new("B703", Medium, High, "text marked safe may contain untrusted input"))
}

/// The function, or the module, in which a variable is assigned.
struct AssignmentScope<'a> {
    source: &'a ParsedPythonSource,
    parameters: &'a [ast::ParameterWithDefault],
    body: &'a [Stmt],
    lookups: &'a LookupLimits,
}

impl<'a> AssignmentScope<'a> {
    /// Whether every value that a variable can have before a line is literal text.
    fn is_literal_variable(&self, variable: &ast::ExprName, until: u32) -> bool {
        let is_parameter = self.parameters.iter().any(|parameter| parameter.name().as_str() == variable.id);
        if is_parameter || !self.lookups.allow_variable() {
            return false;
        }
        let mut is_literal = false;
        for statement in self.body {
            let line = self.line(statement);
            if line >= until {
                break;
            }
            if !self.lookups.allow_statement() {
                return false;
            }
            is_literal = match assigned_value(statement, &variable.id) {
                AssignedValue::Nothing => continue,
                AssignedValue::Value(Expr::StringLiteral(_)) => true,
                AssignedValue::Value(Expr::Name(other)) => {
                    self.is_literal_variable(other, self.source.first_line(other))
                }
                AssignedValue::Value(Expr::Call(call)) => self.is_literal_format(call),
                AssignedValue::Several(values)
                    if values.iter().all(|value| self.is_literal_operand(value, line)) =>
                {
                    true
                }
                AssignedValue::Value(_) | AssignedValue::Resource | AssignedValue::Several(_) => {
                    return false;
                }
            };
        }
        is_literal
    }

    fn is_literal_operand(&self, value: &AssignedValue, line: u32) -> bool {
        match value {
            AssignedValue::Value(Expr::StringLiteral(_)) => true,
            AssignedValue::Value(Expr::Name(name)) => self.is_literal_variable(name, line),
            _ => false,
        }
    }

    /// `"...".format(...)` with literal text only.
    fn is_literal_format(&self, call: &'a ast::ExprCall) -> bool {
        let Expr::Attribute(method) = &*call.func else { return false };
        let is_format = method.attr.as_str() == "format" && super::argument_value::is_constant(&method.value);
        is_format
            && call.arguments.keywords.is_empty()
            && self.are_literal(&call.arguments.args, self.source.first_line(call))
    }

    /// `"..." % ...` with literal text only.
    fn is_literal_interpolation(&self, operation: &'a ast::ExprBinOp) -> bool {
        if operation.op != ast::Operator::Mod || !operation.left.is_string_literal_expr() {
            return false;
        }
        let line = self.source.first_line(operation);
        match &*operation.right {
            Expr::Tuple(tuple) => self.are_literal(&tuple.elts, line),
            other => self.are_literal(std::slice::from_ref(other), line),
        }
    }

    fn are_literal(&self, arguments: &'a [Expr], line: u32) -> bool {
        arguments.iter().all(|argument| match argument {
            Expr::StringLiteral(_) => true,
            Expr::Name(name) => self.is_literal_variable(name, line),
            Expr::Call(call) => self.is_literal_format(call),
            Expr::Starred(starred) => match &*starred.value {
                Expr::List(list) => self.are_literal(&list.elts, line),
                Expr::Tuple(tuple) => self.are_literal(&tuple.elts, line),
                _ => false,
            },
            _ => false,
        })
    }

    /// Line of a statement; for a definition that of its name, since decorators come before it.
    fn line(&self, statement: &Stmt) -> u32 {
        match statement {
            Stmt::FunctionDef(function) => self.source.first_line(function.name.range),
            Stmt::ClassDef(class) => self.source.first_line(class.name.range),
            other => self.source.first_line(other),
        }
    }
}

/// Value that a statement may assign to a variable.
enum AssignedValue<'a> {
    Nothing,
    Value(&'a Expr),
    /// The target of a `with`.
    Resource,
    /// Assignments inside a block that may or may not run.
    Several(Vec<AssignedValue<'a>>),
}

fn assigned_value<'a>(statement: &'a Stmt, variable: &str) -> AssignedValue<'a> {
    let names = |target: &Expr| matches!(target, Expr::Name(name) if name.id == variable);
    match statement {
        Stmt::Assign(node) => match (node.targets.first(), &*node.value) {
            (Some(target), value) if names(target) => AssignedValue::Value(value),
            (Some(Expr::Tuple(targets)), Expr::Tuple(values)) => {
                let mut pairs = targets.elts.iter().zip(&values.elts);
                pairs
                    .find(|(target, _)| names(target))
                    .map_or(AssignedValue::Nothing, |(_, value)| AssignedValue::Value(value))
            }
            _ => AssignedValue::Nothing,
        },
        Stmt::AugAssign(node) if names(&node.target) => AssignedValue::Value(&node.value),
        // Only the last item decides, as in Bandit.
        Stmt::With(node) if !node.is_async => {
            match node.items.last().and_then(|item| item.optional_vars.as_deref()) {
                Some(target) if names(target) => AssignedValue::Resource,
                _ => assigned_in_blocks([node.body.as_slice()], variable),
            }
        }
        Stmt::FunctionDef(node) if !node.is_async => assigned_in_blocks([node.body.as_slice()], variable),
        Stmt::For(node) if !node.is_async => {
            assigned_in_blocks([node.body.as_slice(), node.orelse.as_slice()], variable)
        }
        Stmt::While(node) => assigned_in_blocks([node.body.as_slice(), node.orelse.as_slice()], variable),
        Stmt::If(node) => {
            let clauses = node.elif_else_clauses.iter().map(|clause| clause.body.as_slice());
            assigned_in_blocks(std::iter::once(node.body.as_slice()).chain(clauses), variable)
        }
        Stmt::Try(node) if !node.is_star => {
            let handlers = node.handlers.iter().map(|handler| {
                let ast::ExceptHandler::ExceptHandler(handler) = handler;
                handler.body.as_slice()
            });
            let rest = [node.orelse.as_slice(), node.finalbody.as_slice()];
            assigned_in_blocks(std::iter::once(node.body.as_slice()).chain(handlers).chain(rest), variable)
        }
        _ => AssignedValue::Nothing,
    }
}

fn assigned_in_blocks<'a>(blocks: impl IntoIterator<Item = &'a [Stmt]>, variable: &str) -> AssignedValue<'a> {
    let mut values = Vec::new();
    for statement in blocks.into_iter().flatten() {
        match assigned_value(statement, variable) {
            AssignedValue::Nothing => {}
            AssignedValue::Several(inner) => values.extend(inner),
            other => values.push(other),
        }
    }
    if values.is_empty() { AssignedValue::Nothing } else { AssignedValue::Several(values) }
}
