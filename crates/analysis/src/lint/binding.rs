//! Bindings: how a name came to stand for something, and whether anybody cared.

use super::scope::ScopeId;
use crate::syntax::TextSize;
use crate::syntax::ast::Alias;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BindingId(pub(super) u32);

/// How a name came to be bound.
#[derive(Debug, Clone, Copy)]
pub(super) enum BindingKind<'a> {
    /// By an assignment, `:=`, `with … as` or a pattern: wasted when nothing reads it.
    Assignment,
    /// As a parameter, loop variable, function, class or part of an unpacked value: never called wasted.
    Definition,
    /// `name: type` without a value.
    Annotation,
    Import(Import<'a>),
    /// `except … as name`, inside the handler.
    Exception,
    /// The same name after the handler; Python deletes it there. What it hid before may still be read.
    FormerException(Option<BindingId>),
    Deletion,
    Global(Option<BindingId>),
    Nonlocal(BindingId),
}

/// What an `import` binds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Import<'a> {
    pub(super) alias: &'a Alias,
    /// The module as written; empty for `from . import name`.
    pub(super) module: &'a str,
    pub(super) form: ImportForm,
    /// Where the statement starts.
    pub(super) statement: TextSize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ImportForm {
    /// `import module` or `import package.module as name`.
    Module,
    /// `import package.module`, which binds `package`.
    Submodule,
    /// `from module import name`.
    Member,
}

#[derive(Debug)]
pub(super) struct Binding<'a> {
    pub(super) name: &'a str,
    pub(super) offset: TextSize,
    pub(super) kind: BindingKind<'a>,
    pub(super) scope: ScopeId,
    pub(super) is_used: bool,
    /// A later binding of the same name in the same scope took its place.
    pub(super) is_shadowed: bool,
    /// Declared `global` or `nonlocal`: bound here, read elsewhere.
    pub(super) belongs_outside: bool,
}

impl Binding<'_> {
    /// Bound by name, but without a value.
    pub(super) fn is_unbound(&self) -> bool {
        matches!(self.kind, BindingKind::Annotation | BindingKind::Deletion | BindingKind::FormerException(_))
    }
}
