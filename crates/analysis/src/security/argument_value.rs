//! Static values of arguments: literals, and the spelling of names and attributes.

use crate::syntax::{Expr, ast};

/// An argument as Bandit reads it. Names and attributes read as text, so `Loader=yaml.SafeLoader`,
/// `Loader=SafeLoader` and `Loader="SafeLoader"` are the same; so do `True`, `False` and `None`.
#[derive(Debug, Clone, Copy)]
pub(super) enum ArgumentValue<'a> {
    Text(&'a str),
    Integer(&'a ast::Int),
    Float(f64),
    List(&'a [Expr]),
    /// A value that no test compares with.
    Other,
}

impl<'a> ArgumentValue<'a> {
    /// Value of an expression; a call or an operation has none.
    pub(super) fn of(expr: &'a Expr) -> Option<Self> {
        let value = match expr {
            Expr::Attribute(attribute) => Self::Text(attribute.attr.as_str()),
            Expr::Name(name) => Self::Text(name.id.as_str()),
            Expr::StringLiteral(string) => Self::Text(string.value.to_str()),
            Expr::BooleanLiteral(boolean) => Self::Text(if boolean.value { "True" } else { "False" }),
            Expr::NoneLiteral(_) => Self::Text("None"),
            Expr::NumberLiteral(number) => match &number.value {
                ast::Number::Int(integer) => Self::Integer(integer),
                ast::Number::Float(float) => Self::Float(*float),
                ast::Number::Complex { .. } => Self::Other,
            },
            Expr::List(list) => Self::List(&list.elts),
            Expr::Tuple(_)
            | Expr::Set(_)
            | Expr::Dict(_)
            | Expr::BytesLiteral(_)
            | Expr::EllipsisLiteral(_) => Self::Other,
            _ => return None,
        };
        Some(value)
    }

    pub(super) fn text(self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The value of a string literal without placeholders.
pub(super) fn string(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::StringLiteral(string) => Some(string.value.to_str()),
        _ => None,
    }
}

/// Whether an expression is one literal: a string, bytes, a number, `True`, `False`, `None` or `...`.
pub(super) fn is_constant(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::StringLiteral(_)
            | Expr::BytesLiteral(_)
            | Expr::NumberLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_)
            | Expr::EllipsisLiteral(_)
    )
}
