//! Names of groups: the directory that its modules share, or else its central module.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

/// A group is named after a directory that contains at least three quarters of it: one stray module is tolerated.
const SHARE_NUMERATOR: usize = 3;
const SHARE_DENOMINATOR: usize = 4;

/// Generator of unique group names.
pub(crate) struct GroupNamer<'a> {
    /// Directory that all modules of the repository share; it does not distinguish groups.
    everything: &'a str,
    taken: FxHashSet<String>,
}

impl<'a> GroupNamer<'a> {
    pub(crate) fn new(paths: &[&'a str]) -> Self {
        Self { everything: directory_of_all(paths), taken: FxHashSet::default() }
    }

    /// Name of the next group. A directory is given to the first group that qualifies, so call this for the largest
    /// group first; later ones from the same directory are named after their central module.
    pub(crate) fn name(&mut self, modules: &[&str], central: &str) -> String {
        let directory = common_directory(modules).filter(|directory| directory.len() > self.everything.len());
        let mut name = directory.filter(|_| modules.len() > 1).unwrap_or(module_name(central)).to_owned();
        let mut attempts = 0;
        while !self.taken.insert(name.clone()) {
            attempts += 1;
            name = match attempts {
                1 => module_name(central).to_owned(),
                number => format!("{}-{number}", module_name(central)),
            };
        }
        name
    }
}

/// Deepest directory that contains most of the modules; of equally deep ones the fullest.
fn common_directory<'a>(modules: &[&'a str]) -> Option<&'a str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for directory in modules.iter().flat_map(|path| directories(path)) {
        *counts.entry(directory).or_default() += 1;
    }
    counts
        .into_iter()
        .filter(|(_, count)| count * SHARE_DENOMINATOR >= modules.len() * SHARE_NUMERATOR)
        .map(|(directory, _)| directory)
        .max_by_key(|directory| directory.len())
}

/// The directories a path lies in, outermost first.
fn directories(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(slash, _)| &path[..slash]).filter(|directory| !directory.is_empty())
}

fn directory_of_all<'a>(paths: &[&'a str]) -> &'a str {
    let Some((first, others)) = paths.split_first() else { return "" };
    let holds_all = |directory: &&str| {
        others.iter().all(|path| path.strip_prefix(*directory).is_some_and(|rest| rest.starts_with('/')))
    };
    directories(first).take_while(holds_all).last().unwrap_or("")
}

/// The path without its extension; a package's `__init__` is the package.
fn module_name(path: &str) -> &str {
    let name = path.strip_suffix(".py").or_else(|| path.strip_suffix(".pyi")).unwrap_or(path);
    name.strip_suffix("/__init__").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPOSITORY: &[&str] = &["app/billing/tax.py", "app/net/http.py", "app/cli.py"];

    fn check(modules: &[&str], central: &str, expected: &str) {
        assert_eq!(GroupNamer::new(REPOSITORY).name(modules, central), expected, "{modules:?}");
    }

    #[test]
    fn groups_are_named_after_their_directory() {
        check(&["app/billing/tax.py", "app/billing/rates.py"], "app/billing/tax.py", "app/billing");
        check(&["app/net/a/x.py", "app/net/b/y.py"], "app/net/a/x.py", "app/net");
    }

    #[test]
    fn one_stray_module_in_four_does_not_change_the_name() {
        let modules = ["app/net/a.py", "app/net/b.py", "app/net/c.py", "app/cli.py"];
        check(&modules, "app/cli.py", "app/net");
        check(&modules[1..], "app/cli.py", "app/cli");
    }

    #[test]
    fn common_directory_of_all_modules_is_not_a_name() {
        check(&["app/cli.py", "app/web.py"], "app/web.py", "app/web");
        check(&["setup.py", "app/web.py"], "setup.py", "setup");
        check(&["app/net/__init__.py"], "app/net/__init__.py", "app/net");
    }

    #[test]
    fn names_are_unique() {
        let mut names = GroupNamer::new(REPOSITORY);
        let mut name = |central: &str| names.name(&["app/net/a.py", "app/net/b.py"], central);
        assert_eq!(name("app/net/a.py"), "app/net");
        assert_eq!(name("app/net/b.py"), "app/net/b");
        assert_eq!(name("app/net/b.py"), "app/net/b-2");
        assert_eq!(name("app/net/b.pyi"), "app/net/b-3");
    }

    #[test]
    fn unusual_paths_are_accepted() {
        for path in ["", "/", "//", "a//b.py", ".py", "/__init__.py", "ä/ö.py"] {
            let name = GroupNamer::new(&[path, "x.py"]).name(&[path], path);
            assert_eq!(name, module_name(path));
        }
    }
}
