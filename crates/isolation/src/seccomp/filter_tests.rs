//! Compares the compiled filter with the table, in an interpreter of classic BPF.

use libc::sock_filter;

use super::decision::{SeccompAnswer, SeccompDecision, SyscallArgumentCheck};
use super::filter::{
    ARCHITECTURE, DenialRecipient, OFFSET_OF_ARCHITECTURE, OFFSET_OF_NUMBER, SyscallRange, compile, compiled,
    ranges,
};
use super::table;

const NO_ARGUMENTS: [u64; 6] = [0; 6];

/// Executes a program as the kernel would; the instructions have the meaning of `seccomp(2)` and `bpf(4)`.
fn interpret(program: &[sock_filter], architecture: u32, number: u32, arguments: &[u64; 6]) -> u32 {
    let load = |offset: u32| match offset {
        OFFSET_OF_NUMBER => number,
        OFFSET_OF_ARCHITECTURE => architecture,
        offset => {
            let (index, half) = ((offset - 16) / 8, (offset - 16) % 8);
            u32::try_from(arguments[index as usize] >> (8 * half) & 0xffff_ffff).unwrap()
        }
    };
    let mut accumulator = 0;
    let mut position = 0;
    loop {
        let sock_filter { code, jt, jf, k } = program[position];
        let (jt, jf) = (usize::from(jt), usize::from(jf));
        position += 1;
        match code {
            0x20 => accumulator = load(k),
            0x54 => accumulator &= k,
            0x05 => position += k as usize,
            0x15 => position += if accumulator == k { jt } else { jf },
            0x35 => position += if accumulator >= k { jt } else { jf },
            0x06 => return k,
            code => panic!("unsupported instruction {code:#x}"),
        }
    }
}

fn action(reporting: DenialRecipient, number: u32, arguments: &[u64; 6]) -> u32 {
    interpret(compiled(reporting), ARCHITECTURE, number, arguments)
}

fn expected(answer: SeccompAnswer, reporting: DenialRecipient) -> u32 {
    match (answer, reporting) {
        (SeccompAnswer::Allow, _) | (SeccompAnswer::Ask, DenialRecipient::Nobody) => 0x7fff_0000,
        (SeccompAnswer::Absent, _) => 0x0005_0000 + 38,
        (SeccompAnswer::Refuse(error), DenialRecipient::Nobody) => {
            0x0005_0000 + u32::try_from(error).unwrap()
        }
        (SeccompAnswer::Refuse(_) | SeccompAnswer::Ask, DenialRecipient::Listener) => 0x7fc0_0000,
    }
}

fn check(constant: libc::c_long, arguments: &[(usize, u64)], answer: SeccompAnswer) {
    let mut all = NO_ARGUMENTS;
    for &(position, value) in arguments {
        all[position] = value;
    }
    let number = u32::try_from(constant).unwrap();
    for reporting in [DenialRecipient::Nobody, DenialRecipient::Listener] {
        assert_eq!(
            action(reporting, number, &all),
            expected(answer, reporting),
            "{:?} with {all:x?}, {reporting:?}",
            table::row(number).map(table::SyscallRow::name)
        );
    }
    assert_eq!(table::answer(number, &all), answer, "the supervisor gives the answer of the filter");
}

/// Argument lists that reach every case of a check, and its `otherwise`.
fn arguments_for(look: &SyscallArgumentCheck) -> Vec<[u64; 6]> {
    let mut lists = Vec::new();
    let unlike_any_case = 0x0bad_c0de_u32;
    let values = look.cases.iter().map(|(value, _)| *value).chain([unlike_any_case & look.mask]);
    for value in values {
        for upper_half in [0, 0xffff_ffff_0000_0000] {
            let mut arguments = NO_ARGUMENTS;
            arguments[usize::from(look.argument)] = u64::from(value) | upper_half;
            lists.push(arguments);
        }
    }
    lists
}

#[test]
fn the_filter_agrees_with_the_table_for_every_number() {
    for number in (0..2048).chain([u32::MAX, 0x3fff_ffff, 0x7fff_ffff]) {
        let arguments = match table::row(number).map(|row| row.decision) {
            Some(SeccompDecision::Look(look)) => arguments_for(look),
            _ => vec![NO_ARGUMENTS, [u64::MAX; 6]],
        };
        for arguments in arguments {
            for reporting in [DenialRecipient::Nobody, DenialRecipient::Listener] {
                let answer = table::answer(number, &arguments);
                assert_eq!(action(reporting, number, &arguments), expected(answer, reporting), "{number}");
            }
        }
    }
}

#[test]
fn no_call_has_two_rows() {
    let mut numbers: Vec<u32> = table::rows().map(|row| row.number).collect();
    numbers.sort_unstable();
    let count = numbers.len();
    numbers.dedup();
    assert_eq!(numbers.len(), count);
}

