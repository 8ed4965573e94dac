//! Files that a proposal may change.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use menace_model::inventory::Inventory;

use crate::editable_source::EditableSource;
use crate::syntax::is_same_program;
use crate::workbench::EngineError;

/// Names of files that control tests, builds and menace itself.
const PROTECTED_NAMES: [&str; 14] = [
    "conftest.py",
    "noxfile.py",
    "tox.ini",
    "setup.py",
    "setup.cfg",
    "pyproject.toml",
    "pytest.ini",
    "sitecustomize.py",
    "usercustomize.py",
    "Makefile",
    "Jenkinsfile",
    "sandbox_settings.yaml",
    ".gitlab-ci.yml",
    ".env",
];
/// Directories that control tests, builds and menace itself.
const PROTECTED_DIRECTORIES: [&str; 8] =
    ["tests", "test", "testing", ".github", ".ci", ".circleci", ".git", "sandbox_data"];
/// Maximum size of a changed file in bytes.
const LARGEST: usize = 2 << 20;

/// Whether a file belongs to tests, CI or menace itself.
pub fn is_protected(path: &str) -> bool {
    let mut parts = path.split('/').rev();
    let file = parts.next().unwrap_or(path);
    let is_test = file.starts_with("test_") || file.ends_with("_test.py");
    is_test || PROTECTED_NAMES.contains(&file) || parts.any(|part| PROTECTED_DIRECTORIES.contains(&part))
}

/// Reason why a proposal may not be applied, if any.
pub(super) fn problem(
    root: &Path,
    inventory: &Inventory,
    files: &BTreeMap<String, String>,
) -> Option<String> {
    if files.is_empty() {
        return Some("no file is changed".into());
    }
    for (path, text) in files {
        let is_plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        if !is_plain {
            return Some(format!("{path} is outside the repository"));
        }
        if is_protected(path) {
            return Some(format!("{path} is protected"));
        }
        if !inventory.modules.iter().any(|module| module.path == *path) {
            return Some(format!("{path} is not a module of the repository"));
        }
        if text.len() > LARGEST {
            return Some(format!("{path} would have {} bytes, more than {LARGEST}", text.len()));
        }
        if EditableSource::parse(text).is_none() {
            return Some(format!("{path} no longer parses"));
        }
    }
    // A change of comments and white space alone does not affect the program.
    let is_same = |(path, text): (&String, &String)| {
        std::fs::read_to_string(root.join(path)).is_ok_and(|before| is_same_program(&before, text))
    };
    files.iter().all(is_same).then(|| "only comments or white space are changed".into())
}

/// Hashes of the protected files of a directory, to detect changes.
pub fn protected(root: &Path) -> Result<BTreeMap<String, String>, EngineError> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        let wrong =
            |source| EngineError::File { doing: "read", path: directory.display().to_string(), source };
        for entry in std::fs::read_dir(&directory).map_err(wrong)? {
            let entry = entry.map_err(wrong)?;
            let kind = entry.file_type().map_err(wrong)?;
            let path = entry.path();
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            if kind.is_dir() {
                if !matches!(
                    entry.file_name().to_string_lossy().as_ref(),
                    ".git" | "__pycache__" | "node_modules"
                ) {
                    waiting.push(path);
                }
            } else if kind.is_file() && is_protected(&name) {
                let content = std::fs::read(&path).map_err(wrong)?;
                found.insert(name, blake3::hash(&content).to_hex()[..16].to_owned());
            }
        }
    }
    Ok(found)
}

/// Reads the texts of files.
pub(super) fn texts<'a>(
    root: &Path,
    paths: impl Iterator<Item = &'a String>,
) -> Result<BTreeMap<&'a String, String>, EngineError> {
    let mut all = BTreeMap::new();
    for path in paths {
        let wrong = |source| EngineError::File { doing: "read", path: path.clone(), source };
        all.insert(path, std::fs::read_to_string(root.join(path)).map_err(wrong)?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_and_their_configuration_are_protected() {
        for path in [
            "tests/test_cart.py",
            "test_cart.py",
            "a/conftest.py",
            ".github/workflows/ci.yml",
            "shop/cart_test.py",
            "setup.py",
            ".ci/run",
        ] {
            assert!(is_protected(path), "{path}");
        }
        for path in ["shop/cart.py", "contest.py", "shop/testament.py", "setup_shop.py"] {
            assert!(!is_protected(path), "{path}");
        }
    }

    #[test]
    fn hashes_detect_a_change() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("tests")).unwrap();
        let test = directory.path().join("tests/test_cart.py");
        std::fs::write(&test, "def test_it(): assert False\n").unwrap();
        std::fs::write(directory.path().join("cart.py"), "x = 1\n").unwrap();
        let before = protected(directory.path()).unwrap();
        assert_eq!(before.len(), 1);
        std::fs::write(&test, "def test_it(): pass\n").unwrap();
        assert_ne!(protected(directory.path()).unwrap(), before);
    }
}
