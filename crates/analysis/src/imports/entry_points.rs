//! Declared entry points: console scripts, plugins and others that project files name.

use std::path::Path;

use crate::syntax::visitor::{self, Visitor};
use crate::syntax::{Expr, ParsedPythonSource};

use super::source_roots::read_toml;

/// A reference to a module from outside the import graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntryPointDeclaration {
    /// Project file with the declaration.
    pub(crate) file: String,
    /// Module without the attribute: `shop.cli`.
    pub(crate) module: String,
    /// Role shown to the user: `console script shop`.
    pub(crate) role: String,
}

pub(crate) type DeclaredEntryPoints = Vec<EntryPointDeclaration>;

/// Reads every project file; one that does not parse declares nothing.
pub(crate) fn declared_entry_points(root: &Path, project_files: &[String]) -> DeclaredEntryPoints {
    let mut found = Vec::new();
    for file in project_files {
        let path = root.join(file);
        let declared: DeclaredEntryPoints = match file.rsplit('/').next() {
            Some("pyproject.toml") => read_toml(&path).iter().flat_map(from_pyproject).collect(),
            Some("setup.py") => read_text(&path).into_iter().flat_map(from_setup_py).collect(),
            _ => read_text(&path).iter().flat_map(|text| from_ini(text)).collect(),
        };
        found.extend(declared.into_iter().map(|it| EntryPointDeclaration { file: file.clone(), ..it }));
    }
    found
}

fn read_text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

fn from_pyproject(document: &toml::Value) -> DeclaredEntryPoints {
    let lookup = |keys: &[&str]| {
        keys.iter().try_fold(document, |table, key| table.get(key)).and_then(toml::Value::as_table)
    };
    let mut found = Vec::new();
    for keys in [&["project", "scripts"][..], &["project", "gui-scripts"], &["tool", "poetry", "scripts"]] {
        found.extend(lookup(keys).into_iter().flat_map(|table| from_table(table, "console script")));
    }
    for keys in [&["project", "entry-points"][..], &["tool", "poetry", "plugins"]] {
        for (group, table) in lookup(keys).into_iter().flatten() {
            found.extend(
                table.as_table().into_iter().flat_map(|table| from_table(table, &role_of_group(group))),
            );
        }
    }
    if let Some(options) = lookup(&["tool", "pytest", "ini_options"]).and_then(|table| table.get("addopts")) {
        found.extend(plugins_in_options(&option_words(options)));
    }
    found
}

