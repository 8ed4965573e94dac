//! History files. Changes are made under a file lock, so that concurrent runs do not lose measurements.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::FileContext;
use crate::{AppError, RequestError};
use menace_analysis::write_atomically;
use menace_tracker::history::{RoiHistory, read};
use serde::Serialize;

/// Reads a history from a file, or from a directory with `roi_history.json` or `sandbox_data/roi_history.json`.
pub fn load_history(path: &Path) -> Result<RoiHistory, AppError> {
    let file = in_directory(path);
    let text = std::fs::read_to_string(&file).map_err(|error| wrong(&file, &error.to_string()))?;
    read(&text).map_err(|error| wrong(&file, &error.to_string()).into())
}

fn wrong(path: &Path, problem: &str) -> RequestError {
    RequestError::History { path: path.to_owned(), problem: problem.to_owned() }
}

fn in_directory(path: &Path) -> PathBuf {
    if !path.is_dir() {
        return path.to_owned();
    }
    let nested = path.join("sandbox_data/roi_history.json");
    if nested.is_file() { nested } else { path.join("roi_history.json") }
}

/// The history of a directory; an empty one if it is missing, unreadable or of another repository.
pub fn read_history_or_empty(directory: &Path, repository: &str) -> RoiHistory {
    let text = std::fs::read_to_string(directory.join("roi_history.json")).unwrap_or_default();
    let is_ours =
        |history: &RoiHistory| history.repository.as_deref().is_none_or(|known| known == repository);
    // Problems are reported by `with_history`, before the file is changed.
    read(&text).ok().filter(is_ours).unwrap_or_default()
}

/// Changes the history of a directory. A file that cannot be used is renamed, with a warning.
pub(crate) fn with_history<T>(
    directory: &Path,
    repository: &str,
    change: impl FnOnce(&mut RoiHistory) -> Result<T, AppError>,
) -> Result<T, AppError> {
    let path = directory.join("roi_history.json");
    let _lock = lock(&path)?;
    let mut history = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => RoiHistory::default(),
        Err(error) => return Err(error).file("read", &path),
        Ok(text) => match read(&text) {
            Ok(history) if history.repository.as_deref().is_none_or(|known| known == repository) => history,
            Ok(history) => {
                let other = history.repository.unwrap_or_default();
                move_aside(&path, &format!("belongs to {other}"))?;
                RoiHistory::default()
            }
            Err(error) => {
                move_aside(&path, &format!("is unreadable: {error}"))?;
                RoiHistory::default()
            }
        },
    };
    history.repository = Some(repository.to_owned());
    let result = change(&mut history)?;
    let mut text = serde_json::to_vec(&history)?;
    text.push(b'\n');
    write_atomically(&path, &text).file("write", &path)?;
    Ok(result)
}

/// Holds the lock of a file until it is dropped.
pub fn lock(path: &Path) -> Result<File, AppError> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).file("create", parent)?;
    }
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let opened = File::options().create(true).truncate(false).write(true).open(&name);
    opened.and_then(|file| file.lock().map(|()| file)).file("lock", Path::new(&name))
}

fn move_aside(path: &Path, why: &str) -> Result<(), AppError> {
    let free = (1..1_000_u32)
        .map(|number| path.with_extension(format!("json.{number}")))
        .find(|name| !name.exists());
    let aside = free.ok_or_else(|| AppError::ForeignFile {
        path: path.to_owned(),
        problem: "there are already 999 renamed histories beside it".to_owned(),
    })?;
    std::fs::rename(path, &aside).file("rename", path)?;
    tracing::warn!("{} {why}; renamed to {}", path.display(), aside.display());
    Ok(())
}

/// Adds a line of JSON to a file.
pub fn append_line(path: &Path, line: &impl Serialize) -> Result<(), AppError> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).file("create", parent)?;
    }
    let opened = File::options().create(true).append(true).open(path);
    opened.and_then(|mut file| file.write_all(&text)).file("write", path)
}
