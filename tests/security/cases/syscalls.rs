//! System calls. A table lists the calls that a sandbox may make, and every row is tried against the kernel.

use std::collections::BTreeMap;

use menace_isolation::seccomp::{SeccompAnswer, answer, rows};

use crate::harness::{CaseContext, is_alive};
use crate::probe::{attempts, python};

/// Makes every call once that the table denies regardless of its arguments.
pub(crate) async fn calls_denied_by_the_table_fail_and_are_reported(context: &CaseContext) {
    let refused: BTreeMap<&str, i32> = rows()
        .filter_map(|row| match answer(row.number, &[0; 6]) {
            SeccompAnswer::Refuse(error) => Some((row.name(), error)),
            SeccompAnswer::Allow | SeccompAnswer::Ask | SeccompAnswer::Absent => None,
        })
        .collect();
    for name in [
        "add_key",
        "bpf",
        "chroot",
        "finit_module",
        "init_module",
        "io_uring_setup",
        "kexec_load",
        "keyctl",
        "mount",
        "move_mount",
        "open_by_handle_at",
        "open_tree",
        "perf_event_open",
        "pivot_root",
        "process_vm_readv",
        "process_vm_writev",
        "ptrace",
        "reboot",
        "request_key",
        "setns",
        "sethostname",
        "swapon",
        "syslog",
        "umount2",
        "unshare",
        "userfaultfd",
    ] {
        assert!(refused.contains_key(name), "{name} is not denied by the table");
    }
    let sandbox = context.sandbox().await;
    let list = refused.keys().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    let program = format!("for name in ({list}):\n    attempt(name, lambda: call(name, 0, 0, 0, 0, 0, 0))");
    let tried = attempts(&*sandbox, &program).await;
    for (name, error) in &refused {
        let expected = match *error {
            libc::EPERM => "EPERM",
            libc::EAFNOSUPPORT => "EAFNOSUPPORT",
            other => panic!("{name} is denied with {other}"),
        };
        assert_eq!(tried.get(name), expected, "{name}");
        tried.assert_denied(context, &[(name, 1)]);
    }
    assert_eq!(tried.outcome.denied.len(), refused.len(), "{:?}", tried.outcome.denied);
    is_alive(&*sandbox).await;
}

/// Calls newer than the table, unassigned numbers, and the numbers of the x32 ABI.
pub(crate) async fn calls_unknown_to_the_table_fail_with_enosys(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    let known: Vec<u32> = rows().map(|row| row.number).collect();
    // Since 6.11 the kernel does not pass the two calls with which uprobes return to its filters, and kills a process that
    // makes them itself.
    let of_probes = [335, 336];
    let unknown: Vec<u32> = (0..600)
        .filter(|number| !known.contains(number) && !of_probes.contains(number))
        .chain([0, 59, 520].map(|number| (1 << 30) + number))
        .collect();
    let program = format!(
        "for number in {unknown:?} + [NUMBERS['clone3']]:\n    attempt(number, lambda: call(number, 0, 0, 0, 0, 0, 0))"
    );
    let tried = attempts(&*sandbox, &program).await;
    tried.assert_all(unknown.len() + 1, &["ENOSYS"]);
    assert_eq!(tried.outcome.denied, [], "libraries probe for such calls, so they are not reported");
}

pub(crate) async fn new_namespaces_are_refused(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    let program = "
KINDS = {'NEWCGROUP': 0x02000000, 'NEWIPC': 0x08000000, 'NEWNET': 0x40000000, 'NEWNS': 0x00020000, 'NEWPID': 0x20000000, 'NEWUSER': 0x10000000, 'NEWUTS': 0x04000000}
before = {name: os.readlink('/proc/self/ns/' + name) for name in os.listdir('/proc/self/ns')}
def clone(flags):
    # A child would continue here.
    call('clone', flags | signal.SIGCHLD, 0, 0, 0, 0)
for name, flag in KINDS.items():
    attempt('unshare ' + name, lambda: call('unshare', flag))
    attempt('clone ' + name, lambda: clone(flag))
    attempt('clone high ' + name, lambda: clone(flag | 1 << 40))
attempt('unshare NEWTIME', lambda: call('unshare', 0x80))
attempt('clone all', lambda: clone(sum(KINDS.values())))
for flags in (0x10000000, 0x00020000):
    arguments = (ctypes.c_uint64 * 11)(flags, 0, 0, 0, signal.SIGCHLD)
    attempt('clone3 %x' % flags, lambda: call('clone3', arguments, 88))
after = {name: os.readlink('/proc/self/ns/' + name) for name in os.listdir('/proc/self/ns')}
assert before == after
";
    let tried = attempts(&*sandbox, program).await;
    tried.assert_all(7 * 3 + 4, &["EPERM", "ENOSYS"]);
    assert_eq!((tried.get("clone3 10000000"), tried.get("clone NEWUSER")), ("ENOSYS", "EPERM"));
    tried.assert_denied(context, &[("unshare", 8), ("clone", 15)]);
    is_alive(&*sandbox).await;
}

