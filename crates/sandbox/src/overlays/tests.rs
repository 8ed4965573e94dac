//! Overlay tests with real directories.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{OverlayError, OverlayOptions, OverlayPurgeScope, OverlayRegistry};

struct OverlayFixture {
    directory: tempfile::TempDir,
    overlays: OverlayRegistry,
}

fn fixture(most: usize) -> OverlayFixture {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let options = OverlayOptions {
        directory: at("overlays"),
        active: at("active_overlays.json"),
        failed: at("failed_overlays.json"),
        max_age: Duration::from_hours(24),
        most,
    };
    OverlayFixture { overlays: OverlayRegistry::new(options), directory }
}

impl OverlayFixture {
    fn make(&self, name: &str) -> PathBuf {
        let path = self.overlays.make(name).unwrap();
        fs::create_dir(path.join("deep")).unwrap();
        fs::write(path.join("deep/disk.qcow2"), "bytes").unwrap();
        path
    }

    /// Creates an unused overlay of the given age in hours.
    fn stray(&self, name: &str, hours: u64) -> PathBuf {
        let path = self.make(name);
        self.overlays.unregister(&path).unwrap();
        set_age(&path, hours);
        path
    }

    fn failed(&self) -> String {
        fs::read_to_string(self.directory.path().join("failed_overlays.json")).unwrap_or_default()
    }
}

fn set_age(path: &Path, hours: u64) {
    let marker = fs::File::options().write(true).open(path.join(".menace-overlay")).unwrap();
    marker.set_modified(SystemTime::now() - Duration::from_hours(hours)).unwrap();
}

#[test]
fn only_old_unused_overlays_are_purged() {
    let fixture = fixture(0);
    let (used, young, old) = (fixture.make("used"), fixture.stray("young", 1), fixture.stray("old", 30));
    set_age(&used, 30);
    let done = fixture.overlays.purge(OverlayPurgeScope::Old).unwrap();
    assert_eq!((done.removed, done.used, done.stray), (vec![old.clone()], 1, 1));
    assert!(used.join("deep/disk.qcow2").exists() && young.exists() && !old.exists());
    let all = fixture.overlays.purge(OverlayPurgeScope::All).unwrap();
    assert_eq!((all.removed, all.used), (vec![young], 1));
    assert!(fixture.overlays.remove(&used).unwrap() && !used.exists());
}

#[test]
fn directories_without_marker_are_not_touched() {
    let fixture = fixture(0);
    let ours = fixture.stray("ours", 30);
    let directory = fixture.directory.path().join("overlays");
    fs::create_dir(directory.join("foreign")).unwrap();
    fs::write(directory.join("foreign/file"), "").unwrap();
    fs::write(directory.join("file"), "").unwrap();
    // A link to a directory that has a marker.
    let elsewhere = fixture.directory.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join(".menace-overlay"), "").unwrap();
    std::os::unix::fs::symlink(&elsewhere, directory.join("link")).unwrap();
    assert_eq!(fixture.overlays.purge(OverlayPurgeScope::All).unwrap().removed, [ours]);
    for path in ["foreign/file", "file", "link/.menace-overlay"] {
        assert!(directory.join(path).exists(), "{path}");
    }
    for path in [directory.join("foreign"), directory.join("link"), elsewhere] {
        assert!(matches!(fixture.overlays.remove(&path), Err(OverlayError::NotOurs { .. })), "{path:?}");
        assert!(matches!(fixture.overlays.register(&path), Err(OverlayError::NotOurs { .. })), "{path:?}");
    }
}

#[test]
fn over_the_limit_the_oldest_unused_overlays_are_removed() {
    let fixture = fixture(2);
    let (older, newer) = (fixture.stray("older", 3), fixture.stray("newer", 2));
    let used = fixture.make("used");
    assert!(!older.exists() && newer.exists());
    set_age(&used, 20);
    let second = fixture.make("second");
    assert!(!newer.exists() && used.exists());
    assert!(matches!(fixture.overlays.make("third"), Err(OverlayError::Full { most: 2 })));
    assert!(second.exists());
}

#[test]
fn an_overlay_of_an_ended_process_is_unused() {
    let fixture = fixture(0);
    let path = fixture.make("left");
    set_age(&path, 30);
    let list = fixture.directory.path().join("active_overlays.json");
    let text = fs::read_to_string(&list).unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    if fs::read_to_string("/etc/machine-id").unwrap_or_default().trim().is_empty() {
        // Without a machine id the process cannot be checked, so the overlay stays.
        assert_eq!(fixture.overlays.purge(OverlayPurgeScope::Old).unwrap().used, 1);
        return;
    }
    fs::write(&list, text.replace(boot.trim(), "an-earlier-boot")).unwrap();
    assert_eq!(fixture.overlays.count().unwrap().stray, 1);
    assert_eq!(fixture.overlays.purge(OverlayPurgeScope::Old).unwrap().removed, [path]);
    assert!(!fs::read_to_string(&list).unwrap().contains("left"));
}

#[test]
fn a_failed_removal_is_recorded_and_retried() {
    let fixture = fixture(0);
    let path = fixture.stray("stuck", 30);
    fs::set_permissions(fixture.directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
    for file in fs::read_dir(fixture.directory.path()).unwrap().flatten() {
        if file.file_type().unwrap().is_file() {
            fs::set_permissions(file.path(), fs::Permissions::from_mode(0o666)).unwrap();
        }
    }
    // A read-only directory stops its owner, but not root; so this runs with an unprivileged file system uid (65534).
    fs::set_permissions(path.join("deep"), fs::Permissions::from_mode(0o555)).unwrap();
    let overlays = fixture.overlays.clone();
    let purging = std::thread::spawn(move || {
        // SAFETY: setfsuid changes only the file system identity of the calling thread, which ends after this.
        unsafe { libc::setfsuid(65534) };
        overlays.purge(OverlayPurgeScope::Old).unwrap()
    });
    let done = purging.join().unwrap();
    assert_eq!(done.failed.len(), 1, "{done:?}");
    assert!(
        fixture.failed().contains("stuck") && fixture.failed().contains("\"attempts\": 1"),
        "{}",
        fixture.failed()
    );
    fs::set_permissions(path.join("deep"), fs::Permissions::from_mode(0o755)).unwrap();
    set_age(&path, 0);
    assert_eq!(
        fixture.overlays.purge(OverlayPurgeScope::Old).unwrap().removed,
        [path],
        "its removal had failed before"
    );
    assert!(!fixture.failed().contains("stuck"), "{}", fixture.failed());
}

#[test]
fn purging_a_missing_directory_creates_nothing() {
    let fixture = fixture(0);
    assert_eq!(fixture.overlays.purge(OverlayPurgeScope::Old).unwrap(), super::OverlayPurgeReport::default());
    assert_eq!(fs::read_dir(fixture.directory.path()).unwrap().count(), 0);
}
