//! Python syntax tree, re-exported from the analysis crate.

pub(crate) use menace_analysis::python::{
    Expr, Ranged, Stmt, TextRange, TextSize, TokenKind, ast, is_same_program, parse, visitor,
};
