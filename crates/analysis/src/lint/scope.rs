//! Scopes and the names bound in them.
//!
//! A file has one table from (scope, name) to the latest binding, so a lookup hashes the name once and then walks
//! outwards over integers. A name that is not bound yet is not in the table of symbols and needs no walk.

use rustc_hash::{FxHashMap, FxHashSet};

use super::binding::{BindingId, BindingKind, NameBinding};
use crate::syntax::TextSize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ScopeId(u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SymbolId(u32);

pub(super) const MODULE: ScopeId = ScopeId(0);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScopeKind {
    Module,
    Class,
    Function,
    Lambda,
    Comprehension,
    /// Type parameters of a `def`, `class` or `type`, around the definition itself.
    TypeParameters,
}

#[derive(Debug)]
pub(super) struct LexicalScope {
    pub(super) kind: ScopeKind,
    pub(super) parent: Option<ScopeId>,
    pub(super) imports_everything: bool,
    calls_locals: bool,
}

#[derive(Debug)]
pub(super) struct ScopeTable<'a> {
    arena: Vec<LexicalScope>,
    bindings: Vec<NameBinding<'a>>,
    symbols: FxHashMap<&'a str, SymbolId>,
    latest: FxHashMap<(ScopeId, SymbolId), BindingId>,
    declared_globals: FxHashSet<&'a str>,
    current: ScopeId,
}

impl<'a> ScopeTable<'a> {
    pub(super) fn new() -> Self {
        let module = LexicalScope {
            kind: ScopeKind::Module,
            parent: None,
            imports_everything: false,
            calls_locals: false,
        };
        Self {
            arena: vec![module],
            bindings: Vec::new(),
            symbols: FxHashMap::default(),
            latest: FxHashMap::default(),
            declared_globals: FxHashSet::default(),
            current: MODULE,
        }
    }

    pub(super) fn current(&self) -> ScopeId {
        self.current
    }

    pub(super) fn current_kind(&self) -> ScopeKind {
        self.kind_of(self.current)
    }

    pub(super) fn kind_of(&self, scope: ScopeId) -> ScopeKind {
        self.scope(scope).kind
    }

    pub(super) fn calls_locals(&self, scope: ScopeId) -> bool {
        self.scope(scope).calls_locals
    }

    /// Opens a scope inside the current one; returns the scope to return to.
    pub(super) fn enter(&mut self, kind: ScopeKind) -> ScopeId {
        let id = ScopeId(index(self.arena.len()));
        let parent = Some(self.current);
        self.arena.push(LexicalScope { kind, parent, imports_everything: false, calls_locals: false });
        self.go_to(id)
    }

    /// Makes `scope` the current one; returns the previous one.
    pub(super) fn go_to(&mut self, scope: ScopeId) -> ScopeId {
        std::mem::replace(&mut self.current, scope)
    }

    /// `from module import *` in the current scope.
    pub(super) fn import_everything(&mut self) {
        self.scope_mut(self.current).imports_everything = true;
    }

    /// `locals()` in the current scope: it reads every name.
    pub(super) fn call_locals(&mut self) {
        self.scope_mut(self.current).calls_locals = true;
    }

    pub(super) fn bind(&mut self, name: &'a str, offset: TextSize, kind: BindingKind<'a>) {
        self.bind_in(self.current, name, offset, kind);
    }

    /// Binds the target of a `:=`, which in a comprehension belongs to the enclosing scope.
    pub(super) fn bind_outside_comprehensions(&mut self, name: &'a str, offset: TextSize) {
        let mut scope = self.current;
        while let LexicalScope { kind: ScopeKind::Comprehension, parent: Some(parent), .. } =
            self.scope(scope)
        {
            scope = *parent;
        }
        self.bind_in(scope, name, offset, BindingKind::Assignment);
    }

    fn bind_in(&mut self, scope: ScopeId, name: &'a str, offset: TextSize, kind: BindingKind<'a>) {
        if name.is_empty() {
            // The parser's placeholder for a name that is missing in broken code.
            return;
        }
        let binding = NameBinding {
            name,
            offset,
            kind,
            scope,
            is_used: false,
            is_shadowed: false,
            belongs_outside: matches!(kind, BindingKind::Global(_) | BindingKind::Nonlocal(_)),
        };
        let symbol = self.intern(name);
        if let Some(shadowed) = self.latest(scope, symbol) {
            self.shadow(shadowed, binding, symbol);
        } else {
            self.push(binding, symbol);
        }
    }

