//! Unused imports.

use super::scope::{TransformScope, fills_lines, lines, single_rewrite};
use super::{Cause, ProposalGain, SourceRewrite, Transform};
use crate::editable_source::EditableSource;
use crate::syntax::{Stmt, ast};

/// Removes an import of the standard library whose name does not occur again in the file.
#[derive(Debug)]
pub(in crate::transforms) struct UnusedImport;

impl Transform for UnusedImport {
    fn name(&self) -> &'static str {
        "unused-import"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let is_module = matches!(cause, Cause::Review(section) if section == "<module>");
        if !is_module || TransformScope::of_review(source, cause).is_none() {
            return Vec::new();
        }
        let mut edits = source.edit();
        for statement in source.body() {
            if let Some([alias]) = imported(statement)
                && !occurs_again(source, alias)
                && fills_lines(source, statement)
            {
                edits = edits.replace(lines(source, statement), "");
            }
        }
        single_rewrite(edits.finish(), "Remove the unused import.", ProposalGain::Findings)
    }
}

/// Modules without side effects on import, and whose names other modules do not import from here.
const SIDE_EFFECT_FREE: &[&str] = &[
    "os",
    "sys",
    "re",
    "json",
    "math",
    "time",
    "datetime",
    "random",
    "string",
    "itertools",
    "functools",
    "collections",
    "typing",
    "pathlib",
    "io",
    "csv",
    "copy",
    "hashlib",
    "subprocess",
    "tempfile",
    "shutil",
    "pickle",
    "uuid",
    "socket",
    "dataclasses",
    "enum",
    "abc",
    "contextlib",
    "operator",
    "logging",
    "threading",
    "base64",
    "statistics",
    "decimal",
    "fractions",
    "traceback",
    "warnings",
];

/// Names that a statement imports from such a module.
fn imported(statement: &Stmt) -> Option<&[ast::Alias]> {
    let (module, names) = match statement {
        Stmt::Import(import) => (import.names.first()?.name.as_str(), &import.names),
        Stmt::ImportFrom(import) if import.level == 0 => (import.module.as_deref()?, &import.names),
        _ => return None,
    };
    let is_side_effect_free = SIDE_EFFECT_FREE.contains(&module);
    (is_side_effect_free && names.iter().all(|alias| alias.name.as_str() != "*")).then_some(names)
}

/// Whether the name occurs again, also in strings and comments: annotations and doctests use names there.
fn occurs_again(source: &EditableSource, alias: &ast::Alias) -> bool {
    let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
    let words = source.text().split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
    // `import x as x` marks a re-export.
    let own = source.of(alias).split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
    name.contains('.')
        || alias.asname.as_ref().is_some_and(|other| other.as_str() == alias.name.as_str())
        || words.filter(|word| *word == name).count() > own.filter(|word| *word == name).count()
}

#[cfg(test)]
mod tests {
    use super::super::scope::testing::review;
    use super::*;

    #[test]
    fn unused_imports_are_removed() {
        let text =
            "import os\nimport json\nfrom typing import Any\n\n\ndef f(x):\n    return json.loads(x)\n";
        assert_eq!(
            review(&UnusedImport, text, "<module>").unwrap(),
            "import json\n\n\ndef f(x):\n    return json.loads(x)\n"
        );
    }

    #[test]
    fn other_imports_stay() {
        for text in [
            "import os\n\n__all__ = [\"os\"]\n",
            "import plugins\n\nx = 1\n",
            "import os  # noqa\n\nx = 1\n",
            "from typing import Any as Any\n\nx = 1\n",
            "import os.path\n\nx = 1\n",
            "import os\n\ndef f(x: \"os.PathLike\"):\n    return x\n",
        ] {
            assert_eq!(review(&UnusedImport, text, "<module>"), None, "{text}");
        }
        assert_eq!(review(&UnusedImport, "import os\n\ndef f():\n    return 1\n", "f"), None);
    }
}
