//! Cognitive complexity after SonarSource's white paper (G. Ann Campbell, 2018): each break of the linear flow costs
//! one, plus one for every level of nesting around it.
//!
//! A nested function belongs to the one around it, one level deeper. To stay linear in the size of the file, a
//! function is summed up once as (cost, structures that pay for nesting), and the outer one adds both.

use rustc_hash::FxHashMap;

use crate::syntax::visitor::{self, Visitor};
use crate::syntax::{Expr, Ranged, Stmt, TextSize, ast};

/// Cognitive complexity of every function, by the offset of its statement, and of the module body.
pub(crate) fn cognitive_complexities(body: &[Stmt]) -> (FxHashMap<TextSize, u32>, u32) {
    let mut counter = CognitiveCounter {
        functions: FxHashMap::default(),
        current: CognitiveCost::default(),
        nesting: 0,
        name: None,
    };
    counter.visit_body(body);
    (counter.functions, counter.current.cost)
}

#[derive(Debug, Default, Clone, Copy)]
struct CognitiveCost {
    cost: u32,
    /// Increase of the cost with each further level around the function.
    nesting_structures: u32,
}

struct CognitiveCounter<'a> {
    functions: FxHashMap<TextSize, u32>,
    current: CognitiveCost,
    nesting: u32,
    name: Option<&'a str>,
}

impl<'a> CognitiveCounter<'a> {
    /// Counts a structure that costs its nesting level and adds a level to its content.
    fn structure(&mut self) {
        self.current.cost += 1 + self.nesting;
        self.current.nesting_structures += 1;
    }

    fn flat(&mut self) {
        self.current.cost += 1;
    }

    fn nested(&mut self, visit: impl FnOnce(&mut Self)) {
        self.nesting += 1;
        visit(self);
        self.nesting -= 1;
    }

    fn function(&mut self, node: &'a ast::StmtFunctionDef) {
        let outer = std::mem::take(&mut self.current);
        let outer_nesting = std::mem::take(&mut self.nesting);
        let outer_name = self.name.replace(node.name.as_str());
        self.visit_body(&node.body);
        let inner = self.current;
        self.functions.insert(node.start(), inner.cost);
        self.current = outer;
        self.nesting = outer_nesting;
        self.name = outer_name;
        if self.name.is_some() {
            let levels = self.nesting + 1;
            self.current.cost += inner.cost + levels * inner.nesting_structures;
            self.current.nesting_structures += inner.nesting_structures;
        }
    }

    /// Methods are separate functions, even when the class is inside a function.
    fn class(&mut self, node: &'a ast::StmtClassDef) {
        let outer = self.current;
        let outer_nesting = std::mem::take(&mut self.nesting);
        let outer_name = self.name.take();
        self.visit_body(&node.body);
        self.nesting = outer_nesting;
        self.name = outer_name;
        self.current = outer;
    }

    fn branch(&mut self, node: &'a ast::StmtIf) {
        self.structure();
        self.visit_expr(&node.test);
        self.nested(|counter| counter.visit_body(&node.body));
        for clause in &node.elif_else_clauses {
            self.flat();
            if let Some(test) = &clause.test {
                self.visit_expr(test);
            }
            self.nested(|counter| counter.visit_body(&clause.body));
        }
    }

    fn loop_statement(&mut self, head: &[&'a Expr], body: &'a [Stmt], orelse: &'a [Stmt]) {
        self.structure();
        for expression in head {
            self.visit_expr(expression);
        }
        self.nested(|counter| counter.visit_body(body));
        if !orelse.is_empty() {
            self.flat();
            self.nested(|counter| counter.visit_body(orelse));
        }
    }

    fn try_statement(&mut self, node: &'a ast::StmtTry) {
        self.visit_body(&node.body);
        for ast::ExceptHandler::ExceptHandler(handler) in &node.handlers {
            self.structure();
            self.nested(|counter| counter.visit_body(&handler.body));
        }
        self.visit_body(&node.orelse);
        self.visit_body(&node.finalbody);
    }

    fn is_recursive_call(&self, node: &ast::ExprCall) -> bool {
        match &*node.func {
            Expr::Name(name) => Some(name.id.as_str()) == self.name,
            _ => false,
        }
    }
}

impl<'a> Visitor<'a> for CognitiveCounter<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(node) => self.function(node),
            Stmt::ClassDef(node) => self.class(node),
            Stmt::If(node) => self.branch(node),
            Stmt::For(node) => self.loop_statement(&[&node.target, &node.iter], &node.body, &node.orelse),
            Stmt::While(node) => self.loop_statement(&[&node.test], &node.body, &node.orelse),
            Stmt::Try(node) => self.try_statement(node),
            Stmt::Match(node) => {
                self.structure();
                self.nested(|counter| node.cases.iter().for_each(|case| counter.visit_body(&case.body)));
            }
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            // A sequence of one operator costs one; ruff's tree has one node for it.
            Expr::BoolOp(_) => self.flat(),
            Expr::If(_) => {
                self.structure();
                return self.nested(|counter| visitor::walk_expr(counter, expression));
            }
            Expr::Lambda(_) => return self.nested(|counter| visitor::walk_expr(counter, expression)),
            Expr::Call(node) if self.is_recursive_call(node) => self.flat(),
            _ => {}
        }
        visitor::walk_expr(self, expression);
    }

    fn visit_comprehension(&mut self, comprehension: &'a ast::Comprehension) {
        self.structure();
        self.nested(|counter| visitor::walk_comprehension(counter, comprehension));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::ParsedPythonSource;

    fn check(text: &str, expected: u32) {
        let source = ParsedPythonSource::parse(text.to_owned());
        let (functions, _) = cognitive_complexities(source.body());
        assert_eq!(functions.get(&TextSize::new(0)), Some(&expected), "{text}");
    }

    #[test]
    fn nesting_costs_more_than_sequence() {
        check("def f(a):\n  if a: pass\n  if a: pass", 2);
        check("def f(a):\n  if a:\n    if a: pass", 3);
        check("def f(a):\n  for x in a:\n    while x:\n      if x: pass", 6);
    }

    #[test]
    fn else_and_elif_cost_one_each() {
        check("def f(a):\n  if a: pass\n  elif b: pass\n  else: pass", 3);
        check("def f(a):\n  try: pass\n  except A:\n    if a: pass\n  finally: pass", 3);
    }

    #[test]
    fn operator_sequences_cost_one_for_each_change() {
        check("def f(a):\n  return a and b and c", 1);
        check("def f(a):\n  return a and b or c", 2);
    }

    #[test]
    fn inner_functions_and_recursion_count() {
        check("def f(a):\n  def g():\n    if a: pass\n  return g", 2);
        check("def f(a):\n  if a:\n    def g():\n      if a: pass\n", 4);
        check("def f(a):\n  return f(a - 1)", 1);
    }

    #[test]
    fn methods_do_not_count_for_the_function_around_their_class() {
        check("def f(a):\n  class C:\n    def g(self):\n      if a: pass", 0);
    }
}
