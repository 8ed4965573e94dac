//! Walk over a file's tree in one pass that hands every construct to the tests for it.

use menace_model::inventory::Finding;

use super::call::Call;
use super::mark_safe::Lookups;
use super::names::Names;
use super::noteworthy::is_noteworthy;
use super::report::{Issue, Report};
use super::{
    bidi, blacklist, code_execution, crypto, deserialization, django, files, mark_safe, passwords, remote,
    shell, sql, statements, strings, tls, web,
};
use crate::syntax::visitor::{self, Visitor};
use crate::syntax::{Expr, Ranged, Source, Stmt, TextRange, ast};

/// Findings of Bandit's default tests in a file, by line and id.
pub(crate) fn findings(source: &Source) -> Vec<Finding> {
    let mut checker = Checker {
        source,
        names: Names::default(),
        ancestors: Vec::with_capacity(64),
        functions: Vec::new(),
        lookups: Lookups::default(),
        report: Report::default(),
    };
    checker.visit_body(source.body());
    bidi::check(source, &mut checker.report);
    checker.report.into_findings(source)
}

type CallTest = fn(&Call) -> Option<Issue>;

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
    files::permissive_mode,
    files::unchecked_extraction,
    mark_safe::unsafe_text,
    passwords::keyword_argument,
    remote::no_certificate_check,
    remote::no_timeout,
    remote::paramiko_command,
    remote::snmp_version,
    remote::snmp_without_encryption,
    remote::unknown_host_key,
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
pub(super) enum Ancestor<'a> {
    Statement(&'a Stmt),
    Expression(&'a Expr),
    Parameters(&'a ast::Parameters),
    Other(TextRange),
}

impl Ancestor<'_> {
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

struct Checker<'a> {
    source: &'a Source,
    names: Names<'a>,
    ancestors: Vec<Ancestor<'a>>,
    functions: Vec<&'a ast::StmtFunctionDef>,
    lookups: Lookups,
    report: Report,
}

impl<'a> Checker<'a> {
    fn inside(&mut self, ancestor: Ancestor<'a>, walk: impl FnOnce(&mut Self)) {
        self.ancestors.push(ancestor);
        walk(self);
        self.ancestors.pop();
    }

    fn call(&mut self, node: &'a ast::ExprCall) {
        if !is_noteworthy(node, self.names.last_segment(&node.func)) {
            return;
        }
        let call = Call {
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
        if matches!(parent, Ancestor::Statement(Stmt::Expr(_))) {
            // A string that is a statement of its own is a docstring or a comment.
            return;
        }
        if let Some(issue) = strings::check(string.value.to_str()) {
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
            self.inside(Ancestor::Statement(statement), |inner| visitor::walk_stmt(inner, statement));
            return;
        }
        if has_defaults(&function.parameters) {
            passwords::defaults(function, &mut self.report);
            tls::bad_default(function, &mut self.report);
        }
        self.functions.push(function);
        self.inside(Ancestor::Statement(statement), |inner| visitor::walk_stmt(inner, statement));
        self.functions.pop();
    }
}

/// Once a parameter has a default, all following ones have one.
fn has_defaults(parameters: &ast::Parameters) -> bool {
    let last = parameters.args.last().or(parameters.posonlyargs.last());
    last.is_some_and(|parameter| parameter.default.is_some())
}

impl<'a> Visitor<'a> for Checker<'a> {
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
        self.inside(Ancestor::Statement(statement), |inner| visitor::walk_stmt(inner, statement));
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
                self.inside(Ancestor::Expression(expr), |inner| visitor::walk_expr(inner, expr));
            }
        }
    }

    fn visit_except_handler(&mut self, handler: &'a ast::ExceptHandler) {
        statements::except_handler(handler, &mut self.report);
        visitor::walk_except_handler(self, handler);
    }

    fn visit_keyword(&mut self, keyword: &'a ast::Keyword) {
        self.inside(Ancestor::Other(keyword.range), |inner| visitor::walk_keyword(inner, keyword));
    }

    fn visit_parameters(&mut self, parameters: &'a ast::Parameters) {
        self.inside(Ancestor::Parameters(parameters), |inner| visitor::walk_parameters(inner, parameters));
    }

    fn visit_parameter(&mut self, parameter: &'a ast::Parameter) {
        self.inside(Ancestor::Other(parameter.range), |inner| visitor::walk_parameter(inner, parameter));
    }

    fn visit_comprehension(&mut self, comprehension: &'a ast::Comprehension) {
        self.inside(Ancestor::Other(comprehension.range), |inner| {
            visitor::walk_comprehension(inner, comprehension);
        });
    }

    fn visit_with_item(&mut self, item: &'a ast::WithItem) {
        self.inside(Ancestor::Other(item.range), |inner| visitor::walk_with_item(inner, item));
    }

    fn visit_pattern(&mut self, pattern: &'a ast::Pattern) {
        self.inside(Ancestor::Other(pattern.range()), |inner| visitor::walk_pattern(inner, pattern));
    }
}
