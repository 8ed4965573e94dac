//! The table of system calls that a sandboxed program may make.
//!
//! A call without a row fails as if the kernel did not know it (`ENOSYS`): calls that are newer than this table, and
//! every call of the x32 ABI, whose numbers have bit 30 set and lie above all rows.

use super::decision::{ABSENT, ALLOW, REFUSE, SeccompAnswer, SeccompDecision, SyscallArgumentCheck, WHOLE};

/// One system call of this architecture.
#[derive(Debug)]
pub struct SyscallRow {
    constant: &'static str,
    /// Its number on this architecture.
    pub number: u32,
    /// Decision about the call.
    pub decision: SeccompDecision,
}

impl SyscallRow {
    /// Name of the call in manual pages, such as `openat`.
    pub fn name(&self) -> &'static str {
        self.constant.strip_prefix("SYS_").unwrap_or(self.constant)
    }
}

/// Every row, in no particular order.
pub fn rows() -> impl Iterator<Item = &'static SyscallRow> {
    EVERYWHERE.iter().chain(NEWER_THAN_LIBC).chain(ONLY_ON_THIS_ARCHITECTURE)
}

/// The row of a number, if there is one.
pub fn row(number: u32) -> Option<&'static SyscallRow> {
    rows().find(|row| row.number == number)
}

/// Calls with which a process creates the sandboxes of calls, in addition to those that are allowed anyway.
pub(super) const SANDBOX_SETUP: &[u32] = &[
    call_number(libc::SYS_clone),
    call_number(libc::SYS_clone3),
    call_number(libc::SYS_mount),
    call_number(libc::SYS_mount_setattr),
    call_number(libc::SYS_move_mount),
    call_number(libc::SYS_open_tree),
    call_number(libc::SYS_seccomp),
    call_number(libc::SYS_umount2),
    call_number(libc::SYS_unshare),
];

/// The answer to a call by number and arguments.
pub fn answer(number: u32, arguments: &[u64; 6]) -> SeccompAnswer {
    row(number).map_or(SeccompAnswer::Absent, |row| row.decision.answer(arguments))
}

/// Rows by the libc crate's constants, which hold the numbers of the target architecture.
macro_rules! rows {
    ($($decision:expr => { $($constant:ident)* })*) => {
        &[$($(SyscallRow {
            constant: stringify!($constant),
            number: call_number(libc::$constant),
            decision: $decision,
        },)*)*]
    };
}

/// Rows by number, for calls that the libc crate does not define for every target.
macro_rules! numbered_rows {
    ($($decision:expr => { $($name:ident $number:literal)* })*) => {
        &[$($(SyscallRow { constant: stringify!($name), number: $number, decision: $decision },)*)*]
    };
}