/// The current table needs no jump that is longer than a branch can be; a larger one will.
#[test]
fn targets_beyond_the_reach_of_a_branch_are_found() {
    let answer = |first: u32| match first % 3 {
        0 => SeccompAnswer::Allow,
        1 => SeccompAnswer::Absent,
        _ => SeccompAnswer::Refuse(i32::try_from(first).unwrap()),
    };
    let ranges: Vec<SyscallRange> = (0..900)
        .map(|first| SyscallRange { first, decision: SeccompDecision::Give(answer(first)) })
        .collect();
    let program = compile(&ranges, DenialRecipient::Nobody);
    assert!(program.iter().any(|instruction| instruction.code == 0x05), "the test has no long jump");
    for number in 0..900 {
        let action = interpret(&program, ARCHITECTURE, number, &NO_ARGUMENTS);
        assert_eq!(action, expected(answer(number), DenialRecipient::Nobody), "{number}");
    }
}

#[test]
fn the_program_is_small() {
    let length = compiled(DenialRecipient::Listener).len();
    assert!(length < 250, "{length} instructions");
}

#[test]
fn calls_of_ordinary_programs_are_allowed() {
    for call in [
        libc::SYS_read,
        libc::SYS_openat,
        libc::SYS_futex,
        libc::SYS_execve,
        libc::SYS_landlock_restrict_self,
    ] {
        check(call, &[], SeccompAnswer::Allow);
    }
}

#[test]
fn dangerous_calls_are_denied() {
    let refused = [
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_bpf,
        libc::SYS_userfaultfd,
        libc::SYS_keyctl,
        libc::SYS_io_uring_setup,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_perf_event_open,
        libc::SYS_finit_module,
        libc::SYS_open_by_handle_at,
        libc::SYS_pidfd_getfd,
        libc::SYS_clock_settime,
    ];
    for call in refused {
        check(call, &[], SeccompAnswer::Refuse(libc::EPERM));
    }
}

#[test]
fn a_zygote_may_create_sandboxes_and_no_other_denied_call() {
    let program = compile(&ranges(table::SANDBOX_SETUP, &[]), DenialRecipient::Nobody);
    for row in table::rows() {
        let given = interpret(&program, ARCHITECTURE, row.number, &[0x1000_0000, 0, 0, 0, 0, 0]);
        let usual = interpret(
            compiled(DenialRecipient::Nobody),
            ARCHITECTURE,
            row.number,
            &[0x1000_0000, 0, 0, 0, 0, 0],
        );
        let expected =
            if table::SANDBOX_SETUP.contains(&row.number) { libc::SECCOMP_RET_ALLOW } else { usual };
        assert_eq!(given, expected, "{}", row.name());
    }
}

#[test]
fn only_listed_calls_reach_the_supervisor_and_no_denied_call_passes() {
    let asked = [libc::SYS_write, libc::SYS_openat, libc::SYS_mount, libc::SYS_clone3]
        .map(|call| u32::try_from(call).unwrap());
    let program = compile(&ranges(&[], &asked), DenialRecipient::Listener);
    for row in table::rows() {
        let given = interpret(&program, ARCHITECTURE, row.number, &NO_ARGUMENTS);
        let usual = action(DenialRecipient::Listener, row.number, &NO_ARGUMENTS);
        let is_asked = row.name() == "write" || row.name() == "openat";
        assert_eq!(given, if is_asked { libc::SECCOMP_RET_USER_NOTIF } else { usual }, "{}", row.name());
    }
}

#[test]
fn clone_makes_threads_and_processes_but_no_namespaces() {
    let thread = u64::from((libc::CLONE_VM | libc::CLONE_THREAD | libc::CLONE_SIGHAND).cast_unsigned());
    check(libc::SYS_clone, &[(0, thread)], SeccompAnswer::Allow);
    check(libc::SYS_clone, &[(0, 17 /* SIGCHLD */)], SeccompAnswer::Allow);
    // The bit of CLONE_NEWTIME is part of the exit signal here.
    check(libc::SYS_clone, &[(0, 0x80)], SeccompAnswer::Allow);
    for namespace in
        [0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000]
    {
        check(libc::SYS_clone, &[(0, namespace | 0x11)], SeccompAnswer::Refuse(libc::EPERM));
        check(libc::SYS_clone, &[(0, namespace | 1 << 40)], SeccompAnswer::Refuse(libc::EPERM));
    }
    check(libc::SYS_clone3, &[], SeccompAnswer::Absent);
}

#[test]
fn terminal_input_by_ioctl_is_denied_for_any_upper_half() {
    for request in [0x5412, 0x541c] {
        check(libc::SYS_ioctl, &[(1, request)], SeccompAnswer::Refuse(libc::EPERM));
        check(libc::SYS_ioctl, &[(1, request | 1 << 32)], SeccompAnswer::Refuse(libc::EPERM));
        check(libc::SYS_ioctl, &[(1, request | 0xffff_ffff_0000_0000)], SeccompAnswer::Refuse(libc::EPERM));
    }
    check(libc::SYS_ioctl, &[(1, 0x5401 /* TCGETS */)], SeccompAnswer::Allow);
    check(libc::SYS_ioctl, &[(0, 0x5412)], SeccompAnswer::Allow);
}

