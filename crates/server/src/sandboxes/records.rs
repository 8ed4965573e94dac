//! What is written down of sandboxes that outlive the process that holds them, so that the next one knows them.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use menace_model::sandbox::SandboxSpec;
use serde::{Deserialize, Serialize};

use super::entry::Changing;
use super::wanted::{BackendName, CreateSandbox};

/// A sandbox as it is written down.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) version: u32,
    pub(super) id: String,
    pub(super) backend: BackendName,
    pub(super) owner: Option<String>,
    pub(super) created_ms: i64,
    pub(super) wanted: CreateSandbox,
    pub(super) spec: SandboxSpec,
    /// What has changed since it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) now: Option<Changing>,
}

/// Where they are: a file for each.
#[derive(Debug, Clone)]
pub struct Records {
    directory: PathBuf,
}

impl Records {
    /// In a directory, which is made when it is needed.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    fn path(&self, id: &str) -> PathBuf {
        self.directory.join(format!("{id}.json"))
    }

    /// Writes one down, as a whole or not at all.
    pub(super) fn write(&self, record: &Record) -> io::Result<()> {
        fs::create_dir_all(&self.directory)?;
        let new = self.directory.join(format!(".{}.new", record.id));
        let mut file = fs::File::create(&new)?;
        file.write_all(&serde_json::to_vec_pretty(record)?)?;
        file.sync_all()?;
        fs::rename(new, self.path(&record.id))
    }

    /// Writes down what has changed of one. One that was never written down, because it does not outlive this process, is not now.
    pub(super) fn change(&self, id: &str, now: Changing) -> io::Result<()> {
        let bytes = match fs::read(self.path(id)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            bytes => bytes?,
        };
        let mut record: Record = serde_json::from_slice(&bytes)?;
        record.spec.limits.clone_from(&now.limits);
        record.now = Some(now);
        self.write(&record)
    }

    /// The ids of all of them, also of those that cannot be understood.
    pub fn ids(&self) -> io::Result<BTreeSet<String>> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            entries => entries?,
        };
        let mut ids = BTreeSet::new();
        for entry in entries {
            let name = entry?.file_name();
            ids.extend(name.to_str().and_then(|name| name.strip_suffix(".json")).map(str::to_owned));
        }
        Ok(ids)
    }

    /// Forgets one.
    pub(super) fn forget(&self, id: &str) {
        match fs::remove_file(self.path(id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!("{} cannot be removed: {error}", self.path(id).display());
            }
            _ => {}
        }
    }

    /// All of them. One that cannot be understood stays where it is.
    pub(super) fn all(&self) -> Vec<Record> {
        let Ok(entries) = fs::read_dir(&self.directory) else { return Vec::new() };
        let paths = entries.flatten().map(|entry| entry.path());
        let mut records = Vec::new();
        for path in paths.filter(|path| path.extension().is_some_and(|extension| extension == "json")) {
            match fs::read(&path).and_then(|bytes| Ok(serde_json::from_slice(&bytes)?)) {
                Ok(record) => records.push(record),
                Err(error) => tracing::warn!("{} cannot be understood: {error}", path.display()),
            }
        }
        records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_down_is_known_again() {
        let directory = tempfile::tempdir().unwrap();
        let records = Records::new(directory.path().join("sandboxes"));
        assert!(records.all().is_empty());
        let text = r#"{"project_name": "p", "memory_limit": "64m", "cpu_limit": "0.5", "ttl": "90s", "user": "7:8",
            "network": "deny", "labels": {"a": "b"}, "ports": [80]}"#;
        let wanted: CreateSandbox = serde_json::from_str(text).unwrap();
        let spec = wanted.spec();
        let record = Record {
            version: 1,
            id: "sb-1".into(),
            backend: BackendName::Docker,
            owner: None,
            created_ms: 5,
            wanted,
            spec,
            now: None,
        };
        records.write(&record).unwrap();
        fs::write(directory.path().join("sandboxes/bad.json"), "{").unwrap();
        let [read] = &records.all()[..] else { panic!("one is whole") };
        assert_eq!((&read.id, &read.spec), (&record.id, &record.spec));
        assert_eq!(read.wanted.ttl, record.wanted.ttl);
        let ids = ["bad", "sb-1"].map(str::to_owned);
        assert_eq!(records.ids().unwrap(), ids.into(), "nobody knows whose the other one is, so it counts");
        records.forget("sb-1");
        assert!(records.all().is_empty());
    }
}
