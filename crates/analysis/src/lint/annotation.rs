//! Quoted annotations: strings that hold a type.
//!
//! Most hold a plain or dotted name that exists, which needs no parser. The others are parsed like a small file of
//! one expression. By then all names of the file are bound, so their names are looked up immediately and never stored.

use super::check::{LintChecker, StringMeaning};
use super::origin::SubscriptForm;
use crate::syntax::ast::StringFlags;
use crate::syntax::visitor::{self, Visitor};
use crate::syntax::{Expr, ParsedPythonSource, Ranged, Stmt, TextSize, ast};

impl<'a> LintChecker<'a> {
    pub(super) fn read_quoted_annotation(&mut self, literal: &'a ast::ExprStringLiteral) {
        let place = AnnotationPosition::of(literal);
        self.read_annotation_text(literal.value.to_str(), place);
    }

    fn read_annotation_text(&mut self, text: &str, place: AnnotationPosition) {
        if dotted_name(text).is_some_and(|name| self.scopes.resolve(name, self.context.lookup)) {
            return;
        }
        let is_multiline = text.contains(['\n', '\r']);
        let parsed =
            ParsedPythonSource::parse(if is_multiline { format!("({text})") } else { text.to_owned() });
        if let ([Stmt::Expr(statement)], true) = (parsed.body(), parsed.is_valid()) {
            let place = if is_multiline { place.after_parenthesis() } else { place };
            let strings = StringMeaning::Annotations;
            AnnotationReader { checker: self, place, strings, own_names: Vec::new() }
                .visit_expr(&statement.value);
        }
    }
}

/// The first part of a dotted name, if the text is one.
fn dotted_name(text: &str) -> Option<&str> {
    let is_name = |part: &str| {
        part.starts_with(|letter: char| letter == '_' || letter.is_ascii_alphabetic())
            && part.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
    };
    text.split('.').all(is_name).then(|| text.split('.').next())?
}

/// Position of an annotation's text in the file, as exactly as it is known.
#[derive(Debug, Clone, Copy)]
enum AnnotationPosition {
    /// Text that starts at `start` and was shifted by `moved` bytes.
    Text { start: TextSize, end: TextSize, moved: u32 },
    /// A string in a string or a string in several parts: only its start is known.
    Literal(TextSize),
}

impl AnnotationPosition {
    fn of(literal: &ast::ExprStringLiteral) -> Self {
        match literal.value.as_slice() {
            [part] => {
                let start = part.start() + part.flags.opener_len();
                Self::Text { start, end: part.end(), moved: 0 }
            }
            _ => Self::Literal(literal.start()),
        }
    }

    fn after_parenthesis(self) -> Self {
        match self {
            Self::Text { start, end, moved } => Self::Text { start, end, moved: moved + 1 },
            Self::Literal(_) => self,
        }
    }

    /// The offset in the file of an offset in the text. Escapes make the text shorter than its source, so this may
    /// be early, but it stays inside the literal.
    fn offset(self, inside: TextSize) -> TextSize {
        match self {
            Self::Text { start, end, moved } => {
                let distance = inside.to_u32().saturating_sub(moved);
                TextSize::new(start.to_u32().saturating_add(distance).min(end.to_u32()))
            }
            Self::Literal(start) => start,
        }
    }
}

/// Reads the names of a parsed annotation.
struct AnnotationReader<'c, 'a, 's> {
    checker: &'c mut LintChecker<'a>,
    place: AnnotationPosition,
    strings: StringMeaning,
    /// Names that lambdas and comprehensions inside the annotation bind.
    own_names: Vec<&'s str>,
}

impl<'s> AnnotationReader<'_, '_, 's> {
    fn read_inner_text(&mut self, literal: &'s ast::ExprStringLiteral) {
        if self.strings == StringMeaning::Annotations {
            let place = AnnotationPosition::Literal(self.place.offset(literal.start()));
            self.checker.read_annotation_text(literal.value.to_str(), place);
        }
    }

    fn visit_with_strings(&mut self, strings: StringMeaning, expression: &'s Expr) {
        let before = std::mem::replace(&mut self.strings, strings);
        self.visit_expr(expression);
        self.strings = before;
    }

    fn visit_subscript(&mut self, subscript: &'s ast::ExprSubscript) {
        self.visit_expr(&subscript.value);
        match (self.checker.scopes.form(subscript), &*subscript.slice) {
            (SubscriptForm::Literal, slice) => self.visit_with_strings(StringMeaning::Values, slice),
            (SubscriptForm::Annotated, Expr::Tuple(tuple)) => {
                for (position, element) in tuple.elts.iter().enumerate() {
                    let strings = if position == 0 { self.strings } else { StringMeaning::Values };
                    self.visit_with_strings(strings, element);
                }
            }
            (_, slice) => self.visit_expr(slice),
        }
    }
}

impl<'s> Visitor<'s> for AnnotationReader<'_, '_, 's> {
    fn visit_expr(&mut self, expression: &'s Expr) {
        match expression {
            Expr::Name(name) if !name.ctx.is_load() => self.own_names.push(name.id.as_str()),
            Expr::Name(name) => {
                if !self.own_names.contains(&name.id.as_str()) {
                    self.checker.read(&name.id, self.place.offset(name.start()));
                }
            }
            Expr::StringLiteral(literal) => self.read_inner_text(literal),
            Expr::Subscript(subscript) => self.visit_subscript(subscript),
            Expr::Call(call) => {
                self.visit_expr(&call.func);
                let before = std::mem::replace(&mut self.strings, StringMeaning::Values);
                self.visit_arguments(&call.arguments);
                self.strings = before;
            }
            _ => visitor::walk_expr(self, expression),
        }
    }

    fn visit_parameter(&mut self, parameter: &'s ast::Parameter) {
        self.own_names.push(parameter.name.as_str());
    }
}