#[test]
fn only_local_and_internet_sockets_are_allowed() {
    for call in [libc::SYS_socket, libc::SYS_socketpair] {
        for family in [1, 2, 10] {
            check(call, &[(0, family)], SeccompAnswer::Allow);
        }
        check(call, &[(0, 16), (2, 0 /* NETLINK_ROUTE */)], SeccompAnswer::Allow);
        check(
            call,
            &[(0, 16), (2, 15 /* NETLINK_KOBJECT_UEVENT */)],
            SeccompAnswer::Refuse(libc::EPROTONOSUPPORT),
        );
        for family in [0, 17 /* AF_PACKET */, 38 /* AF_ALG */, 40 /* AF_VSOCK */, 0xffff_ffff] {
            check(call, &[(0, family)], SeccompAnswer::Refuse(libc::EAFNOSUPPORT));
        }
    }
}

#[test]
fn only_device_nodes_are_denied() {
    for (kind, answer) in [
        (libc::S_IFCHR, SeccompAnswer::Refuse(libc::EPERM)),
        (libc::S_IFBLK, SeccompAnswer::Refuse(libc::EPERM)),
        (libc::S_IFIFO, SeccompAnswer::Allow),
        (libc::S_IFSOCK, SeccompAnswer::Allow),
        (libc::S_IFREG, SeccompAnswer::Allow),
        (0, SeccompAnswer::Allow),
    ] {
        let mode = u64::from(kind | 0o777);
        check(libc::SYS_mknodat, &[(2, mode)], answer);
        // The kernel reads the low 16 bits of a mode.
        check(libc::SYS_mknodat, &[(2, mode | 0xabcd_0000)], answer);
        #[cfg(target_arch = "x86_64")]
        check(libc::SYS_mknod, &[(1, mode)], answer);
    }
}

#[test]
fn setuid_and_setgid_bits_are_denied() {
    let create = u64::from((libc::O_CREAT | libc::O_WRONLY).cast_unsigned());
    let temporary = u64::from((libc::O_TMPFILE | libc::O_RDWR).cast_unsigned());
    for (mode, answer) in [
        (0o1777, SeccompAnswer::Allow),
        (0o4755, SeccompAnswer::Refuse(libc::EPERM)),
        (0o2755, SeccompAnswer::Refuse(libc::EPERM)),
        (0o6000 | 0xffff_0000_0000, SeccompAnswer::Refuse(libc::EPERM)),
    ] {
        check(libc::SYS_fchmod, &[(1, mode)], answer);
        check(libc::SYS_fchmodat, &[(2, mode)], answer);
        check(452 /* fchmodat2 */, &[(2, mode)], answer);
        check(libc::SYS_mknodat, &[(2, mode)], answer);
        check(libc::SYS_openat, &[(2, create), (3, mode)], answer);
        check(libc::SYS_openat, &[(2, temporary), (3, mode)], answer);
        check(libc::SYS_openat, &[(2, 0), (3, mode)], SeccompAnswer::Allow);
        #[cfg(target_arch = "x86_64")]
        {
            check(libc::SYS_chmod, &[(1, mode)], answer);
            check(libc::SYS_creat, &[(1, mode)], answer);
            check(libc::SYS_open, &[(1, create), (2, mode)], answer);
        }
    }
    check(libc::SYS_openat2, &[], SeccompAnswer::Absent);
}

#[test]
fn personalities_process_controls_and_nested_filters() {
    for (personality, answer) in [
        (0, SeccompAnswer::Allow),
        (0xffff_ffff, SeccompAnswer::Allow),
        (0x0004_0000, SeccompAnswer::Allow),
        (0x0040_0000 /* READ_IMPLIES_EXEC */, SeccompAnswer::Refuse(libc::EPERM)),
        (8 /* PER_LINUX32 */, SeccompAnswer::Refuse(libc::EPERM)),
    ] {
        check(libc::SYS_personality, &[(0, personality)], answer);
    }
    check(libc::SYS_prctl, &[(0, 35 /* PR_SET_MM */)], SeccompAnswer::Refuse(libc::EPERM));
    check(libc::SYS_prctl, &[(0, 15 /* PR_SET_NAME */)], SeccompAnswer::Allow);
    check(libc::SYS_seccomp, &[(0, 1), (1, 1)], SeccompAnswer::Allow);
    check(libc::SYS_seccomp, &[(0, 1), (1, 1 << 3)], SeccompAnswer::Refuse(libc::EPERM));
}

#[test]
fn other_architectures_are_killed_and_unknown_calls_are_absent() {
    let program = compiled(DenialRecipient::Nobody);
    for architecture in [0x4000_0003 /* i386 */, 0x4000_0028 /* arm */, 0] {
        assert_eq!(interpret(program, architecture, 0, &NO_ARGUMENTS), 0x8000_0000);
    }
    for number in [0x4000_0000, 0x4000_0000 + 59, 0x4000_0000 + 520, 470, 4096, u32::MAX] {
        assert_eq!(action(DenialRecipient::Listener, number, &NO_ARGUMENTS), 0x0005_0000 + 38);
    }
}
