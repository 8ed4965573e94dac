//! Classification of a module by its path alone.

/// Whether a path is a test by the conventions of pytest and unittest. A directory `test` counts only at the top:
/// `django/test` is not a test.
pub(crate) fn is_test(path: &str) -> bool {
    let (directories, file) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = file.strip_suffix(".py").unwrap_or(file);
    stem.starts_with("test_")
        || stem.ends_with("_test")
        || matches!(stem, "conftest" | "tests")
        || directories.split('/').any(|directory| directory == "tests")
        || directories.split('/').next() == Some("test")
}

/// Role of a file that tools run by its name, without an import.
pub(super) fn conventional_role(path: &str) -> Option<&'static str> {
    let file = path.rsplit('/').next().unwrap_or(path);
    Some(match file {
        "__main__.py" => "main",
        "setup.py" => "build script",
        "conftest.py" => "pytest configuration",
        "manage.py" => "management script",
        "noxfile.py" | "tasks.py" | "fabfile.py" | "dodo.py" | "SConstruct" => "task runner file",
        "wsgi.py" | "asgi.py" => "server application",
        "sitecustomize.py" | "usercustomize.py" => "interpreter start-up file",
        "conf.py" if path.starts_with("doc") => "documentation configuration",
        _ => return None,
    })
}

/// Word that marks a path as legacy: `old_pricing.py`, `pricing_legacy.py`, `pricing_bak.py`, a directory `legacy/`.
pub(super) fn legacy_word(path: &str) -> Option<&'static str> {
    const WORDS: &[&str] = &["old", "legacy", "deprecated", "obsolete", "bak", "backup", "unused"];
    let stem = path.strip_suffix(".py").unwrap_or(path);
    let is_word = |part: &str, word: &str| part.eq_ignore_ascii_case(word);
    WORDS.iter().copied().find(|word| {
        stem.split('/').any(|part| {
            let mut pieces = part.split('_');
            let first = pieces.next().unwrap_or_default();
            let last = pieces.next_back().unwrap_or(first);
            is_word(first, word) || is_word(last, word)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_recognised_by_file_and_directory() {
        for path in ["test_a.py", "pkg/a_test.py", "pkg/tests/helpers.py", "conftest.py", "test/a.py"] {
            assert!(is_test(path), "{path}");
        }
        for path in ["django/test/client.py", "pkg/testing.py", "pkg/contest.py", "latest/a.py"] {
            assert!(!is_test(path), "{path}");
        }
    }

    #[test]
    fn legacy_names_are_recognised_by_whole_words() {
        assert_eq!(legacy_word("pkg/pricing_old.py"), Some("old"));
        assert_eq!(legacy_word("legacy/a.py"), Some("legacy"));
        for path in ["pkg/threshold.py", "golden/gold.py", "pkg/bold_text.py", "pkg/deprecation.py"] {
            assert_eq!(legacy_word(path), None, "{path}");
        }
    }
}
