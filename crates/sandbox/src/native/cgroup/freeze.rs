//! Stopping all processes of a group and letting them go on, without their noticing.

use std::time::Duration;

use menace_model::sandbox::Controller;

use super::discover::{Version, v1_name};
use super::error::CgroupError;
use super::group::{Directory, Group, lock};
use super::{files, kill};

/// How long the kernel may take to stop all processes; one that waits for a device stops only afterwards.
const PATIENCE: Duration = Duration::from_secs(2);

impl Group {
    /// Stops every process and waits until all stand still. If that takes too long, they go on and it is an error. A
    /// process that joins later is stopped if its descriptors were opened after this.
    pub(crate) fn freeze(&self) -> Result<(), CgroupError> {
        let stopped = self.stop_all().and_then(|freezer| wait(&freezer, State::Frozen, PATIENCE));
        if stopped.is_err() {
            self.thaw()?;
        }
        stopped
    }

    /// Lets the processes go on. A group that was never stopped has nothing to do.
    pub(crate) fn thaw(&self) -> Result<(), CgroupError> {
        let added = lock(&self.freezer).clone();
        match added.as_ref().or(self.directory_of(Controller::Freezer)) {
            Some(directory) => {
                tell(directory, State::Thawed)?;
                wait(directory, State::Thawed, PATIENCE)
            }
            None => Ok(()),
        }
    }

    /// Tells every process to stop, without waiting for it, and says where they are for that.
    fn stop_all(&self) -> Result<Directory, CgroupError> {
        if let Some(directory) = self.directory_of(Controller::Freezer) {
            tell(directory, State::Frozen)?;
            return Ok(directory.clone());
        }
        let hierarchy = self.owner.hierarchy_of(Controller::Freezer).map_err(|reason| {
            CgroupError::ControllerUnavailable {
                controller: v1_name(Controller::Freezer),
                reason: reason.to_owned(),
            }
        })?;
        let mut added = lock(&self.freezer);
        let freezer = match &*added {
            Some(directory) => directory.clone(),
            None => added.insert(self.owner.make_group(hierarchy, self.id())?).clone(),
        };
        // A process that comes into a frozen group stops there, so fewer and fewer are left that can fork.
        tell(&freezer, State::Frozen)?;
        self.move_all_into(&freezer)?;
        Ok(freezer)
    }

    /// Moves every process. One that forks while it is moved leaves a child behind, hence the repetition; a process
    /// that was moved has its children where it is.
    fn move_all_into(&self, freezer: &Directory) -> Result<(), CgroupError> {
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

/// What a freezer can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Frozen,
    Thawed,
}

/// Where a freezer is told a state.
pub(super) fn state_file(version: Version) -> &'static str {
    match version {
        Version::V1 => "freezer.state",
        Version::V2 => "cgroup.freeze",
    }
}

/// Tells a freezer a state, which it has a moment later.
pub(super) fn tell(directory: &Directory, state: State) -> Result<(), CgroupError> {
    let value = match (directory.version, state) {
        (Version::V1, State::Frozen) => "FROZEN",
        (Version::V1, State::Thawed) => "THAWED",
        (Version::V2, State::Frozen) => "1",
        (Version::V2, State::Thawed) => "0",
    };
    files::write(&directory.path.join(state_file(directory.version)), value)
}

/// Waits until a freezer has the state that it was told.
pub(super) fn wait(directory: &Directory, state: State, patience: Duration) -> Result<(), CgroupError> {
    let (file, wanted) = match (directory.version, state) {
        (Version::V1, State::Frozen) => ("freezer.state", "FROZEN"),
        (Version::V1, State::Thawed) => ("freezer.state", "THAWED"),
        (Version::V2, State::Frozen) => ("cgroup.events", "frozen 1"),
        (Version::V2, State::Thawed) => ("cgroup.events", "frozen 0"),
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
