//! Scopes, the names bound in them, and how Python finds a name.
//!
//! A file has one table from (scope, name) to the latest binding, so a lookup hashes the name once and then walks
//! outwards over integers. A name that nothing has bound yet is not in the table of symbols and needs no walk.

use rustc_hash::{FxHashMap, FxHashSet};

use super::builtins;
use crate::syntax::TextSize;
use crate::syntax::ast::Alias;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ScopeId(u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BindingId(u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Symbol(u32);

pub(super) const MODULE: ScopeId = ScopeId(0);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScopeKind {
    Module,
    Class,
    Function,
    Lambda,
    Comprehension,
    /// The type parameters of a `def`, `class` or `type`, around the thing itself.
    TypeParameters,
}

#[derive(Debug)]
struct Scope {
    kind: ScopeKind,
    parent: Option<ScopeId>,
    imports_everything: bool,
    calls_locals: bool,
}

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
    fn is_unbound(&self) -> bool {
        matches!(self.kind, BindingKind::Annotation | BindingKind::Deletion | BindingKind::FormerException(_))
    }
}

/// When a name is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Lookup {
    /// When the code runs.
    #[default]
    Runtime,
    /// By a type checker, in an annotation that does not run: names of the module come first.
    Forward,
}

#[derive(Debug)]
pub(super) struct Scopes<'a> {
    scopes: Vec<Scope>,
    bindings: Vec<Binding<'a>>,
    symbols: FxHashMap<&'a str, Symbol>,
    latest: FxHashMap<(ScopeId, Symbol), BindingId>,
    declared_globals: FxHashSet<&'a str>,
    current: ScopeId,
}

