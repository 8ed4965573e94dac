//! Entry into a new user namespace, and diagnosis of the setting that denies it.

use std::fs;
use std::path::Path;

use rustix::io::Errno;
use rustix::process::{chroot, getegid, geteuid};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::failure::{ProbeFailure, step_failed, syscall_failed};

/// Makes this process root in a new user namespace that maps only its own user.
pub(super) fn enter_user_namespace() -> Result<(), ProbeFailure> {
    let host = UserNamespaceRestrictions::read();
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(UnshareFlags::NEWUSER).map_err(|errno| host.explain(errno))?;
    for (file, text) in [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("0 {user} 1")),
        ("gid_map", format!("0 {group} 1")),
    ] {
        let path = format!("/proc/self/{file}");
        fs::write(&path, text).map_err(|error| host.explain_or(error, &path))?;
    }
    // AppArmor allows the namespace to be created and then denies every capability in it, so one has to be used.
    chroot("/").map_err(|errno| host.explain(errno))
}

/// Moves this process into new namespaces.
pub(super) fn unshare(flags: UnshareFlags) -> Result<(), Errno> {
    // SAFETY: rustix calls this unsafe because CLONE_FILES and CLONE_FS can pull descriptors and the working directory
    // away from other threads. No caller passes those flags, and the child of a probe has one thread.
    unsafe { unshare_unsafe(flags) }
}

/// Host settings that can deny a user namespace, read before the attempt.
#[derive(Debug, Default)]
struct UserNamespaceRestrictions {
    unprivileged_clone: Option<u64>,
    maximum: Option<u64>,
    apparmor_restricts: Option<u64>,
    is_filtered: bool,
    is_in_chroot: bool,
}

impl UserNamespaceRestrictions {
    fn read() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        Self {
            unprivileged_clone: setting("kernel/unprivileged_userns_clone"),
            maximum: setting("user/max_user_namespaces"),
            apparmor_restricts: setting("kernel/apparmor_restrict_unprivileged_userns"),
            is_filtered: status.lines().any(|line| line.split_whitespace().eq(["Seccomp:", "2"])),
            // The root of a chroot is rarely a mount point, so mountinfo has no line for it.
            is_in_chroot: !mounts.lines().any(|line| line.split(' ').nth(4) == Some("/")),
        }
    }

    fn explain_or(&self, error: std::io::Error, path: &str) -> ProbeFailure {
        match Errno::from_io_error(&error) {
            Some(errno @ (Errno::PERM | Errno::ACCESS)) if self.apparmor_restricts == Some(1) => {
                self.explain(errno)
            }
            _ => step_failed(format!("write {path}"))(error),
        }
    }

    /// Most likely cause; checked from the most specific to the most general.
    fn explain(&self, errno: Errno) -> ProbeFailure {
        let is_refused = matches!(errno, Errno::PERM | Errno::ACCESS);
        let (reason, remedy) = match errno {
            Errno::NOSPC if self.maximum == Some(0) => {
                ("user.max_user_namespaces is 0".to_owned(), "sysctl -w user.max_user_namespaces=15000".to_owned())
            }
            Errno::NOSPC => (
                format!(
                    "user.max_user_namespaces ({}) is used up, here or in a parent namespace, or the nesting limit of 32 is reached",
                    self.maximum.map_or("unreadable".to_owned(), |maximum| maximum.to_string())
                ),
                "sysctl -w user.max_user_namespaces=100000 on the host".to_owned(),
            ),
            Errno::INVAL => (
                "the kernel was built without CONFIG_USER_NS".to_owned(),
                "use a distribution kernel".to_owned(),
            ),
            _ if is_refused && self.unprivileged_clone == Some(0) => (
                "kernel.unprivileged_userns_clone is 0".to_owned(),
                "sysctl -w kernel.unprivileged_userns_clone=1, or run as root".to_owned(),
            ),
            _ if is_refused && self.apparmor_restricts == Some(1) => (
                "kernel.apparmor_restrict_unprivileged_userns is 1".to_owned(),
                "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for menace with \
                 `userns,`, or run as root"
                    .to_owned(),
            ),
            _ if self.is_filtered && (is_refused || errno == Errno::NOSYS) => (
                "a seccomp filter on this process denies it, as is usual in containers".to_owned(),
                "start the container with --security-opt seccomp=unconfined, or a profile that allows unshare, \
                 clone and mount"
                    .to_owned(),
            ),
            Errno::PERM if self.is_in_chroot => (
                "this process is in a chroot, where the kernel denies user namespaces".to_owned(),
                "run menace outside the chroot, or enter it with pivot_root".to_owned(),
            ),
            _ => return syscall_failed("create a user namespace")(errno),
        };
        ProbeFailure::Explained { reason: format!("no user namespace: {reason}"), remedy }
    }
}

/// Numeric value below `/proc/sys`, if the kernel has it.
pub(super) fn setting(name: &str) -> Option<u64> {
    fs::read_to_string(Path::new("/proc/sys").join(name)).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(host: &UserNamespaceRestrictions, errno: Errno, reason: &str, remedy: &str) {
        let refusal = host.explain(errno);
        assert!(refusal.to_string().contains(reason), "{refusal}");
        assert!(refusal.remedy().unwrap_or_default().contains(remedy), "{refusal:?}");
    }

    #[test]
    fn each_cause_has_its_reason_and_remedy() {
        let none = UserNamespaceRestrictions::default();
        let maximum = |maximum| UserNamespaceRestrictions {
            maximum: Some(maximum),
            ..UserNamespaceRestrictions::default()
        };
        check(&maximum(0), Errno::NOSPC, "user.max_user_namespaces is 0", "max_user_namespaces=");
        check(&maximum(7), Errno::NOSPC, "(7) is used up", "max_user_namespaces=");
        check(&none, Errno::INVAL, "CONFIG_USER_NS", "kernel");
        let host =
            UserNamespaceRestrictions { unprivileged_clone: Some(0), ..UserNamespaceRestrictions::default() };
        check(&host, Errno::PERM, "unprivileged_userns_clone is 0", "unprivileged_userns_clone=1");
        let host = UserNamespaceRestrictions {
            apparmor_restricts: Some(1),
            unprivileged_clone: Some(1),
            ..UserNamespaceRestrictions::default()
        };
        check(&host, Errno::PERM, "apparmor_restrict_unprivileged_userns is 1", "userns=0");
        check(&host, Errno::ACCESS, "apparmor_restrict_unprivileged_userns is 1", "userns=0");
        let host = UserNamespaceRestrictions {
            is_filtered: true,
            is_in_chroot: true,
            ..UserNamespaceRestrictions::default()
        };
        check(&host, Errno::PERM, "seccomp filter", "seccomp=unconfined");
        let host = UserNamespaceRestrictions { is_in_chroot: true, ..UserNamespaceRestrictions::default() };
        check(&host, Errno::PERM, "chroot", "outside");
    }

    #[test]
    fn an_unknown_cause_is_not_guessed() {
        let refusal = UserNamespaceRestrictions::default().explain(Errno::PERM);
        assert!(matches!(refusal, ProbeFailure::Call { source: Errno::PERM, .. }), "{refusal:?}");
    }
}
