//! Mount points of control group hierarchies, and this process's group in each, read from `/proc`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

/// Mounted hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CgroupMount {
    pub(super) kind: CgroupMountKind,
    /// Group that is visible at the mount point.
    pub(super) root: PathBuf,
    pub(super) point: PathBuf,
    pub(super) read_only: bool,
}

/// Cgroup version of a mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CgroupMountKind {
    /// With the mount options, among them the controllers that are mounted together.
    V1(Vec<String>),
    V2,
}

/// Parses the mounted hierarchies from the text of `/proc/self/mountinfo`.
pub(super) fn mounts(mountinfo: &str) -> Vec<CgroupMount> {
    mountinfo.lines().filter_map(mount).collect()
}

/// Parses the group of this process in a hierarchy from the text of `/proc/self/cgroup`.
pub(super) fn own_group(own_groups: &str, kind: &CgroupMountKind) -> Option<PathBuf> {
    own_groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let same = match kind {
            CgroupMountKind::V1(mounted) => {
                controllers.split(',').any(|name| mounted.iter().any(|has| has == name))
            }
            CgroupMountKind::V2 => controllers.is_empty(),
        };
        same.then(|| PathBuf::from(path))
    })
}

impl CgroupMount {
    /// Directory of a group below this mount, if it is visible there.
    pub(super) fn directory_of(&self, group: &Path) -> Option<PathBuf> {
        let inside = group.strip_prefix(&self.root).ok()?;
        // A group outside of our cgroup namespace is shown as `/../…`, which no path reaches.
        let plain = inside.components().all(|component| matches!(component, Component::Normal(_)));
        plain
            .then(|| if inside.as_os_str().is_empty() { self.point.clone() } else { self.point.join(inside) })
    }
}

/// Parses a line: `id parent device root point options [tags…] - type source super-options`.
fn mount(line: &str) -> Option<CgroupMount> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(3);
    let (root, point, options) = (before.next()?, before.next()?, before.next()?);
    let mut after = after.split(' ');
    let (kind, super_options) = (after.next()?, after.nth(1)?);
    let kind = match kind {
        "cgroup" => CgroupMountKind::V1(super_options.split(',').map(str::to_owned).collect()),
        "cgroup2" => CgroupMountKind::V2,
        _ => return None,
    };
    let read_only = [options, super_options].iter().any(|list| list.split(',').any(|option| option == "ro"));
    Some(CgroupMount { kind, root: unescape(root), point: unescape(point), read_only })
}

/// Decodes spaces, tabs, newlines and backslashes, which are escaped as a backslash and three octal digits.
fn unescape(path: &str) -> PathBuf {
    let bytes = path.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut position = 0;
    while position < bytes.len() {
        let octal =
            path.get(position + 1..position + 4).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match octal {
            Some(byte) if bytes[position] == b'\\' => {
                plain.push(byte);
                position += 4;
            }
            _ => {
                plain.push(bytes[position]);
                position += 1;
            }
        }
    }
    PathBuf::from(OsString::from_vec(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(line: &str) -> CgroupMount {
        let found = mounts(line);
        assert_eq!(found.len(), 1, "{line}");
        found[0].clone()
    }

    #[test]
    fn a_mount_with_tags_and_escapes_is_read() {
        let mount = only(
            "33 24 0:29 /docker/a\\040b /sys/fs/cgroup/cpu\\134x ro,nosuid master:11 shared:2 - cgroup cgroup rw,cpu,cpuacct",
        );
        assert_eq!(mount.root, Path::new("/docker/a b"));
        assert_eq!(mount.point, Path::new("/sys/fs/cgroup/cpu\\x"));
        assert!(mount.read_only);
        assert_eq!(mount.kind, CgroupMountKind::V1(vec!["rw".into(), "cpu".into(), "cpuacct".into()]));
    }

    #[test]
    fn other_file_systems_are_left_out() {
        assert!(mounts("31 23 0:28 / /sys/fs/cgroup rw - tmpfs cgroup rw,mode=755\nnonsense\n").is_empty());
    }

    #[test]
    fn own_groups_are_found_by_controller_and_version() {
        let text = "5:cpu,cpuacct:/a\n4:memory:/b:c\n1:name=systemd:/d\n0::/e\n";
        let v1 = |name: &str| CgroupMountKind::V1(vec!["rw".into(), name.into()]);
        assert_eq!(own_group(text, &v1("cpuacct")), Some("/a".into()));
        assert_eq!(own_group(text, &v1("memory")), Some("/b:c".into()));
        assert_eq!(own_group(text, &v1("pids")), None);
        assert_eq!(own_group(text, &CgroupMountKind::V2), Some("/e".into()));
    }

    #[test]
    fn a_group_is_visible_only_below_the_root_of_the_mount() {
        let mount = only("1 2 0:3 /docker/x /cg rw - cgroup2 cgroup2 rw");
        assert_eq!(mount.directory_of(Path::new("/docker/x")), Some("/cg".into()));
        assert_eq!(mount.directory_of(Path::new("/docker/x/y")), Some("/cg/y".into()));
        assert_eq!(mount.directory_of(Path::new("/docker/xy")), None);
        let mount = only("1 2 0:3 / /cg rw - cgroup2 cgroup2 rw");
        assert_eq!(mount.directory_of(Path::new("/../outside")), None);
    }
}
