//! Cyclomatic complexity, counted exactly as in radon 6, so that values can be compared.
//!
//! Radon's peculiarities are kept on purpose: the condition of an `assert` is not examined, `except*` does not
//! count, decorators, defaults and base classes do not count, and a nested function is not part of the outer one.

use crate::syntax::visitor::{self, Visitor};
use crate::syntax::{Expr, Stmt, ast};

/// Decision points of a body, without the functions and classes defined in it.
pub(crate) fn own_complexity(body: &[Stmt]) -> u32 {
    let mut counter = CyclomaticCounter { decisions: 0 };
    counter.visit_body(body);
    counter.decisions
}

/// Sum that radon calls the total complexity of a module, as used in its maintainability index: the module's own
/// decisions, its functions, and its classes with their methods; closures and inner classes are left out.
#[derive(Debug, Default)]
pub(crate) struct ModuleComplexity {
    decisions: u32,
}

impl ModuleComplexity {
    pub(crate) fn add_module_body(&mut self, own: u32) {
        self.decisions += own;
    }

    pub(crate) fn add_top_level_function(&mut self, own: u32) {
        self.decisions += own;
    }

    pub(crate) fn add_top_level_class(&mut self, own: u32) {
        self.decisions += own;
    }

    /// A method counts with its base of one, unlike a function.
    pub(crate) fn add_method(&mut self, own: u32) {
        self.decisions += own + 1;
    }

    pub(crate) fn total(&self) -> u32 {
        self.decisions + 1
    }
}

struct CyclomaticCounter {
    decisions: u32,
}

impl CyclomaticCounter {
    fn add(&mut self, count: usize) {
        self.decisions += u32::try_from(count).unwrap_or(u32::MAX);
    }

    fn count_statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::If(node) => {
                let branches = node.elif_else_clauses.iter().filter(|clause| clause.test.is_some()).count();
                self.add(1 + branches);
            }
            Stmt::For(node) => self.add(1 + usize::from(!node.orelse.is_empty())),
            Stmt::While(node) => self.add(1 + usize::from(!node.orelse.is_empty())),
            Stmt::Try(node) if !node.is_star => {
                self.add(node.handlers.len() + usize::from(!node.orelse.is_empty()));
            }
            Stmt::Match(node) => {
                let catches_all = node.cases.iter().any(|case| is_irrefutable(&case.pattern));
                self.add(node.cases.len().saturating_sub(usize::from(catches_all)));
            }
            Stmt::Assert(_) => self.add(1),
            _ => {}
        }
    }
}

impl<'a> Visitor<'a> for CyclomaticCounter {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        self.count_statement(statement);
        if !matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_) | Stmt::Assert(_)) {
            visitor::walk_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::BoolOp(node) => self.add(node.values.len().saturating_sub(1)),
            Expr::If(_) => self.add(1),
            _ => {}
        }
        visitor::walk_expr(self, expression);
    }

    fn visit_comprehension(&mut self, comprehension: &'a ast::Comprehension) {
        self.add(1 + comprehension.ifs.len());
        visitor::walk_comprehension(self, comprehension);
    }
}

/// `case _` and `case name`.
fn is_irrefutable(pattern: &ast::Pattern) -> bool {
    matches!(pattern, ast::Pattern::MatchAs(node) if node.pattern.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::ParsedPythonSource;

    fn check(text: &str, expected: u32) {
        let source = ParsedPythonSource::parse(text.to_owned());
        assert!(source.is_valid(), "{text}");
        assert_eq!(own_complexity(source.body()) + 1, expected, "{text}");
    }

    #[test]
    fn statements_count_as_in_radon() {
        check("x = 1", 1);
        check("if a: pass\nelif b: pass\nelse: pass", 3);
        check("for a in b: pass\nelse: pass", 3);
        check("while a: pass", 2);
        check("try: pass\nexcept A: pass\nexcept B: pass\nelse: pass\nfinally: pass", 4);
        check("try: pass\nexcept* A: pass", 1);
        check("with a: pass", 1);
        check("match a:\n case 1: pass\n case _: pass", 2);
        check("match a:\n case _: pass", 1);
        check("assert a and b", 2);
    }

    #[test]
    fn expressions_count_as_in_radon() {
        check("a and b or c and d", 4);
        check("[a for a in b if c if d]", 4);
        check("x = a if b else c", 2);
        check("x = lambda: a or b", 2);
        check("f'{a or b}'", 2);
    }

    #[test]
    fn definitions_are_counted_separately() {
        check("def f():\n if a: pass", 1);
        check("class C:\n if a: pass", 1);
        check("@d(a or b)\ndef f(x=a or b): pass", 1);
    }
}