    /// Replaces a binding; reads of the old one count for the new one: in `x = 1; print(x); x = 2` nothing is unused.
    fn shadow(&mut self, shadowed: BindingId, mut binding: NameBinding<'a>, symbol: SymbolId) {
        if matches!(binding.kind, BindingKind::Annotation) {
            return;
        }
        let old = &mut self.bindings[shadowed.0 as usize];
        old.is_shadowed = true;
        if !matches!(old.kind, BindingKind::Deletion | BindingKind::FormerException(_)) {
            binding.is_used = old.is_used;
            binding.belongs_outside |= old.belongs_outside;
        }
        self.push(binding, symbol);
    }

    fn push(&mut self, binding: NameBinding<'a>, symbol: SymbolId) {
        let id = BindingId(index(self.bindings.len()));
        self.latest.insert((binding.scope, symbol), id);
        self.bindings.push(binding);
    }

    fn intern(&mut self, name: &'a str) -> SymbolId {
        let next = SymbolId(index(self.symbols.len()));
        *self.symbols.entry(name).or_insert(next)
    }

    /// `global name`, which also declares that the module has such a name.
    pub(super) fn declare_global(&mut self, name: &'a str, offset: TextSize) {
        if self.current == MODULE {
            return;
        }
        self.declared_globals.insert(name);
        let target = self.bound_in(MODULE, name);
        self.bind(name, offset, BindingKind::Global(target));
    }

    pub(super) fn is_declared_global(&self, name: &str) -> bool {
        self.declared_globals.contains(name)
    }

    pub(super) fn declare_nonlocal(&mut self, name: &'a str, offset: TextSize) {
        match self.binding_in_enclosing_function(name) {
            Some(target) => {
                self.mark_used(target);
                self.bind(name, offset, BindingKind::Nonlocal(target));
            }
            // `__class__`, which Python provides in methods, or an error that Python reports itself.
            None => self.bind(name, offset, BindingKind::Global(None)),
        }
    }

    /// Binds the name of an `except … as` clause; returns the binding that it hides, for `end_exception`.
    pub(super) fn begin_exception(&mut self, name: &'a str, offset: TextSize) -> Option<BindingId> {
        let hidden = self.find(name);
        self.bind(name, offset, BindingKind::Exception);
        hidden
    }

    pub(super) fn end_exception(&mut self, name: &'a str, offset: TextSize, hidden: Option<BindingId>) {
        self.bind(name, offset, BindingKind::FormerException(hidden));
    }

    /// All bindings, in the order of binding.
    pub(super) fn bindings(&self) -> &[NameBinding<'a>] {
        &self.bindings
    }

    /// Symbol of a name that a scope binds.
    pub(super) fn symbol(&self, name: &str) -> Option<SymbolId> {
        self.symbols.get(name).copied()
    }

    pub(super) fn latest(&self, scope: ScopeId, symbol: SymbolId) -> Option<BindingId> {
        self.latest.get(&(scope, symbol)).copied()
    }

    /// Binding of `name` in `scope` itself.
    pub(super) fn bound_in(&self, scope: ScopeId, name: &str) -> Option<BindingId> {
        self.symbol(name).and_then(|symbol| self.latest(scope, symbol))
    }

    pub(super) fn mark_used(&mut self, id: BindingId) {
        self.bindings[id.0 as usize].is_used = true;
    }

    pub(super) fn binding(&self, id: BindingId) -> &NameBinding<'a> {
        &self.bindings[id.0 as usize]
    }

    pub(super) fn scope(&self, id: ScopeId) -> &LexicalScope {
        &self.arena[id.0 as usize]
    }

    fn scope_mut(&mut self, id: ScopeId) -> &mut LexicalScope {
        &mut self.arena[id.0 as usize]
    }
}

fn index(length: usize) -> u32 {
    u32::try_from(length).expect("a file has fewer names than bytes, and sources above 4 GiB are rejected")
}
