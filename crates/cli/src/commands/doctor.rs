//! `menace doctor`: capabilities of this machine, their purpose, and how to get missing ones.

use std::path::{Path, PathBuf};
use std::process::Command;

use menace_sandbox::probe::{self, CapabilityGroup, CapabilityProbeResult};
use serde::Serialize;

use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{ColumnAlignment, TableCell, TextStyle, TextTable, print, print_json};

use menace_app::repository::cache_directory;

/// One capability that menace can use.
#[derive(Debug, Serialize)]
struct DoctorCheck {
    name: &'static str,
    group: &'static str,
    /// Whether menace itself or the native sandbox needs it.
    required: bool,
    present: bool,
    /// A version, a path, or an error.
    detail: String,
    purpose: &'static str,
    remedy: String,
}

/// Group of the checks of menace's own files.
const OWN_GROUP: &str = "menace";

/// The running program, even if its file was replaced since.
const OWN_EXECUTABLE: &str = "/proc/self/exe";

impl From<CapabilityProbeResult> for DoctorCheck {
    fn from(result: CapabilityProbeResult) -> Self {
        Self {
            name: result.name,
            group: result.group.name(),
            required: result.required,
            present: result.present,
            detail: result.detail,
            purpose: result.purpose,
            remedy: result.remedy,
        }
    }
}

pub(super) fn run(configuration: &Configuration, json: bool) -> anyhow::Result<MenaceExit> {
    let mut checks = vec![data_directory(&configuration.data_directory()), scan_cache(cache_directory())];
    checks.extend(probe::run(Path::new(OWN_EXECUTABLE)).into_iter().map(DoctorCheck::from));
    checks.push(git());
    let is_missing = checks.iter().any(|check| check.required && !check.present);
    if json {
        print_json(&checks)?;
    } else {
        print(&doctor_table(&checks))?;
    }
    Ok(if is_missing { MenaceExit::Found } else { MenaceExit::Done })
}

fn data_directory(path: &Path) -> DoctorCheck {
    let (present, detail) = writable(path);
    DoctorCheck {
        name: "data directory",
        group: OWN_GROUP,
        required: true,
        present,
        detail,
        purpose: "reports, histories and databases",
        remedy: "choose a writable directory with --data-dir or SANDBOX_DATA_DIR".to_owned(),
    }
}

fn scan_cache(path: Option<PathBuf>) -> DoctorCheck {
    let (present, detail) = match path {
        Some(path) => writable(&path),
        None => (false, "neither XDG_CACHE_HOME nor HOME is set".to_owned()),
    };
    DoctorCheck {
        name: "scan cache",
        group: OWN_GROUP,
        required: false,
        present,
        detail,
        purpose: "a second scan reads only what changed",
        remedy: "set XDG_CACHE_HOME to a writable directory".to_owned(),
    }
}

fn git() -> DoctorCheck {
    let version = Command::new("git").arg("--version").output();
    let (present, detail) = match version {
        Ok(output) if output.status.success() => (
            true,
            String::from_utf8_lossy(&output.stdout).trim().trim_start_matches("git version ").to_owned(),
        ),
        Ok(output) => (false, String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => (false, error.to_string()),
    };
    DoctorCheck {
        name: "git",
        group: CapabilityGroup::Tools.name(),
        required: false,
        present,
        detail,
        purpose: "churn in the risk index",
        remedy: "apt-get install git".to_owned(),
    }
}

/// Whether files can be created in a directory, or in its nearest existing ancestor.
fn writable(path: &Path) -> (bool, String) {
    let exists = |ancestor: &&Path| ancestor.as_os_str().is_empty() || ancestor.symlink_metadata().is_ok();
    let probed = match path.ancestors().find(exists) {
        Some(nearest) if !nearest.as_os_str().is_empty() => nearest,
        _ => Path::new("."),
    };
    if !probed.is_dir() {
        return (false, format!("{} is not a directory", probed.display()));
    }
    let probe = probed.join(format!(".menace-probe-{}", std::process::id()));
    match std::fs::File::create_new(&probe) {
        Ok(_) => {
            let removed = std::fs::remove_file(&probe);
            (removed.is_ok(), path.display().to_string())
        }
        Err(error) => (false, format!("{}: {error}", probed.display())),
    }
}

fn doctor_table(checks: &[DoctorCheck]) -> String {
    let mut table = TextTable::new(&[
        ("", ColumnAlignment::Left),
        ("capability", ColumnAlignment::Left),
        ("found", ColumnAlignment::Left),
        ("used for", ColumnAlignment::Left),
        ("how to get it", ColumnAlignment::Left),
    ]);
    for group in checks.chunk_by(|one, other| one.group == other.group) {
        table.row([TableCell::from(""), TableCell::styled(group[0].group, TextStyle::Bold)]);
        for check in group {
            table.row(row(check));
        }
    }
    table.text()
}

fn row(check: &DoctorCheck) -> [TableCell; 5] {
    let (mark, style) = match (check.present, check.required) {
        (true, _) => ("yes", TextStyle::Good),
        (false, true) => ("MISSING", TextStyle::Bad),
        (false, false) => ("no", TextStyle::Warning),
    };
    let remedy = if check.present { "" } else { &check.remedy };
    [
        TableCell::styled(mark, style),
        check.name.into(),
        check.detail.clone().into(),
        check.purpose.into(),
        remedy.into(),
    ]
}