static EVERYWHERE: &[SyscallRow] = rows! {
    // Files and directories.
    ALLOW => {
        SYS_chdir SYS_close SYS_close_range SYS_copy_file_range SYS_dup SYS_dup3 SYS_faccessat SYS_faccessat2
        SYS_fadvise64 SYS_fallocate SYS_fchdir SYS_fchown SYS_fchownat SYS_fcntl
        SYS_fdatasync SYS_fgetxattr SYS_flistxattr SYS_flock SYS_fremovexattr SYS_fsetxattr SYS_fstat SYS_fstatfs
        SYS_fsync SYS_ftruncate SYS_getcwd SYS_getdents64 SYS_getxattr SYS_inotify_add_watch SYS_inotify_init1
        SYS_inotify_rm_watch SYS_lgetxattr SYS_linkat SYS_listxattr SYS_llistxattr SYS_lremovexattr SYS_lseek
        SYS_lsetxattr SYS_mkdirat SYS_name_to_handle_at SYS_newfstatat SYS_pipe2 SYS_pread64
        SYS_preadv SYS_preadv2 SYS_pwrite64 SYS_pwritev SYS_pwritev2 SYS_read SYS_readahead SYS_readlinkat SYS_readv
        SYS_removexattr SYS_renameat SYS_renameat2 SYS_sendfile SYS_setxattr SYS_splice SYS_statfs SYS_statx
        SYS_symlinkat SYS_sync SYS_sync_file_range SYS_syncfs SYS_tee SYS_truncate SYS_umask SYS_unlinkat
        SYS_utimensat SYS_vmsplice SYS_write SYS_writev
    }

    // Waiting for descriptors, and the older asynchronous input and output.
    ALLOW => {
        SYS_epoll_create1 SYS_epoll_ctl SYS_epoll_pwait SYS_epoll_pwait2 SYS_eventfd2 SYS_io_cancel SYS_io_destroy
        SYS_io_getevents SYS_io_submit SYS_ppoll SYS_pselect6 SYS_signalfd4 SYS_timerfd_create
        SYS_timerfd_gettime SYS_timerfd_settime
    }

    // Memory.
    ALLOW => {
        SYS_brk SYS_get_mempolicy SYS_madvise SYS_membarrier SYS_memfd_create SYS_mincore SYS_mlock SYS_mlock2
        SYS_mlockall SYS_mmap SYS_mprotect SYS_mremap SYS_msync SYS_munlock SYS_munlockall SYS_munmap SYS_pkey_alloc
        SYS_pkey_free SYS_pkey_mprotect SYS_remap_file_pages
    }

    // Processes, threads, signals and scheduling. The calls that change users are allowed: without capabilities they
    // can only drop the remaining rights.
    ALLOW => {
        SYS_capget SYS_capset SYS_execve SYS_execveat SYS_exit SYS_exit_group SYS_futex SYS_futex_waitv
        SYS_get_robust_list SYS_getcpu SYS_getegid SYS_geteuid SYS_getgid SYS_getgroups SYS_getpgid SYS_getpid
        SYS_getppid SYS_getpriority SYS_getresgid SYS_getresuid SYS_getrlimit SYS_getrusage SYS_getsid SYS_gettid
        SYS_getuid SYS_ioprio_get SYS_ioprio_set SYS_kill SYS_pidfd_open SYS_pidfd_send_signal
        SYS_restart_syscall SYS_rseq SYS_rt_sigaction SYS_rt_sigpending SYS_rt_sigprocmask SYS_rt_sigqueueinfo
        SYS_rt_sigreturn SYS_rt_sigsuspend SYS_rt_sigtimedwait SYS_rt_tgsigqueueinfo SYS_sched_get_priority_max
        SYS_sched_get_priority_min SYS_sched_getaffinity SYS_sched_getattr SYS_sched_getparam SYS_sched_getscheduler
        SYS_sched_rr_get_interval SYS_sched_setaffinity SYS_sched_setattr SYS_sched_setparam SYS_sched_setscheduler
        SYS_sched_yield SYS_set_robust_list SYS_set_tid_address SYS_setfsgid SYS_setfsuid SYS_setgid SYS_setgroups
        SYS_setpgid SYS_setpriority SYS_setregid SYS_setresgid SYS_setresuid SYS_setreuid SYS_setrlimit SYS_setsid
        SYS_setuid SYS_sigaltstack SYS_tgkill SYS_tkill SYS_wait4 SYS_waitid
    }

    // Time. adjtimex and clock_adjtime read the state of the clock, or change it depending on a structure that a
    // filter cannot see; a change needs CAP_SYS_TIME over the machine, which no process in a sandbox has.
    ALLOW => {
        SYS_adjtimex SYS_clock_adjtime SYS_clock_getres SYS_clock_gettime SYS_clock_nanosleep SYS_getitimer
        SYS_gettimeofday SYS_nanosleep SYS_setitimer SYS_timer_create SYS_timer_delete SYS_timer_getoverrun
        SYS_timer_gettime SYS_timer_settime SYS_times
    }

    // Existing sockets, and the queues, semaphores and memory of the sandbox's own IPC namespace.
    ALLOW => {
        SYS_accept SYS_accept4 SYS_bind SYS_connect SYS_getpeername SYS_getsockname SYS_getsockopt SYS_listen
        SYS_mq_getsetattr SYS_mq_notify SYS_mq_open SYS_mq_timedreceive SYS_mq_timedsend SYS_mq_unlink SYS_msgctl
        SYS_msgget SYS_msgrcv SYS_msgsnd SYS_recvfrom SYS_recvmmsg SYS_recvmsg SYS_semctl SYS_semget SYS_semop
        SYS_semtimedop SYS_sendmmsg SYS_sendmsg SYS_sendto SYS_setsockopt SYS_shmat SYS_shmctl SYS_shmdt SYS_shmget
        SYS_shutdown
    }

    // The machine, random numbers, and further sandboxing of the process itself.
    ALLOW => {
        SYS_getrandom SYS_landlock_add_rule SYS_landlock_create_ruleset SYS_landlock_restrict_self SYS_sysinfo
        SYS_uname
    }

    // The arguments decide.
    SeccompDecision::Look(&NO_NEW_NAMESPACE) => { SYS_clone }
    SeccompDecision::Look(&NO_TYPING_FOR_OTHERS) => { SYS_ioctl }
    SeccompDecision::Look(&LOCAL_OR_INTERNET) => { SYS_socket SYS_socketpair }
    SeccompDecision::Look(&NO_DEVICE_IN_THIRD_ARGUMENT) => { SYS_mknodat }
    SeccompDecision::Look(&NO_REWRITTEN_PROCESS_IMAGE) => { SYS_prctl }
    SeccompDecision::Look(&NO_SUPERVISOR_OF_ITS_OWN) => { SYS_seccomp }
    SeccompDecision::Look(&ORDINARY_PERSONALITY) => { SYS_personality }
    SeccompDecision::Look(&OWN_LIMITS) => { SYS_prlimit64 }

    SeccompDecision::Look(&MODE_IN_SECOND_ARGUMENT) => { SYS_fchmod }
    SeccompDecision::Look(&MODE_IN_THIRD_ARGUMENT) => { SYS_fchmodat }
    SeccompDecision::Look(&FLAGS_IN_THIRD_ARGUMENT) => { SYS_openat }

    // Flags that may request namespaces, and a mode, are behind a pointer that no filter can follow. Libraries fall
    // back to clone and openat.
    ABSENT => { SYS_clone3 SYS_openat2 }

    // Access to other processes: their memory, registers, descriptors.
    REFUSE => { SYS_kcmp SYS_pidfd_getfd SYS_process_vm_readv SYS_process_vm_writev SYS_ptrace }

    // Large interfaces with a history of vulnerabilities, which a sandboxed program does not need.
    REFUSE => {
        SYS_add_key SYS_bpf SYS_io_setup SYS_io_uring_enter SYS_io_uring_register SYS_io_uring_setup SYS_keyctl
        SYS_perf_event_open SYS_request_key SYS_userfaultfd
    }

    // Mounts and namespaces.
    REFUSE => {
        SYS_chroot SYS_fsconfig SYS_fsmount SYS_fsopen SYS_fspick SYS_mount SYS_mount_setattr SYS_move_mount
        SYS_open_tree SYS_pivot_root SYS_setns SYS_umount2 SYS_unshare
    }

    // Indirect access to the file system: by handle instead of by path, watching all of it, quotas.
    REFUSE => {
        SYS_fanotify_init SYS_fanotify_mark SYS_lookup_dcookie SYS_nfsservctl SYS_open_by_handle_at SYS_quotactl
        SYS_quotactl_fd
    }

    // Memory placement on NUMA nodes.
    REFUSE => { SYS_mbind SYS_migrate_pages SYS_move_pages SYS_set_mempolicy SYS_set_mempolicy_home_node }

    // Administration of the machine.
    REFUSE => {
        SYS_acct SYS_clock_settime SYS_delete_module SYS_finit_module SYS_init_module SYS_kexec_load SYS_reboot
        SYS_setdomainname SYS_sethostname SYS_settimeofday SYS_swapoff SYS_swapon SYS_syslog SYS_vhangup
    }
};

