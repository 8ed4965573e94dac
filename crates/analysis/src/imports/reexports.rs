//! Resolution of re-exports: `from shop import Cart` calls into `shop.cart` if `shop/__init__.py` contains
//! `from .cart import Cart`. The import edge still goes to `shop`, as Python executes it; calls are attributed to the
//! defining module.

use menace_model::inventory::ImportKind;
use rustc_hash::FxHashMap;

use crate::facts::FileFacts;
use crate::sections::RawImport;

use super::module_names::ModuleIndex;
use super::resolve::target_of;

/// Longest chain of re-exports that is followed; a cycle of them has no end.
const MAX_STEPS: usize = 16;

/// Inputs needed to follow a name through packages.
pub(crate) struct ReexportResolver<'a> {
    pub(crate) paths: &'a [&'a str],
    pub(crate) names: &'a [String],
    pub(crate) facts: &'a [&'a FileFacts],
    pub(crate) index: &'a ModuleIndex<'a>,
}

impl ReexportResolver<'_> {
    /// Number of calls from a module into each other module, by target.
    pub(crate) fn calls_of(&self, module: usize) -> Vec<(usize, u32)> {
        let mut calls: FxHashMap<usize, u32> = FxHashMap::default();
        for import in self.facts[module].imports.iter().filter(|import| import.calls > 0) {
            if let Some(definer) = self.defining_module(module, import).filter(|definer| *definer != module) {
                *calls.entry(definer).or_default() += import.calls;
            }
        }
        let mut calls: Vec<(usize, u32)> = calls.into_iter().collect();
        calls.sort_unstable();
        calls
    }

    /// The module in which the imported name is defined.
    fn defining_module(&self, importer: usize, import: &RawImport) -> Option<usize> {
        let mut module = self.target(importer, import)?;
        let mut name = import.member.as_deref();
        for _ in 0..MAX_STEPS {
            let Some(next) = name.and_then(|name| self.import_of(module, name)) else { break };
            let Some(target) = self.target(module, next) else { break };
            (module, name) = (target, next.member.as_deref());
        }
        Some(module)
    }

    /// The import by which a module got a name, unless the name is a submodule of its own.
    fn import_of(&self, module: usize, name: &str) -> Option<&RawImport> {
        self.facts[module].imports.iter().find(|import| {
            let bound = import.alias.as_deref().or(import.member.as_deref());
            import.kind != ImportKind::TypeChecking && bound == Some(name)
        })
    }

    fn target(&self, importer: usize, import: &RawImport) -> Option<usize> {
        let is_package = self.paths[importer].ends_with("__init__.py");
        target_of(import, importer, &self.names[importer], is_package, self.index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::extract;

    /// Calls of the last file, as (path, calls).
    fn check(files: &[(&str, &str)], expected: &[(&str, u32)]) {
        let paths: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
        let facts: Vec<FileFacts> = files.iter().map(|(_, text)| extract(text.as_bytes().to_vec())).collect();
        let facts: Vec<&FileFacts> = facts.iter().collect();
        let name = |path: &&str| path.trim_end_matches(".py").trim_end_matches("/__init__").replace('/', ".");
        let names: Vec<String> = paths.iter().map(name).collect();
        let index = ModuleIndex::new(&paths, &names);
        let definitions = ReexportResolver { paths: &paths, names: &names, facts: &facts, index: &index };
        let calls = definitions.calls_of(files.len() - 1);
        let found: Vec<(&str, u32)> =
            calls.into_iter().map(|(module, calls)| (paths[module], calls)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn calls_go_to_the_module_that_defines_the_name() {
        let cart = ("shop/cart.py", "class Cart: pass\ndef add(): pass\n");
        let package = ("shop/__init__.py", "from .cart import Cart as Basket\nfrom .cart import add\n");
        check(
            &[cart, package, ("a.py", "from shop import Basket, add\nBasket()\nadd()\nadd()\n")],
            &[("shop/cart.py", 3)],
        );
        check(&[cart, package, ("b.py", "import shop\nshop.other()\n")], &[("shop/__init__.py", 1)]);
        check(&[cart, package, ("c.py", "from shop import cart\ncart.add()\n")], &[("shop/cart.py", 1)]);
    }

    #[test]
    fn cycles_of_reexports_terminate() {
        let ring = [
            ("x.py", "from y import n\n"),
            ("y.py", "from x import n\n"),
            ("z.py", "from x import n\nn()\n"),
        ];
        check(&ring, &[("x.py", 1)]);
    }
}
