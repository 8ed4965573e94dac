//! Syntax tree of Python source, for crates that rewrite code. Every re-exported type belongs to the parser, whose version
//! is pinned: upgrading it is a change in this crate.

pub use ruff_python_ast as ast;
pub use ruff_python_ast::token::TokenKind;
pub use ruff_python_ast::visitor;
pub use ruff_python_ast::{Expr, Stmt};
pub use ruff_text_size::{Ranged, TextRange, TextSize};

use ruff_python_ast::comparable::ComparableStmt;
use ruff_python_parser::{Parsed, parse_module};

/// Parses a text into tree and tokens; `None` if it does not parse, or nests so deeply that walking it could exhaust the
/// stack.
pub fn parse(text: &str) -> Option<Parsed<ast::ModModule>> {
    if crate::syntax::is_too_deep(text) {
        return None;
    }
    parse_module(text).ok()
}

/// Whether two texts are the same program: they differ in comments and white space at most. False if one does not parse.
pub fn is_same_program(one: &str, other: &str) -> bool {
    let (Some(one), Some(other)) = (parse(one), parse(other)) else { return false };
    let (one, other) = (&one.syntax().body, &other.syntax().body);
    one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| ComparableStmt::from(one) == ComparableStmt::from(other))
}

#[cfg(test)]
mod tests {
    use super::is_same_program;

    #[test]
    fn comments_and_white_space_do_not_change_the_program() {
        let text = "def f(x):\n    return x + 1\n";
        assert!(is_same_program(text, "def f( x ):\n\n    # one more\n    return (x +\n        1)\n"));
        for other in [
            "def f(x):\n    return x + 2\n",
            "def f(y):\n    return y + 1\n",
            "def f(x):\n    'A.'\n    return x + 1\n",
            "def f(",
        ] {
            assert!(!is_same_program(text, other), "{other}");
        }
    }
}