// From 424 on a call has the same number on every architecture.
static NEWER_THAN_LIBC: &[SyscallRow] = numbered_rows! {
    ALLOW => {
        cachestat 451 map_shadow_stack 453 futex_wake 454 futex_wait 455 futex_requeue 456 mseal 462
        setxattrat 463 getxattrat 464 listxattrat 465 removexattrat 466
    }
    SeccompDecision::Look(&MODE_IN_THIRD_ARGUMENT) => { fchmodat2 452 }
    REFUSE => { open_tree_attr 467 }
};

#[cfg(target_arch = "x86_64")]
static ONLY_ON_THIS_ARCHITECTURE: &[SyscallRow] = rows! {
    // Calls that newer architectures have only with a directory descriptor or with flags.
    ALLOW => {
        SYS_access SYS_alarm SYS_chown SYS_dup2 SYS_epoll_create SYS_epoll_wait SYS_eventfd
        SYS_fork SYS_futimesat SYS_getdents SYS_getpgrp SYS_inotify_init SYS_lchown SYS_link SYS_lstat SYS_mkdir
        SYS_pause SYS_pipe SYS_poll SYS_readlink SYS_rename SYS_rmdir SYS_select SYS_signalfd SYS_stat
        SYS_symlink SYS_time SYS_unlink SYS_utime SYS_utimes SYS_vfork
    }
    ALLOW => { SYS_arch_prctl }
    SeccompDecision::Look(&NO_DEVICE_IN_SECOND_ARGUMENT) => { SYS_mknod }
    SeccompDecision::Look(&MODE_IN_SECOND_ARGUMENT) => { SYS_chmod SYS_creat }
    SeccompDecision::Look(&FLAGS_IN_SECOND_ARGUMENT) => { SYS_open }
    REFUSE => { SYS_ioperm SYS_iopl SYS_kexec_file_load SYS_modify_ldt SYS_uselib }
};

