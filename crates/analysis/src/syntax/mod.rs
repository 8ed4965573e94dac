//! Python source as text, lines, tokens and tree.
//!
//! The only module that names the parser's crates: their API is internal to ruff and pinned exactly, so an upgrade
//! changes only this module.

mod decode;
mod lines;
mod nesting;
mod source;
mod vocabulary;

pub(crate) use decode::decode;
pub(crate) use lines::LineIndex;
pub(crate) use nesting::{STACK_BYTES, is_too_deep};
pub(crate) use source::ParsedPythonSource;
pub(crate) use vocabulary::TokenVocabulary;

pub(crate) use ruff_python_ast as ast;
pub(crate) use ruff_python_ast::token::TokenKind;
pub(crate) use ruff_python_ast::visitor;
pub(crate) use ruff_python_ast::{Expr, Stmt};
pub(crate) use ruff_text_size::{Ranged, TextRange, TextSize};
