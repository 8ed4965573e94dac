//! Import aliases: qualified names behind the names of a file, according to the imports so far.

use std::borrow::Cow;
use std::cell::RefCell;

use rustc_hash::FxHashMap;

use crate::syntax::{Expr, ast};

/// Imports found so far. There is one table per file: an import in a function applies to everything after it.
#[derive(Debug, Default)]
pub(super) struct ImportAliases<'a> {
    aliases: FxHashMap<&'a str, QualifiedImport<'a>>,
    imports: Vec<QualifiedImport<'a>>,
    answers: RefCell<FxHashMap<ImportQuery, ImportQueryAnswer>>,
}

/// Query about the imports that tests repeat often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum ImportQuery {
    Exactly(&'static str),
    Like(&'static str),
}

/// Cached answer to a query. A positive answer is final; a negative one holds for the imports checked so far.
#[derive(Debug, Default)]
struct ImportQueryAnswer {
    is_yes: bool,
    checked: usize,
}

/// `module.name`, or `name` alone for `import name` and `from . import name`.
#[derive(Debug, Clone, Copy)]
struct QualifiedImport<'a> {
    module: Option<&'a str>,
    name: &'a str,
}

impl<'a> ImportAliases<'a> {
    pub(super) fn import(&mut self, node: &'a ast::StmtImport) {
        for alias in &node.names {
            self.bind_explicitly(alias);
        }
    }

    /// Relative levels are dropped: `from .pickle import loads` gives `pickle.loads`.
    pub(super) fn import_from(&mut self, node: &'a ast::StmtImportFrom) {
        let Some(module) = &node.module else {
            node.names.iter().for_each(|alias| self.bind_explicitly(alias));
            return;
        };
        for alias in &node.names {
            let imported = QualifiedImport { module: Some(module.as_str()), name: alias.name.as_str() };
            let bound = alias.asname.as_ref().unwrap_or(&alias.name);
            self.aliases.insert(bound.as_str(), imported);
            self.imports.push(imported);
        }
    }

    /// Without a module in front, a name refers to itself unless `as` renames it.
    fn bind_explicitly(&mut self, alias: &'a ast::Alias) {
        let imported = QualifiedImport { module: None, name: alias.name.as_str() };
        if let Some(bound) = &alias.asname {
            self.aliases.insert(bound.as_str(), imported);
        }
        self.imports.push(imported);
    }

    /// The last segment of the qualified name of a callee, without building that name.
    pub(super) fn last_segment(&self, callee: &'a Expr) -> &'a str {
        match callee {
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            Expr::Name(name) => match self.aliases.get(name.id.as_str()) {
                Some(imported) => imported.name.rsplit('.').next().unwrap_or_default(),
                None => name.id.as_str(),
            },
            _ => "",
        }
    }

    /// The callee's dotted name with its first segment resolved. Anything but names and attributes is left empty.
    pub(super) fn qualified(&self, callee: &'a Expr) -> Cow<'a, str> {
        match callee {
            Expr::Name(name) => match self.aliases.get(name.id.as_str()) {
                Some(imported) => imported.full_name(),
                None => Cow::Borrowed(name.id.as_str()),
            },
            Expr::Attribute(attribute) => {
                let mut qualified = self.qualified(&attribute.value).into_owned();
                qualified.push('.');
                qualified.push_str(attribute.attr.as_str());
                Cow::Owned(qualified)
            }
            _ => Cow::Borrowed(""),
        }
    }

    /// Whether `import module` occurred.
    pub(super) fn imports_module(&self, module: &'static str) -> bool {
        self.answer(ImportQuery::Exactly(module), |imported| {
            imported.module.is_none() && imported.name == module
        })
    }

    /// Whether any imported name contains `part`.
    pub(super) fn imports_name_containing(&self, part: &'static str) -> bool {
        self.answer(ImportQuery::Like(part), |imported| imported.full_name().contains(part))
    }

    fn answer(&self, question: ImportQuery, matches: impl Fn(&QualifiedImport) -> bool) -> bool {
        let mut answers = self.answers.borrow_mut();
        let answer = answers.entry(question).or_default();
        answer.is_yes = answer.is_yes || self.imports[answer.checked..].iter().any(matches);
        answer.checked = self.imports.len();
        answer.is_yes
    }
}

impl<'a> QualifiedImport<'a> {
    fn full_name(&self) -> Cow<'a, str> {
        match self.module {
            Some(module) => Cow::Owned(format!("{module}.{}", self.name)),
            None => Cow::Borrowed(self.name),
        }
    }
}
