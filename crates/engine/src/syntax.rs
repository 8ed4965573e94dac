//! The tree of Python source.

pub(crate) use menace_analysis::python::{
    Expr, Ranged, Stmt, TextRange, TextSize, TokenKind, ast, is_same_program, parse, visitor,
};
