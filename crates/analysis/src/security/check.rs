//! Walk over a file's tree in one pass that hands every construct to the tests for it.

use menace_model::inventory::SecurityFinding;

use super::call::CheckedCall;
use super::call_filter::can_be_reported;
use super::import_aliases::ImportAliases;
use super::mark_safe::LookupLimits;
use super::report::{SecurityIssue, SecurityReport};
use super::{
    bidi, blacklist, code_execution, crypto, deserialization, django, file_permissions, mark_safe, passwords,
    remote_connections, shell, sql, statements, string_literals, tls, web,
};
use crate::syntax::visitor::{self, Visitor};
use crate::syntax::{Expr, ParsedPythonSource, Ranged, Stmt, TextRange, ast};

/// Findings of Bandit's default tests in a file, by line and id.
pub(crate) fn findings(source: &ParsedPythonSource) -> Vec<SecurityFinding> {
    let mut checker = SecurityChecker {
        source,
        names: ImportAliases::default(),
        ancestors: Vec::with_capacity(64),
        functions: Vec::new(),
        lookups: LookupLimits::default(),
        report: SecurityReport::default(),
    };
    checker.visit_body(source.body());
    bidi::check(source, &mut checker.report);
    checker.report.into_findings(source)
}

type CallTest = fn(&CheckedCall) -> Option<SecurityIssue>;

const CALL_TESTS: &[CallTest] = &[
    blacklist::call,
    code_execution::exec,
    code_execution::logging_listener,
    crypto::weak_hash,
    crypto::weak_key,
    deserialization::hugging_face_download,
    deserialization::torch_load,
    deserialization::yaml_load,
    django::extra,
    django::raw_sql,
    file_permissions::permissive_mode,
    file_permissions::unchecked_extraction,
    mark_safe::unsafe_text,
    passwords::keyword_argument,
    remote_connections::no_certificate_check,
    remote_connections::no_timeout,
    remote_connections::paramiko_command,
    remote_connections::snmp_version,
    remote_connections::snmp_without_encryption,
    remote_connections::unknown_host_key,
    shell::partial_path,
    shell::process_with_shell,
    shell::process_without_shell,
    shell::shell_keyword,
    shell::subprocess_with_shell,
    shell::subprocess_without_shell,
    shell::wildcard,
    tls::bad_version,
    tls::no_version,
    web::flask_debug,
    web::jinja_autoescape,
    web::mako_template,
    web::markup,
];

/// A node around the current one, as far as the tests distinguish them.
#[derive(Debug, Clone, Copy)]
pub(super) enum AncestorNode<'a> {
    Statement(&'a Stmt),
    Expression(&'a Expr),
    Parameters(&'a ast::Parameters),
    Other(TextRange),
}

impl AncestorNode<'_> {
    /// Lines on which a `nosec` comment suppresses findings in the node's strings.
    fn span(self) -> TextRange {
        match self {
            Self::Statement(statement) => statement.range(),
            Self::Expression(expr) => expr.range(),
            // Python has no position for a parameter list, so Bandit uses the lines of the parameters themselves.
            Self::Parameters(parameters) => {
                let ranges = parameters.iter().map(|parameter| parameter.range());
                ranges.reduce(TextRange::cover).unwrap_or(parameters.range)
            }
            Self::Other(range) => range,
        }
    }
}

struct SecurityChecker<'a> {
    source: &'a ParsedPythonSource,
    names: ImportAliases<'a>,
    ancestors: Vec<AncestorNode<'a>>,
    functions: Vec<&'a ast::StmtFunctionDef>,
    lookups: LookupLimits,
    report: SecurityReport,
}

impl<'a> SecurityChecker<'a> {
    fn with_ancestor(&mut self, ancestor: AncestorNode<'a>, walk: impl FnOnce(&mut Self)) {
        self.ancestors.push(ancestor);
        walk(self);
        self.ancestors.pop();
    }

    fn call(&mut self, node: &'a ast::ExprCall) {
        if !can_be_reported(node, self.names.last_segment(&node.func)) {
            return;
        }
        let call = CheckedCall {
            node,
            qualified: &self.names.qualified(&node.func),
            names: &self.names,
            source: self.source,
            function: self.functions.last().copied(),
            lookups: &self.lookups,
        };
        self.report.extend(CALL_TESTS.iter().filter_map(|test| test(&call)), node);
    }

