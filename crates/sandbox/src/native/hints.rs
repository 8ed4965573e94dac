//! Hints for steps that the kernel rejected.

/// Hint for a failed step.
pub(super) fn hint_for(step: &str, errno: i32) -> String {
    let text = match (step, errno) {
        (_, libc::ENOMEM) => "free memory, or raise the memory limit of the sandbox",
        (_, libc::ENOSPC) if step.contains("namespace") => {
            "raise the number of namespaces: sysctl user.max_user_namespaces=15000 (and user.max_net_namespaces, …)"
        }
        (_, libc::ENOSPC) => "free space in memory-backed file systems, or set a smaller disk limit",
        ("create a user namespace" | "write /proc/self/uid_map" | "write /proc/self/setgroups", _) => {
            "run as root, or allow unprivileged user namespaces: sysctl kernel.unprivileged_userns_clone=1 (Debian), \
             kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), user.max_user_namespaces=15000; in a container, \
             its seccomp profile has to allow unshare and mount"
        }
        (step, _) if step.starts_with("mount proc") => {
            "mounting /proc requires an unmasked /proc: run outside of a container, or in one started with \
             --security-opt systempaths=unconfined"
        }
        (step, libc::ENODEV) if step.starts_with("mount overlay") => {
            "load the overlay module: modprobe overlay"
        }
        (step, _) if step.starts_with("mount overlay") => {
            "the workspace needs overlayfs in user namespaces: Linux 5.11 or newer; --rw works without it"
        }
        (step, _) if step.starts_with("map the owner") => {
            "the file system of this directory cannot map owners (Linux 5.12 or newer and ext4, xfs, btrfs or tmpfs \
             can): run as the owner of the directory instead of root"
        }
        (step, _) if step.starts_with("open ") => "check that the path exists and that you may read it",
        ("filter system calls", _) => {
            "the kernel needs CONFIG_SECCOMP_FILTER and user notification (Linux 5.0)"
        }
        ("shape packets with netem", libc::ENOENT) => {
            "this kernel has no netem (modprobe sch_netem, or CONFIG_NET_SCH_NETEM); without --shaper menace uses its own shaper"
        }
        ("join the cgroup", _) => "check that the cgroup file system is writable",
        _ => "menace doctor shows what this host lacks",
    };
    text.to_owned()
}
