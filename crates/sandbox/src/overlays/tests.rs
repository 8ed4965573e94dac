//! With real directories.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{OverlayError, OverlayOptions, Overlays, Which};

struct Place {
    directory: tempfile::TempDir,
    overlays: Overlays,
}

fn place(most: usize) -> Place {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let options = OverlayOptions {
        directory: at("overlays"),
        active: at("active_overlays.json"),
        failed: at("failed_overlays.json"),
        max_age: Duration::from_hours(24),
        most,
    };
    Place { overlays: Overlays::new(options), directory }
}

impl Place {
    fn make(&self, name: &str) -> PathBuf {
        let path = self.overlays.make(name).unwrap();
        fs::create_dir(path.join("deep")).unwrap();
        fs::write(path.join("deep/disk.qcow2"), "bytes").unwrap();
        path
    }

    /// One that nobody uses any more, so many hours old.
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
fn only_what_is_old_and_used_by_nobody_goes() {
    let place = place(0);
    let (used, young, old) = (place.make("used"), place.stray("young", 1), place.stray("old", 30));
    set_age(&used, 30);
    let done = place.overlays.purge(Which::Old).unwrap();
    assert_eq!((done.removed, done.used, done.stray), (vec![old.clone()], 1, 1));
    assert!(used.join("deep/disk.qcow2").exists() && young.exists() && !old.exists());
    let all = place.overlays.purge(Which::All).unwrap();
    assert_eq!((all.removed, all.used), (vec![young], 1));
    assert!(place.overlays.remove(&used).unwrap() && !used.exists());
}

#[test]
fn what_has_no_marker_is_not_touched() {
    let place = place(0);
    let ours = place.stray("ours", 30);
    let directory = place.directory.path().join("overlays");
    fs::create_dir(directory.join("foreign")).unwrap();
    fs::write(directory.join("foreign/file"), "").unwrap();
    fs::write(directory.join("file"), "").unwrap();
    // A link to a directory that has one.
    let elsewhere = place.directory.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join(".menace-overlay"), "").unwrap();
    std::os::unix::fs::symlink(&elsewhere, directory.join("link")).unwrap();
    assert_eq!(place.overlays.purge(Which::All).unwrap().removed, [ours]);
    for path in ["foreign/file", "file", "link/.menace-overlay"] {
        assert!(directory.join(path).exists(), "{path}");
    }
    for path in [directory.join("foreign"), directory.join("link"), elsewhere] {
        assert!(matches!(place.overlays.remove(&path), Err(OverlayError::NotOurs { .. })), "{path:?}");
        assert!(matches!(place.overlays.register(&path), Err(OverlayError::NotOurs { .. })), "{path:?}");
    }
}

#[test]
fn of_too_many_the_oldest_go_and_those_in_use_stay() {
    let place = place(2);
    let (older, newer) = (place.stray("older", 3), place.stray("newer", 2));
    let used = place.make("used");
    assert!(!older.exists() && newer.exists());
    set_age(&used, 20);
    let second = place.make("second");
    assert!(!newer.exists() && used.exists());
    assert!(matches!(place.overlays.make("third"), Err(OverlayError::Full { most: 2 })));
    assert!(second.exists());
}

#[test]
fn one_whose_user_is_gone_is_used_by_nobody() {
    let place = place(0);
    let path = place.make("left");
    set_age(&path, 30);
    let list = place.directory.path().join("active_overlays.json");
    let text = fs::read_to_string(&list).unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    if fs::read_to_string("/etc/machine-id").unwrap_or_default().trim().is_empty() {
        // Nobody can tell here, and so it stays.
        assert_eq!(place.overlays.purge(Which::Old).unwrap().used, 1);
        return;
    }
    fs::write(&list, text.replace(boot.trim(), "an-earlier-boot")).unwrap();
    assert_eq!(place.overlays.look().unwrap().stray, 1);
    assert_eq!(place.overlays.purge(Which::Old).unwrap().removed, [path]);
    assert!(!fs::read_to_string(&list).unwrap().contains("left"));
}

#[test]
fn what_cannot_be_removed_is_written_down_and_tried_again() {
    let place = place(0);
    let path = place.stray("stuck", 30);
    fs::set_permissions(place.directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
    for file in fs::read_dir(place.directory.path()).unwrap().flatten() {
        if file.file_type().unwrap().is_file() {
            fs::set_permissions(file.path(), fs::Permissions::from_mode(0o666)).unwrap();
        }
    }
    // A directory that nobody may write to stops its owner, but not root; so this is done as nobody.
    fs::set_permissions(path.join("deep"), fs::Permissions::from_mode(0o555)).unwrap();
    let overlays = place.overlays.clone();
    let purging = std::thread::spawn(move || {
        // SAFETY: it changes how this one thread, which ends after this, is seen by file systems.
        unsafe { libc::setfsuid(65534) };
        overlays.purge(Which::Old).unwrap()
    });
    let done = purging.join().unwrap();
    assert_eq!(done.failed.len(), 1, "{done:?}");
    assert!(
        place.failed().contains("stuck") && place.failed().contains("\"attempts\": 1"),
        "{}",
        place.failed()
    );
    fs::set_permissions(path.join("deep"), fs::Permissions::from_mode(0o755)).unwrap();
    set_age(&path, 0);
    assert_eq!(place.overlays.purge(Which::Old).unwrap().removed, [path], "it was to go before");
    assert!(!place.failed().contains("stuck"), "{}", place.failed());
}

#[test]
fn where_nothing_was_nothing_is_made() {
    let place = place(0);
    assert_eq!(place.overlays.purge(Which::Old).unwrap(), super::Purged::default());
    assert_eq!(fs::read_dir(place.directory.path()).unwrap().count(), 0);
}
