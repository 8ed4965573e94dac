//! Other processes, and privileges that a process could gain.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use menace_model::sandbox::{HostMount, MountAccess, SandboxSpec, WorkspaceContent};

use crate::directory::HostDirectory;
use crate::harness::{CaseContext, is_alive, read, refused, sh};
use crate::host::{marker, processes_with};
use crate::probe::attempts;

/// A process of the host that the sandbox must not see. It is killed on drop.
struct BystanderProcess {
    process: Child,
    marker: String,
}

impl BystanderProcess {
    fn start() -> Self {
        let marker = marker();
        let process = Command::new("sleep").arg0(&marker).arg("300").stdin(Stdio::null()).spawn().unwrap();
        let bystander = Self { process, marker };
        // Until exec its command line is that of this test.
        while !processes_with(&bystander.marker).contains(&bystander.pid()) {}
        bystander
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.process.id()).unwrap()
    }

    fn is_untouched(&mut self) {
        assert_eq!(self.process.try_wait().unwrap(), None, "the bystander was killed");
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        let state = stat.rsplit_once(')').unwrap().1.split_whitespace().next().unwrap();
        assert!(matches!(state, "S" | "R"), "the bystander was stopped: {stat}");
    }
}

impl Drop for BystanderProcess {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

pub(crate) async fn host_processes_are_invisible(context: &CaseContext) {
    let mut bystander = BystanderProcess::start();
    let sandbox = context.sandbox().await;
    let lines = read(&*sandbox, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '; ls /proc").await;
    assert!(lines.contains("cat"), "a command sees itself: {lines}");
    assert!(!lines.contains(&bystander.marker), "{lines}");
    let largest = lines.lines().filter_map(|name| name.parse::<u32>().ok()).max().unwrap();
    assert!(largest < 50, "the numbers begin at 1: {lines}");
    bystander.is_untouched();
}

pub(crate) async fn host_processes_cannot_be_signalled(context: &CaseContext) {
    let mut bystander = BystanderProcess::start();
    let sandbox = context.sandbox().await;
    let program = format!(
        "host = {}
for number in (0, signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL):
    attempt('kill %d' % number, lambda: os.kill(host, number))
    attempt('group %d' % number, lambda: os.kill(-host, number))
attempt('pidfd', lambda: os.pidfd_open(host))
attempt('priority', lambda: os.setpriority(os.PRIO_PROCESS, host, 19))
attempt('limit', lambda: call('prlimit64', host, 7, None, bytes(16)))
attempt('affinity', lambda: os.sched_setaffinity(host, [0]))",
        bystander.pid()
    );
    let tried = attempts(&*sandbox, &program).await;
    tried.assert_all(12, &["ESRCH", "EPERM"]);
    // This also kills the process that leads the command, but nothing outside of the sandbox.
    sh(&*sandbox, "kill -9 -1").await;
    is_alive(&*sandbox).await;
    bystander.is_untouched();
}

pub(crate) async fn the_init_process_cannot_be_inspected(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    let program = "
leader = os.getppid()
for process in (1, leader):
    for name in ('mem', 'exe', 'environ', 'maps', 'auxv', 'syscall', 'stack', 'pagemap', 'io'):
        for mode in (os.O_RDONLY, os.O_RDWR):
            path = '/proc/%d/%s' % (process, name)
            attempt('%s %d' % (path, mode), lambda: os.open(path, mode))
    for name in ('exe', 'cwd', 'root', 'ns/mnt', 'ns/user', 'ns/pid'):
        path = '/proc/%d/%s' % (process, name)
        attempt('readlink ' + path, lambda: os.readlink(path))
    for name in ('fd', 'fdinfo', 'map_files', 'task', 'cwd', 'root', 'root/proc'):
        path = '/proc/%d/%s' % (process, name)
        attempt('listdir ' + path, lambda: os.listdir(path))
    for request in (0x10, 0x4206):
        attempt('ptrace %d %x' % (process, request), lambda: call('ptrace', request, process, 0, 0))
    vector = (ctypes.c_ulong * 2)(ctypes.addressof(c.syscall), 8)
    attempt('readv %d' % process, lambda: call('process_vm_readv', process, vector, 1, vector, 1, 0))
    attempt('writev %d' % process, lambda: call('process_vm_writev', process, vector, 1, vector, 1, 0))
    handle = os.pidfd_open(process)
    attempt('getfd %d' % process, lambda: call('pidfd_getfd', handle, 0, 0))
    attempt('kcmp %d' % process, lambda: call('kcmp', process, os.getpid(), 0, 0, 0))
";
    let tried = attempts(&*sandbox, program).await;
    // The leader of a command is as protected as the init process.
    tried.assert_all(2 * (18 + 6 + 7 + 2 + 4), &["ENOENT", "EACCES", "EPERM"]);
    tried.assert_denied(
        context,
        &[("ptrace", 4), ("process_vm_readv", 2), ("process_vm_writev", 2), ("pidfd_getfd", 2), ("kcmp", 2)],
    );
    is_alive(&*sandbox).await;
}

pub(crate) async fn the_init_process_cannot_be_signalled(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    let program = "
for number in range(1, 65):
    os.kill(1, number)
    signal.pidfd_send_signal(os.pidfd_open(1), number)
    c.tgkill(1, 1, number)
";
    let tried = attempts(&*sandbox, program).await;
    assert_eq!(tried.outcome.exit_code, Some(0));
    is_alive(&*sandbox).await;
}

pub(crate) async fn commands_have_no_capabilities_and_get_none(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    let program = "
attempt('raise ambient', lambda: call('prctl', 47, 2, 21, 0, 0))
attempt('raise inheritable', lambda: call('capset', (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(0, 0, 1 << 21)))
attempt('user 0', lambda: os.setuid(0))
attempt('group 0', lambda: os.setgid(0))
attempt('groups', lambda: os.setgroups([0]))
attempt('securebits', lambda: call('prctl', 28, 0, 0, 0, 0))
attempt('new privileges', lambda: call('prctl', 38, 0, 0, 0, 0))
for line in open('/proc/self/status'):
    say(line.partition(':')[0], line.partition(':')[2].strip())
";
    let tried = attempts(&*sandbox, program).await;
    for name in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(tried.get(name), "0000000000000000", "{name}");
    }
    assert_eq!((tried.get("NoNewPrivs"), tried.get("Seccomp")), ("1", "2"));
    assert_eq!(tried.get("Uid"), "1000\t1000\t1000\t1000");
    for name in
        ["raise ambient", "raise inheritable", "user 0", "group 0", "groups", "securebits", "new privileges"]
    {
        assert!(matches!(tried.get(name), "EPERM" | "EINVAL"), "{name}: {}", tried.get(name));
    }
}

pub(crate) async fn setuid_programs_of_the_system_are_inert(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    let found = read(&*sandbox, "find /usr/bin /usr/sbin -perm -4000 -type f").await;
    assert!(found.contains("/su\n"), "this host has su: {found:?}");
    refused(&*sandbox, "su root -c 'id -u'").await;
    // The auxiliary vector has the credentials that the kernel gives to a program: AT_UID, AT_EUID and AT_SECURE.
    let su = found.lines().find(|path| path.ends_with("/su")).unwrap();
    let shown =
        read(&*sandbox, &format!("LD_SHOW_AUXV=1 {su} --version | grep -E '^AT_(E?UID|E?GID|SECURE)'")).await;
    let ids: Vec<&str> = shown.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(ids, ["1000", "1000", "1000", "1000", "0"], "{shown}");
}

pub(crate) async fn setuid_programs_of_a_mount_are_inert(context: &CaseContext) {
    let directory = HostDirectory::with(&[]);
    let program = directory.path().join("id");
    fs::copy("/usr/bin/id", &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o6755)).unwrap();
    let before = directory.fingerprint();
    let mount =
        HostMount { source: directory.path(), target: PathBuf::from("/data"), access: MountAccess::ReadOnly };
    let sandbox = context.create(SandboxSpec { mounts: vec![mount], ..directory.copied_on_write() }).await;
    for path in ["/data/id", "/workspace/id"] {
        assert_eq!(
            read(&*sandbox, &format!("test -u {path} && {path} -u && {path} -g")).await,
            "1000\n1000\n"
        );
    }
    // The sandbox cannot create one either.
    refused(&*sandbox, "cp /usr/bin/id /tmp/id && chmod 6755 /tmp/id").await;
    assert_eq!(directory.fingerprint(), before);
}

/// In a directory of root that is shared for writing, a setuid file would give root's rights to every user of the host.
pub(crate) async fn setuid_files_do_not_reach_the_host(context: &CaseContext) {
    let directory = HostDirectory::with(&[("existing", "text")]);
    let workspace = WorkspaceContent::ReadWrite(directory.path());
    let sandbox = context.create(SandboxSpec { workspace, ..SandboxSpec::default() }).await;
    let program = "
SETUID = 0o6755
attempt('chmod', lambda: os.chmod('existing', SETUID))
attempt('fchmod', lambda: os.fchmod(os.open('existing', os.O_RDWR), SETUID))
attempt('fchmodat', lambda: call('fchmodat', -100, b'/workspace/existing', SETUID))
attempt('fchmodat2', lambda: call('fchmodat2', -100, b'/workspace/existing', SETUID, 0))
attempt('open', lambda: call('open', b'/workspace/open', os.O_CREAT | os.O_WRONLY, SETUID))
attempt('openat', lambda: os.open('openat', os.O_CREAT | os.O_WRONLY, SETUID))
attempt('openat2', lambda: call('openat2', -100, b'/workspace/openat2', (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, SETUID, 0), 24))
attempt('creat', lambda: call('creat', b'/workspace/creat', SETUID))
attempt('mknod', lambda: call('mknod', b'/workspace/mknod', stat.S_IFREG | SETUID, 0))
attempt('mknodat', lambda: call('mknodat', -100, b'/workspace/mknodat', stat.S_IFREG | SETUID, 0))
def temporary():
    opened = os.open('/workspace', os.O_TMPFILE | os.O_RDWR, SETUID)
    call('linkat', -100, b'/proc/self/fd/%d' % opened, -100, b'/workspace/linked', 0x400)
attempt('temporary', temporary)
os.umask(0)
attempt('ordinary', lambda: os.open('ordinary', os.O_CREAT | os.O_WRONLY, 0o755))
attempt('sticky', lambda: os.mkdir('sticky', 0o1777))
";
    let tried = attempts(&*sandbox, program).await;
    assert_eq!((tried.get("ordinary"), tried.get("sticky")), ("ok", "ok"));
    for entry in fs::read_dir(directory.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o6000, 0, "{} has mode {mode:o} on the host", entry.file_name().display());
    }
}