pub(crate) async fn namespaces_cannot_be_joined(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    let program = "
for name in sorted(os.listdir('/proc/self/ns')):
    opened = os.open('/proc/self/ns/' + name, os.O_RDONLY)
    attempt('own ' + name, lambda: call('setns', opened, 0))
attempt('first process', lambda: call('setns', os.pidfd_open(1), 0x20000))
";
    let tried = attempts(&*sandbox, program).await;
    let count = tried.outcome.stdout.lines().count();
    assert!(count >= 9, "{}", tried.outcome.stdout);
    tried.assert_all(count, &["EPERM"]);
    tried.assert_denied(context, &[("setns", count as u64)]);
}

/// CVE-2017-5226, and CVE-2019-10063 with bits above those that the kernel reads.
pub(crate) async fn terminal_input_cannot_be_injected(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    let program = "
import fcntl, select
master, slave = os.openpty()
TIOCSTI, TIOCLINUX = 0x5412, 0x541c
for name, request in (('plain', TIOCSTI), ('high', TIOCSTI | 1 << 32), ('higher', TIOCSTI | 0xdead << 40), ('linux', TIOCLINUX), ('linux high', TIOCLINUX | 1 << 63)):
    for end in (master, slave):
        attempt('%s %d' % (name, end), lambda: call('ioctl', end, request, b'x'))
def control():
    os.setsid()
    fcntl.ioctl(slave, 0x540e, 0)
    call('ioctl', slave, TIOCSTI, b'x')
if os.fork() == 0:
    attempt('controlling', control)
    os._exit(0)
os.wait()
say('typed', select.select([slave], [], [], 0)[0])
os.write(master, b'typed by its owner\\n')
say('read', os.read(slave, 100))
";
    let tried = attempts(&*sandbox, program).await;
    for name in ["plain", "high", "higher", "linux", "linux high"] {
        let results: Vec<&str> =
            tried.outcome.stdout.lines().filter(|line| line.starts_with(&format!("{name} "))).collect();
        assert!(results.len() >= 2 && results.iter().all(|line| line.ends_with("=EPERM")), "{results:?}");
    }
    assert_eq!((tried.get("controlling"), tried.get("typed")), ("EPERM", "[]"));
    assert_eq!(tried.get("read"), "b'typed by its owner\\n'", "the terminal must work otherwise");
    tried.assert_denied(context, &[("ioctl", 11)]);
}

pub(crate) async fn mounting_is_refused(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    let program = "
def table():
    return open('/proc/self/mountinfo').read()
before = table()
for kind, source in (('tmpfs', b'none'), ('proc', b'proc'), ('sysfs', b'sysfs'), ('cgroup2', b'none'), ('cgroup', b'none'), ('overlay', b'overlay'), ('devpts', b'devpts'), ('ext4', b'/dev/vda'), ('fuse', b'none')):
    attempt('mount ' + kind, lambda: call('mount', source, b'/workspace', kind.encode(), 0, None))
    attempt('fsopen ' + kind, lambda: call('fsopen', kind.encode(), 0))
attempt('bind', lambda: call('mount', b'/', b'/workspace', None, 4096, None))
attempt('move', lambda: call('mount', b'/tmp', b'/workspace', None, 8192, None))
attempt('propagate', lambda: call('mount', None, b'/', None, 1 << 20 | 16384, None))
attempt('open_tree', lambda: call('open_tree', -100, b'/', 1))
attempt('pivot', lambda: call('pivot_root', b'/workspace', b'/workspace'))
attempt('fuse', lambda: os.open('/dev/fuse', os.O_RDWR))
for path in ('/dev/kvm', '/dev/mem', '/dev/kmsg', '/dev/loop-control', '/dev/net/tun', '/dev/vda', '/dev/sda', '/dev/vsock', '/dev/vhost-vsock'):
    attempt(path, lambda: os.open(path, os.O_RDONLY))
assert table() == before
";
    let tried = attempts(&*sandbox, program).await;
    tried.assert_all(9 * 2 + 5 + 1 + 9, &["EPERM", "ENOENT"]);
    tried.assert_denied(context, &[("mount", 12), ("fsopen", 9), ("pivot_root", 1)]);
}

