//! Records of sandboxes that outlive the sandbox daemon, so that the next daemon can adopt them.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use menace_model::sandbox::SandboxSpec;
use serde::{Deserialize, Serialize};

use super::entry::MutableSandboxState;
use super::requests::{BackendName, CreateSandboxRequest};

/// Record of a sandbox.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct SandboxRecord {
    pub(super) version: u32,
    pub(super) id: String,
    pub(super) backend: BackendName,
    pub(super) owner: Option<String>,
    pub(super) created_ms: i64,
    pub(super) wanted: CreateSandboxRequest,
    pub(super) spec: SandboxSpec,
    /// Changes since creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) now: Option<MutableSandboxState>,
}

/// Directory of records, one file each.
#[derive(Debug, Clone)]
pub struct SandboxRecords {
    directory: PathBuf,
}

impl SandboxRecords {
    /// Records in a directory, which is created on first use.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    fn path(&self, id: &str) -> PathBuf {
        self.directory.join(format!("{id}.json"))
    }

    /// Writes a record atomically.
    pub(super) fn write(&self, record: &SandboxRecord) -> io::Result<()> {
        fs::create_dir_all(&self.directory)?;
        let new = self.directory.join(format!(".{}.new", record.id));
        let mut file = fs::File::create(&new)?;
        file.write_all(&serde_json::to_vec_pretty(record)?)?;
        file.sync_all()?;
        fs::rename(new, self.path(&record.id))
    }

    /// Updates a record. Sandboxes that do not outlive this process have none, and none is created.
    pub(super) fn change(&self, id: &str, now: MutableSandboxState) -> io::Result<()> {
        let bytes = match fs::read(self.path(id)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            bytes => bytes?,
        };
        let mut record: SandboxRecord = serde_json::from_slice(&bytes)?;
        record.spec.limits.clone_from(&now.limits);
        record.now = Some(now);
        self.write(&record)
    }

    /// Ids of all records, including those that cannot be parsed.
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

    /// Deletes a record.
    pub(super) fn forget(&self, id: &str) {
        match fs::remove_file(self.path(id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!("failed to remove {}: {error}", self.path(id).display());
            }
            _ => {}
        }
    }

    /// All records. Files that cannot be parsed are skipped and kept.
    pub(super) fn all(&self) -> Vec<SandboxRecord> {
        let Ok(entries) = fs::read_dir(&self.directory) else { return Vec::new() };
        let paths = entries.flatten().map(|entry| entry.path());
        let mut records = Vec::new();
        for path in paths.filter(|path| path.extension().is_some_and(|extension| extension == "json")) {
            match fs::read(&path).and_then(|bytes| Ok(serde_json::from_slice(&bytes)?)) {
                Ok(record) => records.push(record),
                Err(error) => tracing::warn!("failed to parse {}: {error}", path.display()),
            }
        }
        records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_a_round_trip() {
        let directory = tempfile::tempdir().unwrap();
        let records = SandboxRecords::new(directory.path().join("sandboxes"));
        assert!(records.all().is_empty());
        let text = r#"{"project_name": "p", "memory_limit": "64m", "cpu_limit": "0.5", "ttl": "90s", "user": "7:8",
            "network": "deny", "labels": {"a": "b"}, "ports": [80]}"#;
        let wanted: CreateSandboxRequest = serde_json::from_str(text).unwrap();
        let spec = wanted.spec();
        let record = SandboxRecord {
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
        let [read] = &records.all()[..] else { panic!("exactly one record is valid") };
        assert_eq!((&read.id, &read.spec), (&record.id, &record.spec));
        assert_eq!(read.wanted.ttl, record.wanted.ttl);
        let ids = ["bad", "sb-1"].map(str::to_owned);
        assert_eq!(
            records.ids().unwrap(),
            ids.into(),
            "unparsable records count, because their sandbox may exist"
        );
        records.forget("sb-1");
        assert!(records.all().is_empty());
    }
}
