//! Selection of the Python interpreter of a repository.

use std::path::{Path, PathBuf};

use crate::{AppContext, AppEvent};
use serde::Serialize;

/// An interpreter and why it was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RepositoryInterpreter {
    /// A path, or a name that is looked up in the `PATH` of sandboxes.
    pub python: String,
    /// Reason for the choice.
    pub reason: String,
}

/// Chooses the interpreter of a repository and reports the choice.
pub fn choose_interpreter(context: &AppContext, repository: &Path, named: Option<&str>) -> String {
    let variable = |name: &str| std::env::var_os(name).map(Into::into);
    let found = find_interpreter(repository, named, variable);
    context.emit(AppEvent::InterpreterChosen(found.clone()));
    found.python
}

/// Finds the interpreter of a repository. `variable` reads the environment.
fn find_interpreter(
    repository: &Path,
    named: Option<&str>,
    variable: impl Fn(&str) -> Option<PathBuf>,
) -> RepositoryInterpreter {
    if let Some(named) = named {
        return RepositoryInterpreter { python: named.to_owned(), reason: "--python".into() };
    }
    let candidates = repository_environments(repository, &variable)
        .into_iter()
        .chain(poetry(repository, &variable))
        .chain(activated_environments(repository, &variable));
    for (directory, reason) in candidates {
        let python = directory.join("bin/python");
        if python.is_file()
            && let Some(python) =
                std::path::absolute(&python).ok().and_then(|path| path.to_str().map(str::to_owned))
        {
            return RepositoryInterpreter { python, reason };
        }
    }
    RepositoryInterpreter {
        python: "python3".into(),
        reason: "the repository has no environment of its own".into(),
    }
}

/// Virtual environments in the repository, created by venv, uv or conda.
fn repository_environments(
    repository: &Path,
    variable: &impl Fn(&str) -> Option<PathBuf>,
) -> Vec<(PathBuf, String)> {
    let mut found: Vec<(PathBuf, String)> = [".venv", "venv", "env", ".conda"]
        .into_iter()
        .map(|name| (repository.join(name), name.to_owned()))
        .filter(|(directory, _)| {
            directory.join("pyvenv.cfg").is_file() || directory.join("conda-meta").is_dir()
        })
        .collect();
    if repository.join("uv.lock").is_file()
        && let Some(directory) = variable("UV_PROJECT_ENVIRONMENT")
    {
        found.push((repository.join(directory), "UV_PROJECT_ENVIRONMENT".into()));
    }
    found
}

/// Poetry stores environments outside the repository, by project name and hash. Running poetry would run its plugins
/// outside of any sandbox, so this reads its directory; if several environments match, none is chosen.
fn poetry(repository: &Path, variable: &impl Fn(&str) -> Option<PathBuf>) -> Option<(PathBuf, String)> {
    let project = std::fs::read_to_string(repository.join("pyproject.toml")).ok()?;
    let project: toml::Table = project.parse().ok()?;
    let of_poetry = project.get("tool").and_then(|tools| tools.get("poetry"));
    if of_poetry.is_none() && !repository.join("poetry.lock").is_file() {
        return None;
    }
    let name_in = |table: Option<&toml::Value>| Some(table?.get("name")?.as_str()?.to_lowercase());
    let name = name_in(project.get("project")).or_else(|| name_in(of_poetry))?;
    let cache = variable("POETRY_CACHE_DIR")
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("pypoetry")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/pypoetry")))?;
    let prefix = format!("{}-", name.replace(['_', '.'], "-"));
    let mut fitting = std::fs::read_dir(cache.join("virtualenvs")).ok()?.flatten().filter(|entry| {
        let directory = entry.file_name().to_string_lossy().to_lowercase();
        // <name>-<eight characters>-py3.11
        directory
            .strip_prefix(&prefix)
            .is_some_and(|rest| rest.split("-py").next().is_some_and(|hash| hash.len() == 8))
    });
    match (fitting.next(), fitting.next()) {
        (Some(only), None) => Some((only.path(), "poetry".into())),
        _ => None,
    }
}

