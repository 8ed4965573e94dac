//! Import statements as written, and the qualified names behind the names that they bind.

use menace_model::inventory::ImportKind;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::syntax::{Expr, ParsedPythonSource, ast};

use super::effect_rules::can_have_effects;

/// One imported module or member, before anything is known about the rest of the repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RawImport {
    /// Number of leading dots.
    pub(crate) level: u32,
    /// The module after `import` or `from`; empty for `from . import x`.
    pub(crate) module: String,
    /// The member of a `from` import; `*` for a star.
    pub(crate) member: Option<String>,
    /// Name it is bound to, if different from the member: the name under which other modules can re-import it.
    pub(crate) alias: Option<String>,
    pub(crate) kind: ImportKind,
    pub(crate) line: u32,
    /// Calls made through the name that the import binds.
    pub(crate) calls: u32,
}

/// The names that imports bind in a file. Scopes are ignored: functions that import different members under one
/// name are rare, and the last one wins.
#[derive(Default)]
pub(super) struct ImportedNames<'a> {
    pub(super) imports: Vec<RawImport>,
    bound: FxHashMap<&'a str, ImportBinding>,
}

struct ImportBinding {
    qualified: String,
    import: usize,
    /// Whether the module can have effects; qualified names of other modules are not built.
    reaches_outside: bool,
}

impl<'a> ImportedNames<'a> {
    pub(super) fn import(
        &mut self,
        source: &ParsedPythonSource,
        node: &'a ast::StmtImport,
        kind: ImportKind,
    ) {
        for alias in &node.names {
            let module = alias.name.as_str();
            let root = module.split('.').next().unwrap_or(module);
            let (name, qualified) =
                alias.asname.as_ref().map_or((root, root), |asname| (asname.as_str(), module));
            self.add(
                name,
                qualified.to_owned(),
                RawImport {
                    level: 0,
                    module: module.to_owned(),
                    member: None,
                    alias: None,
                    kind,
                    line: source.first_line(alias),
                    calls: 0,
                },
            );
        }
    }

    pub(super) fn import_from(
        &mut self,
        source: &ParsedPythonSource,
        node: &'a ast::StmtImportFrom,
        kind: ImportKind,
    ) {
        let module = node.module.as_ref().map_or("", |module| module.as_str());
        for alias in &node.names {
            let member = alias.name.as_str();
            let name = alias.asname.as_ref().map_or(member, |asname| asname.as_str());
            let dots = ".".repeat(node.level as usize);
            self.add(
                name,
                format!("{dots}{module}.{member}"),
                RawImport {
                    level: node.level,
                    module: module.to_owned(),
                    member: Some(member.to_owned()),
                    alias: alias.asname.as_ref().map(ToString::to_string),
                    kind,
                    line: source.first_line(node),
                    calls: 0,
                },
            );
        }
    }

    /// `importlib.import_module("literal")` and `__import__("literal")`.
    pub(super) fn dynamic(&mut self, module: &str, line: u32) {
        let level = module.bytes().take_while(|byte| *byte == b'.').count();
        self.imports.push(RawImport {
            level: u32::try_from(level).unwrap_or(u32::MAX),
            module: module[level..].to_owned(),
            member: None,
            alias: None,
            kind: ImportKind::Dynamic,
            line,
            calls: 0,
        });
    }

    fn add(&mut self, name: &'a str, qualified: String, import: RawImport) {
        let reaches_outside = can_have_effects(&qualified);
        self.bound.insert(name, ImportBinding { qualified, import: self.imports.len(), reaches_outside });
        self.imports.push(import);
    }

    /// Counts a call through an imported name, which is the weight of an edge in the module map, and returns the full
    /// name of the callee if it could have an effect.
    pub(super) fn call(&mut self, callee: &Expr) -> CalleeOrigin {
        let Some(binding) = root_name(callee).and_then(|name| self.bound.get(name)) else {
            return CalleeOrigin::Unknown;
        };
        self.imports[binding.import].calls += 1;
        if !binding.reaches_outside {
            return CalleeOrigin::Imported;
        }
        CalleeOrigin::Outside(with_attributes(&binding.qualified, callee))
    }

    /// Full name of an attribute whose root was imported and could have an effect.
    pub(super) fn outside_name(&self, expression: &Expr) -> Option<String> {
        let binding = self.bound.get(root_name(expression)?)?;
        binding.reaches_outside.then(|| with_attributes(&binding.qualified, expression))
    }
}

/// Origin of a callee.
pub(super) enum CalleeOrigin {
    /// The root is not an imported name.
    Unknown,
    /// Imported from a module without known effects.
    Imported,
    /// The full name: `os.path.exists` for `path.exists` after `from os import path`.
    Outside(String),
}

/// Qualified name of a root, followed by the attributes of the expression.
fn with_attributes(root: &str, expression: &Expr) -> String {
    let mut attributes = Vec::new();
    let mut current = expression;
    while let Expr::Attribute(node) = current {
        attributes.push(node.attr.as_str());
        current = &node.value;
    }
    let mut name = root.to_owned();
    for attribute in attributes.iter().rev() {
        name.push('.');
        name.push_str(attribute);
    }
    name
}

/// The name at the left end of `a.b[c].d(…)`.
pub(super) fn root_name(expression: &Expr) -> Option<&str> {
    let mut current = expression;
    loop {
        current = match current {
            Expr::Name(node) => return Some(node.id.as_str()),
            Expr::Attribute(node) => &node.value,
            Expr::Subscript(node) => &node.value,
            Expr::Call(node) => &node.func,
            _ => return None,
        };
    }
}
