//! Name lookup as in Python: from the innermost scope outwards, skipping classes, ending at the builtins.

use super::binding::{BindingId, BindingKind, NameBinding};
use super::builtins;
use super::scope::{LexicalScope, MODULE, ScopeId, ScopeKind, ScopeTable};

/// Time at which a name is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum LookupTime {
    /// At run time of the code.
    #[default]
    Runtime,
    /// By a type checker, in an annotation that does not run: names of the module come first.
    Forward,
}

impl<'a> ScopeTable<'a> {
    /// Marks the binding of `name` as used. False when nothing can have bound it.
    pub(super) fn resolve(&mut self, name: &str, lookup: LookupTime) -> bool {
        let Some(symbol) = self.symbol(name) else { return self.resolves_unbound(name) };
        if lookup == LookupTime::Forward {
            match self.latest(MODULE, symbol) {
                Some(found) if !self.binding(found).is_unbound() => {
                    self.mark_used(found);
                    return true;
                }
                None if builtins::is_predefined(name) => return true,
                _ => {}
            }
        }
        let mut path = ScopeSearch::from(self.current());
        while let Some(scope) = path.step(self) {
            if let Some(found) = self.latest(scope, symbol)
                && let Some(is_bound) = self.read(found, lookup)
            {
                return is_bound;
            }
        }
        self.resolves_unbound(name)
    }

    /// Reads a binding; returns whether it holds a value, or `None` when the search continues in the enclosing scope.
    fn read(&mut self, id: BindingId, lookup: LookupTime) -> Option<bool> {
        self.mark_used(id);
        let binding = self.binding(id);
        match binding.kind {
            // In a function the annotation makes the name local, and it has no value.
            BindingKind::Annotation if self.kind_of(binding.scope) == ScopeKind::Function => Some(false),
            BindingKind::Annotation if lookup == LookupTime::Runtime => None,
            BindingKind::Deletion => Some(false),
            BindingKind::FormerException(None) => Some(builtins::is_predefined(binding.name)),
            BindingKind::FormerException(Some(target))
            | BindingKind::Global(Some(target))
            | BindingKind::Nonlocal(target) => {
                self.mark_used(target);
                Some(true)
            }
            BindingKind::Assignment
            | BindingKind::Definition
            | BindingKind::Annotation
            | BindingKind::Import(_)
            | BindingKind::Exception
            | BindingKind::Global(None) => Some(true),
        }
    }

    /// Whether a name exists although no scope binds it.
    fn resolves_unbound(&self, name: &str) -> bool {
        builtins::is_predefined(name) || self.is_class_magic(name) || self.sees_star_import()
    }

    /// `__class__` in a method, `__module__` and `__qualname__` in a class body.
    fn is_class_magic(&self, name: &str) -> bool {
        match name {
            "__module__" | "__qualname__" => self.current_kind() == ScopeKind::Class,
            "__class__" => {
                let mut outwards = self.enclosing_scopes().map(|scope| scope.kind);
                outwards.any(|kind| matches!(kind, ScopeKind::Function | ScopeKind::Lambda))
                    && outwards.any(|kind| kind == ScopeKind::Class)
            }
            _ => false,
        }
    }

    fn sees_star_import(&self) -> bool {
        self.enclosing_scopes().any(|scope| scope.imports_everything)
    }

    fn enclosing_scopes(&self) -> impl Iterator<Item = &LexicalScope> {
        let start = Some(self.scope(self.current()));
        std::iter::successors(start, |scope| scope.parent.map(|parent| self.scope(parent)))
    }

    /// The binding that `name` refers to, without counting as a use.
    pub(super) fn peek(&self, name: &str) -> Option<&NameBinding<'a>> {
        self.find(name).map(|id| self.binding(id))
    }

    pub(super) fn find(&self, name: &str) -> Option<BindingId> {
        let symbol = self.symbol(name)?;
        let mut path = ScopeSearch::from(self.current());
        while let Some(scope) = path.step(self) {
            let Some(found) = self.latest(scope, symbol) else { continue };
            match self.binding(found).kind {
                BindingKind::Annotation => {}
                BindingKind::Deletion => return None,
                BindingKind::FormerException(before) => return before,
                _ => return Some(found),
            }
        }
        None
    }

    /// The binding in a function around the current one.
    pub(super) fn binding_in_enclosing_function(&self, name: &str) -> Option<BindingId> {
        let symbol = self.symbol(name)?;
        let mut next = self.scope(self.current()).parent;
        while let Some(id) = next {
            let scope = self.scope(id);
            next = scope.parent;
            if matches!(scope.kind, ScopeKind::Class | ScopeKind::Module) {
                continue;
            }
            if let Some(found) = self.latest(id, symbol) {
                return Some(found);
            }
        }
        None
    }

    /// `del name`: a use in the current scope. False when the scope does not bind it.
    pub(super) fn resolve_deletion(&mut self, name: &str) -> bool {
        let Some(found) = self.bound_in(self.current(), name) else { return false };
        self.mark_used(found);
        !self.binding(found).is_unbound()
    }

    /// Marks a name of the module as used because `__all__` lists it.
    pub(super) fn export(&mut self, name: &str) {
        if let Some(found) = self.bound_in(MODULE, name) {
            self.mark_used(found);
        }
    }
}

/// Scopes that a lookup searches, innermost first. Names of a class are visible in its own body only.
struct ScopeSearch {
    next: Option<ScopeId>,
    sees_class: bool,
    is_first: bool,
}

impl ScopeSearch {
    fn from(scope: ScopeId) -> Self {
        Self { next: Some(scope), sees_class: true, is_first: true }
    }

    fn step(&mut self, scopes: &ScopeTable<'_>) -> Option<ScopeId> {
        loop {
            let id = self.next?;
            let scope = scopes.scope(id);
            let is_visible = self.sees_class || scope.kind != ScopeKind::Class;
            self.sees_class = self.is_first && scope.kind == ScopeKind::TypeParameters;
            self.is_first = false;
            self.next = scope.parent;
            if is_visible {
                return Some(id);
            }
        }
    }
}