pub(crate) async fn devices_cannot_be_made(context: &CaseContext) {
    let directory = HostDirectory::with(&[]);
    let before = directory.fingerprint();
    let mount = HostMount {
        source: directory.path(),
        target: PathBuf::from("/data"),
        access: MountAccess::ReadWrite,
    };
    let sandbox = context.create(SandboxSpec { mounts: vec![mount], ..SandboxSpec::default() }).await;
    let program = "
for place in ('/workspace', '/tmp', '/dev/shm', '/data'):
    for kind in (stat.S_IFCHR, stat.S_IFBLK):
        attempt('mknodat %s %o' % (place, kind), lambda: os.mknod(place + '/device', kind | 0o666, os.makedev(1, 1)))
        attempt('mknod %s %o' % (place, kind), lambda: call('mknod', (place + '/device').encode(), kind | 0o666, os.makedev(1, 1)))
";
    let tried = attempts(&*sandbox, program).await;
    tried.assert_all(16, &["EPERM"]);
    tried.assert_denied(context, &[("mknod", 8), ("mknodat", 8)]);
    assert_eq!(directory.fingerprint(), before);
}

/// Compares the namespaces of the host with those that processes inside see in `/proc/self/ns`.
pub(crate) async fn namespaces_are_not_those_of_the_host(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    for kind in ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"] {
        let inside = read(&*sandbox, &format!("readlink /proc/self/ns/{kind}")).await;
        let outside = fs::read_link(format!("/proc/self/ns/{kind}")).unwrap();
        assert!(inside.starts_with(&format!("{kind}:[")), "{inside}");
        assert_ne!(inside.trim(), outside.to_str().unwrap());
    }
    assert_eq!(read(&*sandbox, "cat /proc/self/cgroup | cut -d: -f3 | sort -u").await, "/\n");
    assert_eq!(read(&*sandbox, "cat /proc/self/uid_map | wc -l").await, "1\n");
    assert_eq!(read(&*sandbox, "hostname").await, "sandbox\n");
}