/// Protocols without namespaces lead out of a sandbox: a vsock ends at the hypervisor, and netlink configures the kernel.
pub(crate) async fn other_protocols_are_refused(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    let program = "
ALLOWED = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
for family in range(48):
    if family not in ALLOWED:
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_RAW):
            attempt('%d %d' % (family, kind), lambda: call('socket', family, kind, 0))
for protocol in range(1, 24):
    attempt('netlink %d' % protocol, lambda: call('socket', socket.AF_NETLINK, socket.SOCK_RAW, protocol))
";
    let tried = attempts(&*sandbox, program).await;
    tried.assert_all(44 * 4 + 23, &["EAFNOSUPPORT", "EPROTONOSUPPORT"]);
    tried.assert_denied(context, &[("socket", 44 * 4 + 23)]);
}

pub(crate) async fn odd_personalities_are_refused(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    let program = "
for name, value in (('READ_IMPLIES_EXEC', 0x0400000), ('ADDR_COMPAT_LAYOUT', 0x0200000), ('MMAP_PAGE_ZERO', 0x0100000), ('LINUX32', 8), ('SVR4', 1), ('UNAME26', 0x20000)):
    attempt(name, lambda: call('personality', value))
assert c.personality(0xffffffff) == 0
";
    let tried = attempts(&*sandbox, program).await;
    tried.assert_all(6, &["EPERM"]);
    tried.assert_denied(context, &[("personality", 6)]);
}

/// `int 0x80` makes i386 calls, whose numbers differ: 120 is clone there, and 21 is mount.
#[cfg(target_arch = "x86_64")]
pub(crate) async fn calls_of_another_architecture_kill_the_process(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    for number in [20_u32, 21, 120, 310] {
        let program = format!(
            "import mmap
code = mmap.mmap(-1, 4096, prot=7)
# mov eax, number; xor ebx, ebx; xor ecx, ecx; int 0x80; ret
code.write(bytes([0xb8]) + ({number}).to_bytes(4, 'little') + bytes([0x31, 0xdb, 0x31, 0xc9, 0xcd, 0x80, 0xc3]))
function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
print('before', flush=True)
print('after', function(), flush=True)"
        );
        let outcome = python(&*sandbox, &program).await;
        assert_eq!(outcome.stdout, "before\n", "{outcome:?}");
        assert!(matches!(outcome.signal, Some(libc::SIGSYS | libc::SIGSEGV)), "{outcome:?}");
    }
    is_alive(&*sandbox).await;
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) async fn calls_of_another_architecture_kill_the_process(_world: &CaseContext) {
    crate::harness::skip_unclaimed("another architecture on this machine");
}

/// A seccomp supervisor of the sandbox could allow a call that menace denies.
pub(crate) async fn no_supervisor_can_be_installed(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    let program = "
# One instruction: return ALLOW.
code = (ctypes.c_uint64 * 1)(6 | 0x7fff0000 << 32)
filter = (ctypes.c_uint64 * 2)(1, ctypes.addressof(code))
attempt('listener', lambda: call('seccomp', 1, 8, filter))
attempt('filter', lambda: call('seccomp', 1, 0, filter))
attempt('mount', lambda: call('mount', b'none', b'/workspace', b'tmpfs', 0, None))
";
    let tried = attempts(&*sandbox, program).await;
    assert_eq!((tried.get("listener"), tried.get("filter"), tried.get("mount")), ("EPERM", "ok", "EPERM"));
    tried.assert_denied(context, &[("seccomp", 1), ("mount", 1)]);
}
