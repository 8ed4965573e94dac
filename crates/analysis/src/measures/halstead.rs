//! Halstead's counts, defined as in radon 6: operators are arithmetic, boolean and comparison operators,
//! operands are their sides.
//!
//! Radon distinguishes operands by (function, name or constant); any other expression is a separate operand. A
//! call `h(f(x)) + h(f(x))` therefore has two operands.

use rustc_hash::FxHashSet;

use menace_model::inventory::HalsteadCounts;

use crate::syntax::visitor::{self, Visitor};
use crate::syntax::{Expr, Stmt, ast};

pub(crate) fn halstead(body: &[Stmt]) -> HalsteadCounts {
    let mut counter = HalsteadCounter::default();
    counter.visit_body(body);
    let vocabulary = counter.distinct_operators() + counter.distinct_operands();
    let length = counter.operators + counter.operands;
    let volume = if vocabulary == 0 { 0.0 } else { f64::from(length) * f64::from(vocabulary).log2() };
    HalsteadCounts {
        distinct_operators: counter.distinct_operators(),
        distinct_operands: counter.distinct_operands(),
        operators: counter.operators,
        operands: counter.operands,
        volume,
    }
}

#[derive(Default)]
struct HalsteadCounter<'a> {
    operators: u32,
    operands: u32,
    /// One bit for each of the 13 binary, 4 unary, 2 boolean and 10 comparison operators.
    operators_seen: u32,
    operands_seen: FxHashSet<(Option<&'a str>, HalsteadOperand<'a>)>,
    /// Number of expressions that are neither a name nor a constant: they are all distinct, so a count is enough.
    anonymous_operands: u32,
    function: Option<&'a str>,
}

/// Identity of an operand. Python compares constants by value, so `1`, `1.0` and `True` are one operand.
#[derive(PartialEq, Eq, Hash)]
enum HalsteadOperand<'a> {
    Text(&'a str),
    Bytes(Vec<u8>),
    /// Bits of the value as a float, so that numbers that are equal in Python are equal here.
    Number(u64),
    Big(String),
    Complex(u64, u64),
    None,
    Ellipsis,
}

impl<'a> HalsteadCounter<'a> {
    fn distinct_operators(&self) -> u32 {
        self.operators_seen.count_ones()
    }

    fn distinct_operands(&self) -> u32 {
        u32::try_from(self.operands_seen.len()).unwrap_or(u32::MAX) + self.anonymous_operands
    }

    fn operator(&mut self, bit: u32) {
        self.operators += 1;
        self.operators_seen |= 1 << bit;
    }

    fn operand(&mut self, expression: &'a Expr) {
        self.operands += 1;
        match operand_of(expression) {
            Some(operand) => {
                self.operands_seen.insert((self.function, operand));
            }
            None => self.anonymous_operands += 1,
        }
    }
}

fn operand_of(expression: &Expr) -> Option<HalsteadOperand<'_>> {
    Some(match expression {
        Expr::Name(node) => HalsteadOperand::Text(node.id.as_str()),
        Expr::Attribute(node) => HalsteadOperand::Text(node.attr.as_str()),
        Expr::StringLiteral(node) => HalsteadOperand::Text(node.value.to_str()),
        Expr::BytesLiteral(node) => HalsteadOperand::Bytes(node.value.bytes().collect()),
        Expr::BooleanLiteral(node) => HalsteadOperand::Number(f64::from(u8::from(node.value)).to_bits()),
        Expr::NoneLiteral(_) => HalsteadOperand::None,
        Expr::EllipsisLiteral(_) => HalsteadOperand::Ellipsis,
        Expr::NumberLiteral(node) => match &node.value {
            ast::Number::Int(int) => match int.as_u64().and_then(|value| u32::try_from(value).ok()) {
                Some(small) => HalsteadOperand::Number(f64::from(small).to_bits()),
                None => HalsteadOperand::Big(int.to_string()),
            },
            ast::Number::Float(float) => HalsteadOperand::Number((float + 0.0).to_bits()),
            ast::Number::Complex { real, imag } => HalsteadOperand::Complex(real.to_bits(), imag.to_bits()),
        },
        _ => return None,
    })
}

const UNARY: u32 = 13;
const BOOLEAN: u32 = 17;
const COMPARISON: u32 = 19;

impl<'a> Visitor<'a> for HalsteadCounter<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(node) => {
                let outer = self.function.replace(node.name.as_str());
                self.visit_body(&node.body);
                self.function = outer;
                return;
            }
            Stmt::AugAssign(node) => {
                self.operator(node.op as u32);
                self.operand(&node.target);
                self.operand(&node.value);
            }
            _ => {}
        }
        visitor::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::BinOp(node) => {
                self.operator(node.op as u32);
                self.operand(&node.left);
                self.operand(&node.right);
            }
            Expr::UnaryOp(node) => {
                self.operator(UNARY + node.op as u32);
                self.operand(&node.operand);
            }
            Expr::BoolOp(node) => {
                self.operator(BOOLEAN + node.op as u32);
                node.values.iter().for_each(|value| self.operand(value));
            }
            Expr::Compare(node) => {
                node.ops.iter().for_each(|op| self.operator(COMPARISON + *op as u32));
                node.comparators.iter().for_each(|comparator| self.operand(comparator));
                self.operand(&node.left);
            }
            _ => {}
        }
        visitor::walk_expr(self, expression);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::ParsedPythonSource;

    fn check(text: &str, expected: [u32; 4]) {
        let source = ParsedPythonSource::parse(text.to_owned());
        let counts = halstead(source.body());
        let found = [counts.distinct_operators, counts.distinct_operands, counts.operators, counts.operands];
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn operators_and_operands_count_as_in_radon() {
        check("x = 1", [0, 0, 0, 0]);
        check("a + b + a", [1, 3, 2, 4]);
        check("a += 1", [1, 2, 1, 2]);
        check("1 < a <= 3", [2, 3, 2, 3]);
        check("not -a", [2, 2, 2, 2]);
        check("1 + True + 1.0", [1, 2, 2, 4]);
        check("def f():\n return a + 1\ndef g():\n return a + 1", [1, 4, 2, 4]);
    }
}