/// Environments that the user has activated.
fn activated_environments(
    repository: &Path,
    variable: &impl Fn(&str) -> Option<PathBuf>,
) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    found.extend(variable("VIRTUAL_ENV").map(|directory| (directory, "VIRTUAL_ENV".to_owned())));
    let wants_conda =
        ["environment.yml", "environment.yaml"].iter().any(|name| repository.join(name).is_file());
    if wants_conda {
        found.extend(variable("CONDA_PREFIX").map(|directory| (directory, "CONDA_PREFIX".to_owned())));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(root: &Path, directory: &str, marker: &str) {
        let directory = root.join(directory);
        std::fs::create_dir_all(directory.join("bin")).unwrap();
        std::fs::write(directory.join("bin/python"), "").unwrap();
        if marker.ends_with('/') {
            std::fs::create_dir_all(directory.join(marker)).unwrap();
        } else {
            std::fs::write(directory.join(marker), "").unwrap();
        }
    }

    fn found(root: &Path, variables: &[(&str, &Path)]) -> String {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_path_buf())
        };
        find_interpreter(root, None, variable).reason
    }

    #[test]
    fn the_environment_in_the_repository_comes_first() {
        let root = tempfile::tempdir().unwrap();
        let active = tempfile::tempdir().unwrap();
        make(active.path(), ".", "pyvenv.cfg");
        assert!(found(root.path(), &[]).contains("no environment"));
        assert_eq!(found(root.path(), &[("VIRTUAL_ENV", active.path())]), "VIRTUAL_ENV");
        // The name of a directory alone does not make it an environment.
        std::fs::create_dir(root.path().join("env")).unwrap();
        assert_eq!(found(root.path(), &[("VIRTUAL_ENV", active.path())]), "VIRTUAL_ENV");
        make(root.path(), ".conda", "conda-meta/");
        assert_eq!(found(root.path(), &[("VIRTUAL_ENV", active.path())]), ".conda");
        make(root.path(), "venv", "pyvenv.cfg");
        assert_eq!(found(root.path(), &[]), "venv");
        make(root.path(), ".venv", "pyvenv.cfg");
        assert_eq!(found(root.path(), &[]), ".venv");
        assert_eq!(find_interpreter(root.path(), Some("/opt/python"), |_| None).python, "/opt/python");
    }

    #[test]
    fn a_poetry_environment_is_chosen_only_if_one_matches() {
        let root = tempfile::tempdir().unwrap();
        let cache = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("pyproject.toml"), "[tool.poetry]\nname = \"My_Shop\"\n").unwrap();
        make(cache.path(), "virtualenvs/other-aBcDeFgH-py3.11", "pyvenv.cfg");
        assert!(found(root.path(), &[("POETRY_CACHE_DIR", cache.path())]).contains("no environment"));
        make(cache.path(), "virtualenvs/my-shop-aBcDeFgH-py3.11", "pyvenv.cfg");
        assert_eq!(found(root.path(), &[("POETRY_CACHE_DIR", cache.path())]), "poetry");
        make(cache.path(), "virtualenvs/my-shop-zzzzzzzz-py3.12", "pyvenv.cfg");
        assert!(found(root.path(), &[("POETRY_CACHE_DIR", cache.path())]).contains("no environment"));
    }

    #[test]
    fn conda_needs_an_environment_file_in_the_repository() {
        let root = tempfile::tempdir().unwrap();
        let conda = tempfile::tempdir().unwrap();
        make(conda.path(), ".", "conda-meta/");
        assert!(found(root.path(), &[("CONDA_PREFIX", conda.path())]).contains("no environment"));
        std::fs::write(root.path().join("environment.yml"), "").unwrap();
        assert_eq!(found(root.path(), &[("CONDA_PREFIX", conda.path())]), "CONDA_PREFIX");
    }
}
