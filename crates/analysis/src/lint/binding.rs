//! Bindings: the statement that bound a name, and whether the name is used.

use super::scope::ScopeId;
use crate::syntax::TextSize;
use crate::syntax::ast::Alias;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BindingId(pub(super) u32);

/// Kind of statement that bound a name.
#[derive(Debug, Clone, Copy)]
pub(super) enum BindingKind<'a> {
    /// An assignment, `:=`, `with … as` or a pattern: reported as unused when nothing reads it.
    Assignment,
    /// A parameter, loop variable, function, class or part of an unpacked value: never reported as unused.
    Definition,
    /// `name: type` without a value.
    Annotation,
    Import(BoundImport<'a>),
    /// `except … as name`, inside the handler.
    Exception,
    /// The same name after the handler, where Python deletes it. The binding that it hid may still be read.
    FormerException(Option<BindingId>),
    Deletion,
    Global(Option<BindingId>),
    Nonlocal(BindingId),
}

/// Name bound by an `import`.
#[derive(Debug, Clone, Copy)]
pub(super) struct BoundImport<'a> {
    pub(super) alias: &'a Alias,
    /// Module as written; empty for `from . import name`.
    pub(super) module: &'a str,
    pub(super) form: ImportForm,
    /// Start of the statement.
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
pub(super) struct NameBinding<'a> {
    pub(super) name: &'a str,
    pub(super) offset: TextSize,
    pub(super) kind: BindingKind<'a>,
    pub(super) scope: ScopeId,
    pub(super) is_used: bool,
    /// Whether a later binding of the same name in the same scope replaced it.
    pub(super) is_shadowed: bool,
    /// Declared `global` or `nonlocal`: bound here, read elsewhere.
    pub(super) belongs_outside: bool,
}

impl NameBinding<'_> {
    /// Whether the name is declared, but has no value.
    pub(super) fn is_unbound(&self) -> bool {
        matches!(self.kind, BindingKind::Annotation | BindingKind::Deletion | BindingKind::FormerException(_))
    }
}
