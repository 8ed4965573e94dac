//! Freezing and thawing all processes of a group, which they do not notice.

use std::time::Duration;

use menace_model::sandbox::ResourceController;

use super::discover::{CgroupVersion, v1_name};
use super::error::CgroupError;
use super::group::{CgroupDirectory, ControlGroup, lock};
use super::{files, kill};

/// Time that the kernel may take to freeze all processes; one that waits for a device freezes only afterwards.
const PATIENCE: Duration = Duration::from_secs(2);

impl ControlGroup {
    /// Freezes every process and waits until all are frozen. If that takes too long, they are thawed and it is an
    /// error. A process that joins later is frozen if its descriptors were opened after this.
    pub(crate) fn freeze(&self) -> Result<(), CgroupError> {
        let stopped = self.stop_all().and_then(|freezer| wait(&freezer, FreezerState::Frozen, PATIENCE));
        if stopped.is_err() {
            self.thaw()?;
        }
        stopped
    }

    /// Thaws the processes. Does nothing in a group that was never frozen.
    pub(crate) fn thaw(&self) -> Result<(), CgroupError> {
        let added = lock(&self.freezer).clone();
        match added.as_ref().or(self.directory_of(ResourceController::Freezer)) {
            Some(directory) => {
                request_state(directory, FreezerState::Thawed)?;
                wait(directory, FreezerState::Thawed, PATIENCE)
            }
            None => Ok(()),
        }
    }

    /// Requests freezing of every process, without waiting for it, and returns the directory of the freezer.
    fn stop_all(&self) -> Result<CgroupDirectory, CgroupError> {
        if let Some(directory) = self.directory_of(ResourceController::Freezer) {
            request_state(directory, FreezerState::Frozen)?;
            return Ok(directory.clone());
        }
        let hierarchy = self.owner.hierarchy_of(ResourceController::Freezer).map_err(|reason| {
            CgroupError::ControllerUnavailable {
                controller: v1_name(ResourceController::Freezer),
                reason: reason.to_owned(),
            }
        })?;
        let mut added = lock(&self.freezer);
        let freezer = match &*added {
            Some(directory) => directory.clone(),
            None => added.insert(self.owner.make_group(hierarchy, self.id())?).clone(),
        };
        // A process that joins a frozen group is frozen there, so fewer and fewer are left that can fork.
        request_state(&freezer, FreezerState::Frozen)?;
        self.move_all_into(&freezer)?;
        Ok(freezer)
    }

    /// Moves every process. One that forks while it is moved leaves a child behind, hence the repetition; children of a
    /// moved process are born in the freezer.
    fn move_all_into(&self, freezer: &CgroupDirectory) -> Result<(), CgroupError> {
        let target = freezer.path.join("cgroup.procs");
        let members = self.directories.first().expect("a group has at least one directory");
        let settled = files::poll(PATIENCE, || {
            let inside = kill::processes(&freezer.path)?;
            let outside: Vec<i32> =
                kill::processes(&members.path)?.into_iter().filter(|pid| !inside.contains(pid)).collect();
            for pid in &outside {
                match files::write(&target, &pid.to_string()) {
                    Err(CgroupError::Write { source, .. }) if kill::is_gone(&source) => {}
                    other => other?,
                }
            }
            Ok(outside.is_empty())
        })?;
        if settled {
            return Ok(());
        }
        Err(CgroupError::Freeze {
            path: freezer.path.clone(),
            state: "still missing processes".to_owned(),
            waited: PATIENCE,
        })
    }
}

/// Requested state of a freezer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FreezerState {
    Frozen,
    Thawed,
}

/// File that sets the state of a freezer.
pub(super) fn state_file(version: CgroupVersion) -> &'static str {
    match version {
        CgroupVersion::V1 => "freezer.state",
        CgroupVersion::V2 => "cgroup.freeze",
    }
}

/// Sets the state of a freezer, which takes effect a moment later.
pub(super) fn request_state(directory: &CgroupDirectory, state: FreezerState) -> Result<(), CgroupError> {
    let value = match (directory.version, state) {
        (CgroupVersion::V1, FreezerState::Frozen) => "FROZEN",
        (CgroupVersion::V1, FreezerState::Thawed) => "THAWED",
        (CgroupVersion::V2, FreezerState::Frozen) => "1",
        (CgroupVersion::V2, FreezerState::Thawed) => "0",
    };
    files::write(&directory.path.join(state_file(directory.version)), value)
}

/// Waits until a freezer has the requested state.
pub(super) fn wait(
    directory: &CgroupDirectory,
    state: FreezerState,
    patience: Duration,
) -> Result<(), CgroupError> {
    let (file, wanted) = match (directory.version, state) {
        (CgroupVersion::V1, FreezerState::Frozen) => ("freezer.state", "FROZEN"),
        (CgroupVersion::V1, FreezerState::Thawed) => ("freezer.state", "THAWED"),
        (CgroupVersion::V2, FreezerState::Frozen) => ("cgroup.events", "frozen 1"),
        (CgroupVersion::V2, FreezerState::Thawed) => ("cgroup.events", "frozen 0"),
    };
    let path = directory.path.join(file);
    let mut last = String::new();
    let reached = files::poll(patience, || {
        last = files::read(&path)?;
        Ok(last.lines().any(|line| line == wanted))
    })?;
    if reached {
        return Ok(());
    }
    let state = last.trim().replace('\n', ", ");
    Err(CgroupError::Freeze { path: directory.path.clone(), state, waited: patience })
}