    fn string(&mut self, string: &'a ast::ExprStringLiteral) {
        let Some(parent) = self.ancestors.last() else { return };
        if matches!(parent, AncestorNode::Statement(Stmt::Expr(_))) {
            // A string that is a statement of its own is a docstring or a comment.
            return;
        }
        if let Some(issue) = string_literals::check(string.value.to_str()) {
            self.report.add_within(issue, string, parent.span());
        }
    }

    fn expression(&mut self, expr: &'a Expr) {
        let report = &mut self.report;
        match expr {
            Expr::Call(node) => self.call(node),
            Expr::Dict(node) => passwords::dictionary(node, report),
            Expr::Compare(node) => passwords::comparison(node, report),
            Expr::BinOp(node) => sql::concatenation(node, &self.ancestors, report),
            Expr::Attribute(node) => sql::method(node, &self.ancestors, report),
            Expr::FString(node) => sql::f_string(node, &self.ancestors, report),
            _ => {}
        }
    }

    fn function(&mut self, function: &'a ast::StmtFunctionDef, statement: &'a Stmt) {
        if function.is_async {
            // Bandit's function tests handle only plain functions.
            self.with_ancestor(AncestorNode::Statement(statement), |inner| {
                visitor::walk_stmt(inner, statement);
            });
            return;
        }
        if has_defaults(&function.parameters) {
            passwords::defaults(function, &mut self.report);
            tls::bad_default(function, &mut self.report);
        }
        self.functions.push(function);
        self.with_ancestor(AncestorNode::Statement(statement), |inner| visitor::walk_stmt(inner, statement));
        self.functions.pop();
    }
}

/// Once a parameter has a default, all following ones have one.
fn has_defaults(parameters: &ast::Parameters) -> bool {
    let last = parameters.args.last().or(parameters.posonlyargs.last());
    last.is_some_and(|parameter| parameter.default.is_some())
}

impl<'a> Visitor<'a> for SecurityChecker<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(function) => return self.function(function, statement),
            Stmt::Import(node) => {
                self.names.import(node);
                return blacklist::import(node, &mut self.report);
            }
            Stmt::ImportFrom(node) => {
                self.names.import_from(node);
                return blacklist::import_from(node, &mut self.report);
            }
            Stmt::Assert(node) => statements::assert(node, &mut self.report),
            Stmt::Assign(node) => passwords::assignment(node, &mut self.report),
            _ => {}
        }
        self.with_ancestor(AncestorNode::Statement(statement), |inner| visitor::walk_stmt(inner, statement));
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(_)
            | Expr::NumberLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_)
            | Expr::EllipsisLiteral(_)
            | Expr::BytesLiteral(_) => {}
            Expr::StringLiteral(string) => self.string(string),
            _ => {
                self.expression(expr);
                self.with_ancestor(AncestorNode::Expression(expr), |inner| visitor::walk_expr(inner, expr));
            }
        }
    }

    fn visit_except_handler(&mut self, handler: &'a ast::ExceptHandler) {
        statements::except_handler(handler, &mut self.report);
        visitor::walk_except_handler(self, handler);
    }

    fn visit_keyword(&mut self, keyword: &'a ast::Keyword) {
        self.with_ancestor(AncestorNode::Other(keyword.range), |inner| visitor::walk_keyword(inner, keyword));
    }

    fn visit_parameters(&mut self, parameters: &'a ast::Parameters) {
        self.with_ancestor(AncestorNode::Parameters(parameters), |inner| {
            visitor::walk_parameters(inner, parameters);
        });
    }

    fn visit_parameter(&mut self, parameter: &'a ast::Parameter) {
        self.with_ancestor(AncestorNode::Other(parameter.range), |inner| {
            visitor::walk_parameter(inner, parameter);
        });
    }

    fn visit_comprehension(&mut self, comprehension: &'a ast::Comprehension) {
        self.with_ancestor(AncestorNode::Other(comprehension.range), |inner| {
            visitor::walk_comprehension(inner, comprehension);
        });
    }

    fn visit_with_item(&mut self, item: &'a ast::WithItem) {
        self.with_ancestor(AncestorNode::Other(item.range), |inner| visitor::walk_with_item(inner, item));
    }

    fn visit_pattern(&mut self, pattern: &'a ast::Pattern) {
        self.with_ancestor(AncestorNode::Other(pattern.range()), |inner| {
            visitor::walk_pattern(inner, pattern);
        });
    }
}