impl<'a> Scopes<'a> {
    pub(super) fn new() -> Self {
        let module =
            Scope { kind: ScopeKind::Module, parent: None, imports_everything: false, calls_locals: false };
        Self {
            scopes: vec![module],
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

    /// Opens a scope inside the current one; returns the scope to go back to.
    pub(super) fn enter(&mut self, kind: ScopeKind) -> ScopeId {
        let id = ScopeId(index(self.scopes.len()));
        let parent = Some(self.current);
        self.scopes.push(Scope { kind, parent, imports_everything: false, calls_locals: false });
        self.go_to(id)
    }

    /// Makes `scope` the current one; returns the one that was.
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

    /// Binds the target of a `:=`, which a comprehension leaves to the scope around it.
    pub(super) fn bind_outside_comprehensions(&mut self, name: &'a str, offset: TextSize) {
        let mut scope = self.current;
        while let Scope { kind: ScopeKind::Comprehension, parent: Some(parent), .. } = self.scope(scope) {
            scope = *parent;
        }
        self.bind_in(scope, name, offset, BindingKind::Assignment);
    }

    fn bind_in(&mut self, scope: ScopeId, name: &'a str, offset: TextSize, kind: BindingKind<'a>) {
        if name.is_empty() {
            // The parser's placeholder for a name that is missing in broken code.
            return;
        }
        let binding = Binding {
            name,
            offset,
            kind,
            scope,
            is_used: false,
            is_shadowed: false,
            belongs_outside: matches!(kind, BindingKind::Global(_) | BindingKind::Nonlocal(_)),
        };
        let symbol = self.intern(name);
        if let Some(&shadowed) = self.latest.get(&(scope, symbol)) {
            self.shadow(shadowed, binding, symbol);
        } else {
            self.push(binding, symbol);
        }
    }

    /// What was read under the old binding counts for the new one: `x = 1; print(x); x = 2` wastes nothing.
    fn shadow(&mut self, shadowed: BindingId, mut binding: Binding<'a>, symbol: Symbol) {
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

    fn push(&mut self, binding: Binding<'a>, symbol: Symbol) {
        let id = BindingId(index(self.bindings.len()));
        self.latest.insert((binding.scope, symbol), id);
        self.bindings.push(binding);
    }

    fn intern(&mut self, name: &'a str) -> Symbol {
        let next = Symbol(index(self.symbols.len()));
        *self.symbols.entry(name).or_insert(next)
    }

    /// `global name`, which also promises that the module has such a name.
    pub(super) fn declare_global(&mut self, name: &'a str, offset: TextSize) {
        if self.current == MODULE {
            return;
        }
        self.declared_globals.insert(name);
        let target = self.symbols.get(name).and_then(|symbol| self.latest.get(&(MODULE, *symbol)));
        self.bind(name, offset, BindingKind::Global(target.copied()));
    }

    pub(super) fn is_declared_global(&self, name: &str) -> bool {
        self.declared_globals.contains(name)
    }

    pub(super) fn declare_nonlocal(&mut self, name: &'a str, offset: TextSize) {
        match self.binding_around(name) {
            Some(target) => {
                self.mark_used(target);
                self.bind(name, offset, BindingKind::Nonlocal(target));
            }
            // `__class__`, which a class makes for its methods, or an error that Python reports itself.
            None => self.bind(name, offset, BindingKind::Global(None)),
        }
    }

    /// The binding in a function around the current one.
    fn binding_around(&self, name: &str) -> Option<BindingId> {
        let symbol = *self.symbols.get(name)?;
        let mut next = self.scope(self.current).parent;
        while let Some(id) = next {
            let scope = self.scope(id);
            next = scope.parent;
            if matches!(scope.kind, ScopeKind::Class | ScopeKind::Module) {
                continue;
            }
            if let Some(found) = self.latest.get(&(id, symbol)) {
                return Some(*found);
            }
        }
        None
    }

    /// Marks what `name` refers to as used. False when nothing can have bound it.
    pub(super) fn resolve(&mut self, name: &str, lookup: Lookup) -> bool {
        let Some(&symbol) = self.symbols.get(name) else { return self.resolves_unbound(name) };
        if lookup == Lookup::Forward {
            match self.latest.get(&(MODULE, symbol)) {
                Some(&found) if !self.binding(found).is_unbound() => {
                    self.mark_used(found);
                    return true;
                }
                None if builtins::is_predefined(name) => return true,
                _ => {}
            }
        }
        let mut path = Path::from(self.current);
        while let Some(scope) = path.step(&self.scopes) {
            if let Some(&found) = self.latest.get(&(scope, symbol))
                && let Some(is_bound) = self.read(found, lookup)
            {
                return is_bound;
            }
        }
        self.resolves_unbound(name)
    }

    /// Reads a binding; says whether it holds a value, or nothing when the search goes on outside.
    fn read(&mut self, id: BindingId, lookup: Lookup) -> Option<bool> {
        self.mark_used(id);
        let binding = self.binding(id);
        match binding.kind {
            // In a function the annotation makes the name local, and it has no value.
            BindingKind::Annotation if self.kind_of(binding.scope) == ScopeKind::Function => Some(false),
            BindingKind::Annotation if lookup == Lookup::Runtime => None,
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

    /// Whether a name that no scope binds exists all the same.
    fn resolves_unbound(&self, name: &str) -> bool {
        builtins::is_predefined(name) || self.is_class_magic(name) || self.sees_star_import()
    }

    /// `__class__` in a method, `__module__` and `__qualname__` in a class body.
    fn is_class_magic(&self, name: &str) -> bool {
        match name {
            "__module__" | "__qualname__" => self.current_kind() == ScopeKind::Class,
            "__class__" => {
                let mut outwards = self.outwards().map(|scope| scope.kind);
                outwards.any(|kind| matches!(kind, ScopeKind::Function | ScopeKind::Lambda))
                    && outwards.any(|kind| kind == ScopeKind::Class)
            }
            _ => false,
        }
    }

    fn sees_star_import(&self) -> bool {
        self.outwards().any(|scope| scope.imports_everything)
    }

    fn outwards(&self) -> impl Iterator<Item = &Scope> {
        let start = Some(self.scope(self.current));
        std::iter::successors(start, |scope| scope.parent.map(|parent| self.scope(parent)))
    }

    /// The binding that `name` refers to, without counting as a use.
    pub(super) fn peek(&self, name: &str) -> Option<&Binding<'a>> {
        self.find(name).map(|id| self.binding(id))
    }

    fn find(&self, name: &str) -> Option<BindingId> {
        let symbol = *self.symbols.get(name)?;
        let mut path = Path::from(self.current);
        while let Some(scope) = path.step(&self.scopes) {
            let Some(&found) = self.latest.get(&(scope, symbol)) else { continue };
            match self.binding(found).kind {
                BindingKind::Annotation => {}
                BindingKind::Deletion => return None,
                BindingKind::FormerException(before) => return before,
                _ => return Some(found),
            }
        }
        None
    }

    /// Binds the name of an `except … as` clause; returns what it hides, for `end_exception`.
    pub(super) fn begin_exception(&mut self, name: &'a str, offset: TextSize) -> Option<BindingId> {
        let hidden = self.find(name);
        self.bind(name, offset, BindingKind::Exception);
        hidden
    }

    pub(super) fn end_exception(&mut self, name: &'a str, offset: TextSize, hidden: Option<BindingId>) {
        self.bind(name, offset, BindingKind::FormerException(hidden));
    }

    /// `del name`: a use in the current scope. False when the scope does not bind it.
    pub(super) fn resolve_deletion(&mut self, name: &str) -> bool {
        let here = self.symbols.get(name).and_then(|symbol| self.latest.get(&(self.current, *symbol)));
        let Some(&found) = here else { return false };
        self.mark_used(found);
        !self.binding(found).is_unbound()
    }

    /// Marks a name of the module as used, as being listed in `__all__` does.
    pub(super) fn export(&mut self, name: &str) {
        let found = self.symbols.get(name).and_then(|symbol| self.latest.get(&(MODULE, *symbol)));
        if let Some(&found) = found {
            self.mark_used(found);
        }
    }

    /// Everything that was ever bound, in the order of binding.
    pub(super) fn bindings(&self) -> &[Binding<'a>] {
        &self.bindings
    }

    fn mark_used(&mut self, id: BindingId) {
        self.bindings[id.0 as usize].is_used = true;
    }

    fn binding(&self, id: BindingId) -> &Binding<'a> {
        &self.bindings[id.0 as usize]
    }

    fn scope(&self, id: ScopeId) -> &Scope {
        &self.scopes[id.0 as usize]
    }

    fn scope_mut(&mut self, id: ScopeId) -> &mut Scope {
        &mut self.scopes[id.0 as usize]
    }
}

/// The scopes in which a lookup looks, from the inside out. Names of a class are visible in its own body only.
struct Path {
    next: Option<ScopeId>,
    sees_class: bool,
    is_first: bool,
}

impl Path {
    fn from(scope: ScopeId) -> Self {
        Self { next: Some(scope), sees_class: true, is_first: true }
    }

    fn step(&mut self, scopes: &[Scope]) -> Option<ScopeId> {
        loop {
            let id = self.next?;
            let scope = &scopes[id.0 as usize];
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

fn index(length: usize) -> u32 {
    u32::try_from(length).expect("a file has fewer names than bytes, and sources above 4 GiB are refused")
}