/// pytest accepts its options as one string or as a list.
fn option_words(options: &toml::Value) -> Vec<String> {
    match options {
        toml::Value::String(text) => text.split_whitespace().map(str::to_owned).collect(),
        toml::Value::Array(items) => {
            items.iter().filter_map(toml::Value::as_str).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

fn from_table(table: &toml::Table, role: &str) -> DeclaredEntryPoints {
    table
        .iter()
        .filter_map(|(name, value)| {
            // Poetry also allows `{ reference = "module:attribute" }`.
            let reference = value.as_str().or_else(|| value.get("reference")?.as_str())?;
            Some(declaration(reference, &format!("{role} {name}")))
        })
        .collect()
}

fn role_of_group(group: &str) -> String {
    match group {
        "console_scripts" | "gui_scripts" => "console script".to_owned(),
        "pytest11" => "pytest plugin".to_owned(),
        other => format!("entry point {other}"),
    }
}

fn declaration(reference: &str, role: &str) -> EntryPointDeclaration {
    let module = reference.split([':', '[', ' ']).next().unwrap_or(reference);
    EntryPointDeclaration { file: String::new(), module: module.trim().to_owned(), role: role.to_owned() }
}

/// `setup.cfg`: `[options.entry_points]`, and `addopts` of the pytest sections.
fn from_ini(text: &str) -> DeclaredEntryPoints {
    let mut found = Vec::new();
    let mut section = "";
    let mut group = String::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with('[') {
            section = trimmed.trim_matches(['[', ']']);
            group.clear();
        } else if let Some(options) = trimmed.strip_prefix("addopts") {
            found.extend(plugins_in_options(
                &options.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
            ));
        } else if section == "options.entry_points"
            && let Some((name, value)) = trimmed.split_once('=')
        {
            let is_group = !line.starts_with([' ', '\t']);
            if is_group {
                name.trim().clone_into(&mut group);
                found.extend(entry_point_line(value, &group));
            } else {
                found.extend(entry_point_line(trimmed, &group));
            }
        }
    }
    found
}

/// `name = module:attribute`, as in `setup.cfg` and in the strings of a `setup.py`.
fn entry_point_line(line: &str, group: &str) -> Option<EntryPointDeclaration> {
    let (name, reference) = line.split_once('=')?;
    let reference = reference.trim();
    let is_name = name.trim().chars().all(|letter| letter.is_alphanumeric() || "-_. ".contains(letter));
    let is_reference = is_name
        && !reference.is_empty()
        && reference
            .split(['.', ':', '[', ']', ' ', ','])
            .all(|part| part.chars().all(|letter| letter.is_alphanumeric() || letter == '_'));
    is_reference.then(|| declaration(reference, &format!("{} {}", role_of_group(group), name.trim())))
}

/// Plugins named by `-p plugin`.
fn plugins_in_options(words: &[String]) -> DeclaredEntryPoints {
    words
        .windows(2)
        .filter(|pair| pair[0] == "-p" && !pair[1].starts_with("no:"))
        .map(|pair| declaration(&pair[1], "pytest plugin"))
        .collect()
}

/// Strings in a `setup.py` of the form `name = module:attribute`. The file is parsed, never run.
fn from_setup_py(text: String) -> DeclaredEntryPoints {
    let source = ParsedPythonSource::parse(text);
    let mut strings = StringLiteralCollector::default();
    strings.visit_body(source.body());
    strings
        .found
        .iter()
        .flat_map(|text| text.lines())
        .filter(|line| line.contains([':', '.']))
        .filter_map(|line| entry_point_line(line, "console_scripts"))
        .collect()
}

#[derive(Default)]
struct StringLiteralCollector<'a> {
    found: Vec<&'a str>,
}

impl<'a> Visitor<'a> for StringLiteralCollector<'a> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::StringLiteral(literal) = expression {
            self.found.push(literal.value.to_str());
        }
        visitor::walk_expr(self, expression);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(found: &[EntryPointDeclaration]) -> Vec<(&str, &str)> {
        found.iter().map(|it| (it.module.as_str(), it.role.as_str())).collect()
    }

    #[test]
    fn pyproject_declares_scripts_plugins_and_options() {
        let text = r#"
            [project.scripts]
            shop = "shop.cli:main"
            [project.entry-points.pytest11]
            fixtures = "shop.testing"
            [tool.poetry.scripts]
            old = { reference = "shop.old:run", type = "console" }
            [tool.pytest.ini_options]
            addopts = "-q -p shop.plugin -p no:cacheprovider"
        "#;
        let document = toml::Value::Table(text.parse().unwrap());
        let expected = [
            ("shop.cli", "console script shop"),
            ("shop.old", "console script old"),
            ("shop.testing", "pytest plugin fixtures"),
            ("shop.plugin", "pytest plugin"),
        ];
        assert_eq!(pairs(&from_pyproject(&document)), expected);
    }

    #[test]
    fn setup_cfg_declares_groups_over_several_lines() {
        let text = "[metadata]\nname = x\n[options.entry_points]\nconsole_scripts =\n    a = pkg.a:main\n    b = pkg.b:main [extra]\n\n[flake8]\nx = y.z:w\n";
        assert_eq!(pairs(&from_ini(text)), [("pkg.a", "console script a"), ("pkg.b", "console script b")]);
    }

    #[test]
    fn setup_py_strings_are_read_and_prose_is_not() {
        let text =
            "setup(entry_points={'console_scripts': ['tool = pkg.tool:main']}, url='see: https://x = y')";
        let found = from_setup_py(text.to_owned());
        assert_eq!(pairs(&found), [("pkg.tool", "console script tool")]);
    }
}