// The libc crate has no constant for this call with musl.
#[cfg(target_arch = "aarch64")]
static ONLY_ON_THIS_ARCHITECTURE: &[SyscallRow] = numbered_rows! {
    REFUSE => { kexec_file_load 294 }
};

/// `clone` has no time namespaces: the bit of `CLONE_NEWTIME` belongs to the exit signal there.
static NO_NEW_NAMESPACE: SyscallArgumentCheck = SyscallArgumentCheck {
    argument: 0,
    mask: bits(
        libc::CLONE_NEWCGROUP
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWNET
            | libc::CLONE_NEWNS
            | libc::CLONE_NEWPID
            | libc::CLONE_NEWUSER
            | libc::CLONE_NEWUTS,
    ),
    cases: &[(0, ALLOW)],
    otherwise: REFUSE,
};

/// Both requests insert characters into a terminal's input, where the shell outside would read them as typed.
static NO_TYPING_FOR_OTHERS: SyscallArgumentCheck = SyscallArgumentCheck {
    argument: 1,
    mask: WHOLE,
    cases: &[(0x5412 /* TIOCSTI */, REFUSE), (0x541c /* TIOCLINUX */, REFUSE)],
    otherwise: ALLOW,
};

/// The error numbers are those of a kernel without these protocols, which programs handle.
static LOCAL_OR_INTERNET: SyscallArgumentCheck = SyscallArgumentCheck {
    argument: 0,
    mask: WHOLE,
    cases: &[
        (bits(libc::AF_UNIX), ALLOW),
        (bits(libc::AF_INET), ALLOW),
        (bits(libc::AF_INET6), ALLOW),
        (bits(libc::AF_NETLINK), SeccompDecision::Look(&ROUTE_NETLINK)),
    ],
    otherwise: SeccompDecision::Give(SeccompAnswer::Refuse(libc::EAFNOSUPPORT)),
};

/// `getifaddrs`, and with it every resolver, uses this protocol to read the addresses of the machine.
static ROUTE_NETLINK: SyscallArgumentCheck = SyscallArgumentCheck {
    argument: 2,
    mask: WHOLE,
    cases: &[(bits(libc::NETLINK_ROUTE), ALLOW)],
    otherwise: SeccompDecision::Give(SeccompAnswer::Refuse(libc::EPROTONOSUPPORT)),
};

#[cfg(target_arch = "x86_64")]
static NO_DEVICE_IN_SECOND_ARGUMENT: SyscallArgumentCheck = no_device_in(1, &MODE_IN_SECOND_ARGUMENT);
static NO_DEVICE_IN_THIRD_ARGUMENT: SyscallArgumentCheck = no_device_in(2, &MODE_IN_THIRD_ARGUMENT);

static MODE_IN_SECOND_ARGUMENT: SyscallArgumentCheck = mode_in(1);
static MODE_IN_THIRD_ARGUMENT: SyscallArgumentCheck = mode_in(2);
static MODE_IN_FOURTH_ARGUMENT: SyscallArgumentCheck = mode_in(3);
#[cfg(target_arch = "x86_64")]
static FLAGS_IN_SECOND_ARGUMENT: SyscallArgumentCheck = flags_of_open_in(1, &MODE_IN_THIRD_ARGUMENT);
static FLAGS_IN_THIRD_ARGUMENT: SyscallArgumentCheck = flags_of_open_in(2, &MODE_IN_FOURTH_ARGUMENT);

/// `PR_SET_MM` moves the parts of the process image and its name in `/proc`, for programs that restore a saved
/// process.
static NO_REWRITTEN_PROCESS_IMAGE: SyscallArgumentCheck = SyscallArgumentCheck {
    argument: 0,
    mask: WHOLE,
    cases: &[(bits(libc::PR_SET_MM), REFUSE)],
    otherwise: ALLOW,
};

/// Of two filters that both report a call, the supervisor of the newer one decides, and it may let the call pass. So
/// far the kernel allows only one supervisor; this does not rely on it.
static NO_SUPERVISOR_OF_ITS_OWN: SyscallArgumentCheck = SyscallArgumentCheck {
    argument: 1,
    mask: 1 << 3, /* NEW_LISTENER */
    cases: &[(0, ALLOW)],
    otherwise: REFUSE,
};

/// A process could reduce the limits of another process of the same user: the one that enforces the timeout of a
/// command could then not open files any more. C libraries pass 0, which is the process itself.
static OWN_LIMITS: SyscallArgumentCheck =
    SyscallArgumentCheck { argument: 0, mask: WHOLE, cases: &[(0, ALLOW)], otherwise: REFUSE };

/// The default personality, the query of the current one, and fixed addresses, which sanitizers and debuggers set.
/// The others emulate old systems, partly by making memory executable.
static ORDINARY_PERSONALITY: SyscallArgumentCheck = SyscallArgumentCheck {
    argument: 0,
    mask: WHOLE,
    cases: &[(0, ALLOW), (u32::MAX, ALLOW), (bits(libc::ADDR_NO_RANDOMIZE), ALLOW)],
    otherwise: REFUSE,
};

/// Denies setuid and setgid modes. Inside the sandbox they have no effect; but in a directory that the sandbox shares
/// with the host, whose owner is root or the user of menace, such a program would run as root or as that user for
/// everyone who executes it.
const fn mode_in(argument: u8) -> SyscallArgumentCheck {
    SyscallArgumentCheck {
        argument,
        mask: libc::S_ISUID | libc::S_ISGID,
        cases: &[(0, ALLOW)],
        otherwise: REFUSE,
    }
}

/// The mode matters only when a file is created.
const fn flags_of_open_in(argument: u8, mode: &'static SyscallArgumentCheck) -> SyscallArgumentCheck {
    // O_TMPFILE without the bit of O_DIRECTORY, which it includes.
    let creating = bits(libc::O_CREAT) | 0o20_000_000;
    SyscallArgumentCheck {
        argument,
        mask: creating,
        cases: &[(0, ALLOW)],
        otherwise: SeccompDecision::Look(mode),
    }
}

/// `mknod` may create pipes, sockets and ordinary files.
const fn no_device_in(argument: u8, mode: &'static SyscallArgumentCheck) -> SyscallArgumentCheck {
    SyscallArgumentCheck {
        argument,
        mask: libc::S_IFMT,
        cases: &[(libc::S_IFCHR, REFUSE), (libc::S_IFBLK, REFUSE)],
        otherwise: SeccompDecision::Look(mode),
    }
}

const fn bits(constant: libc::c_int) -> u32 {
    constant.cast_unsigned()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the kernel numbers its calls from 0 to a few hundred"
)]
const fn call_number(constant: libc::c_long) -> u32 {
    constant as u32
}
