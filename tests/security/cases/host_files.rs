//! Files of the host: those that must not be seen, and those that must not be written.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use menace_model::sandbox::{HostMount, MountAccess, SandboxSpec};
use menace_sandbox::Sandbox;
use tempfile::NamedTempFile;

use crate::directory::HostDirectory;
use crate::harness::{CaseContext, read, refused, sh};
use crate::probe::attempts;

const SECRET: &str = "a secret of the host";

fn secret_in(directory: &Path) -> NamedTempFile {
    let mut file = tempfile::Builder::new().prefix(".menace-secret-").tempfile_in(directory).unwrap();
    file.write_all(SECRET.as_bytes()).unwrap();
    // World-readable: the mode is not the protection here.
    file.as_file().set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    file
}

fn is_intact(secret: &NamedTempFile) {
    assert_eq!(fs::read_to_string(secret.path()).unwrap(), SECRET);
}

/// Asserts that the path does not show the secret. An attempt to write may have created a file of the sandbox's own there.
async fn reveals_nothing(sandbox: &dyn Sandbox, path: &str) {
    let outcome = sh(sandbox, &format!("cat {path}")).await;
    assert!(!outcome.stdout.contains(SECRET), "{path} shows a host file: {outcome:?}");
}

pub(crate) async fn host_files_are_invisible(context: &CaseContext) {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap());
    let secrets = [secret_in(&home), secret_in(&std::env::temp_dir()), secret_in(Path::new("/var/tmp"))];
    let sandbox = context.sandbox().await;
    for secret in &secrets {
        let path = secret.path().to_str().unwrap();
        refused(&*sandbox, &format!("cat {path}")).await;
        refused(&*sandbox, &format!("test -e {path}")).await;
        // A sandbox that writes to the same path gets another file.
        sh(
            &*sandbox,
            &format!("mkdir -p {}; echo overwritten > {path}", secret.path().parent().unwrap().display()),
        )
        .await;
        is_intact(secret);
    }
    refused(&*sandbox, "cat /etc/shadow").await;
    refused(&*sandbox, "cat /etc/gshadow").await;
    for path in ["/home", "/srv", "/mnt", "/media", "/var/lib", "/var/log", "/boot", "/run", "/sys"] {
        let found = read(&*sandbox, &format!("find {path} -xdev -type f 2>/dev/null | head -5; true")).await;
        assert_eq!(found, "", "{path}");
    }
}

pub(crate) async fn sockets_of_the_host_are_invisible(context: &CaseContext) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("docker.sock");
    let listener = UnixListener::bind(&path).unwrap();
    listener.set_nonblocking(true).unwrap();
    let sandbox = context.sandbox().await;
    let program = format!(
        "for path in ('{}', '/var/run/docker.sock', '/run/docker.sock', '/run/systemd/private', '/run/dbus/system_bus_socket'):
    attempt(path, lambda: socket.socket(socket.AF_UNIX).connect(path))",
        path.display()
    );
    attempts(&*sandbox, &program).await.assert_all(5, &["ENOENT"]);
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "a connection arrived");
}

/// Creates links that reach the secret by every form of path.
fn links_to(secret: &NamedTempFile, directory: &HostDirectory) -> Vec<String> {
    let target = secret.path();
    let relative = Path::new("../../../../../../../..").join(target.strip_prefix("/").unwrap());
    let by_process = Path::new("/proc/self/root").join(target.strip_prefix("/").unwrap());
    let links = [
        ("absolute", target.to_path_buf()),
        ("relative", relative),
        ("by_process", by_process),
        ("by_first_process", PathBuf::from(format!("/proc/1/root{}", target.display()))),
        ("by_link", PathBuf::from("absolute")),
    ];
    for (name, to) in &links {
        symlink(to, directory.path().join(name)).unwrap();
    }
    links.iter().map(|(name, _)| (*name).to_owned()).collect()
}

pub(crate) async fn workspace_links_do_not_reach_the_host(context: &CaseContext) {
    let (secret, directory) = (secret_in(&std::env::temp_dir()), HostDirectory::with(&[]));
    let links = links_to(&secret, &directory);
    let before = directory.fingerprint();
    let sandbox = context.create(directory.copied_on_write()).await;
    for link in links {
        reveals_nothing(&*sandbox, &link).await;
        sh(&*sandbox, &format!("echo overwritten > {link}; echo overwritten >> {link}; chmod 777 {link}"))
            .await;
        sh(
            &*sandbox,
            &format!("truncate -s 0 {link}; ln -f {link} hard; ln -Lf {link} hard; mv -f {link} /tmp/"),
        )
        .await;
        is_intact(&secret);
    }
    // A link that the sandbox creates in the layer, which a host process must not follow.
    sh(&*sandbox, &format!("ln -s {} trap; echo overwritten > trap", secret.path().display())).await;
    sandbox.changes().await.unwrap();
    is_intact(&secret);
    assert_eq!(directory.fingerprint(), before);
}

pub(crate) async fn mount_links_do_not_reach_the_host(context: &CaseContext) {
    let (secret, directory) = (secret_in(&std::env::temp_dir()), HostDirectory::with(&[]));
    let links = links_to(&secret, &directory);
    let before = directory.fingerprint();
    for access in [MountAccess::ReadOnly, MountAccess::ReadWrite] {
        let mount = HostMount { source: directory.path(), target: PathBuf::from("/data"), access };
        let sandbox = context.create(SandboxSpec { mounts: vec![mount], ..SandboxSpec::default() }).await;
        for link in &links {
            reveals_nothing(&*sandbox, &format!("/data/{link}")).await;
            sh(&*sandbox, &format!("echo overwritten > /data/{link}; truncate -s 0 /data/{link}")).await;
            is_intact(&secret);
        }
    }
    assert_eq!(directory.fingerprint(), before);
}

pub(crate) async fn parents_of_the_root_are_the_root(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    let here = read(&*sandbox, "ls -di /").await;
    for path in ["/..", "/../..", "/proc/self/root/..", "/proc/self/cwd/../..", "/workspace/../../.."] {
        assert_eq!(
            read(&*sandbox, &format!("cd -P {path} && ls -di . | sed 's,\\.,/,'")).await,
            here,
            "{path}"
        );
    }
    let host = fs::metadata("/").unwrap().ino();
    assert_ne!(here.trim().trim_end_matches('/').trim(), host.to_string(), "the root is not the host's");
    let program = "
opened = os.open('/', os.O_RDONLY)
attempt('chroot', lambda: os.chroot('/workspace'))
for _ in range(30):
    os.chdir('..')
say('inode', os.stat('.').st_ino == os.stat('/').st_ino)
say('descriptor', os.stat('../..', dir_fd=opened).st_ino == os.stat('/').st_ino)
";
    let tried = attempts(&*sandbox, program).await;
    assert_eq!((tried.get("chroot"), tried.get("inode"), tried.get("descriptor")), ("EPERM", "True", "True"));
}

/// Every way to write to a file of the lower directory by another name, or without a name.
pub(crate) async fn only_the_overlay_layer_is_written(context: &CaseContext) {
    let files = [("a", "a\n"), ("b", "b\n"), ("c", "c\n"), ("d/e", "e\n"), ("d/f", "f\n"), ("g", "g\n")];
    let directory = HostDirectory::with(&files);
    fs::hard_link(directory.path().join("a"), directory.path().join("a_too")).unwrap();
    let (before, times) = (directory.fingerprint(), times(&directory));
    let sandbox = context.create(directory.copied_on_write()).await;
    read(&*sandbox, "ln a hard && echo 1 >> hard && echo 2 > new && mv new b && mv d/e d/moved && rm a_too")
        .await;
    read(
        &*sandbox,
        "mv -T d dd && chmod 777 c && touch -d 2001-01-01 c && truncate -s 9 c && rm -f g && mkdir g",
    )
    .await;
    let program = "
import mmap
opened = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o600)
os.write(opened, b'temporary')
call('linkat', -100, b'/proc/self/fd/%d' % opened, -100, b'linked', 0x400)
os.rename('linked', 'a')
with open('dd/f', 'r+b') as file:
    mapped = mmap.mmap(file.fileno(), 0)
    mapped[0] = 88
    mapped.flush()
os.setxattr('b', 'user.attribute', b'value')
os.symlink('dd/f', 'link')
reading = os.open('c', os.O_RDONLY)
attempt('reopen', lambda: os.write(os.open('/proc/self/fd/%d' % reading, os.O_RDWR), b'by descriptor'))
attempt('exchange', lambda: call('renameat2', -100, b'a', -100, b'b', 2))
attempt('own', lambda: os.chown('b', os.getuid(), os.getgid()))
";
    let tried = attempts(&*sandbox, program).await;
    tried.assert_all(3, &["ok", "EINVAL"]);
    assert_eq!(directory.fingerprint(), before, "while the sandbox runs");
    sandbox.snapshot().await.unwrap();
    sandbox.destroy().await.unwrap();
    assert_eq!(
        (directory.fingerprint(), self::times(&directory)),
        (before, times),
        "after the sandbox ended"
    );
}

/// Change times and link counts, which a copy that replaces the file would not preserve.
fn times(directory: &HostDirectory) -> Vec<(PathBuf, i64, i64, u64, u64)> {
    let mut found = Vec::new();
    let mut pending = vec![directory.path()];
    while let Some(path) = pending.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        found.push((path, metadata.ctime(), metadata.ctime_nsec(), metadata.ino(), metadata.nlink()));
    }
    found.sort();
    found
}

pub(crate) async fn a_read_only_mount_cannot_be_changed_in_any_way(context: &CaseContext) {
    let directory = HostDirectory::with(&[("file", "text\n"), ("sub/file", "text\n")]);
    let (before, times_before) = (directory.fingerprint(), times(&directory));
    let mount = |source: PathBuf, target: &str| HostMount {
        source,
        target: PathBuf::from(target),
        access: MountAccess::ReadOnly,
    };
    let mounts = vec![mount(directory.path(), "/data"), mount(directory.path().join("file"), "/data2/file")];
    let sandbox = context.create(SandboxSpec { mounts, ..SandboxSpec::default() }).await;
    let program = "
for path in ('/data/file', '/data2/file'):
    for name, mode in (('write', os.O_WRONLY), ('both', os.O_RDWR), ('append', os.O_WRONLY | os.O_APPEND), ('truncate', os.O_RDONLY | os.O_TRUNC)):
        attempt(name + path, lambda: os.open(path, mode))
    reading = os.open(path, os.O_RDONLY)
    attempt('reopen' + path, lambda: os.open('/proc/self/fd/%d' % reading, os.O_RDWR))
    attempt('chmod' + path, lambda: os.chmod(path, 0o777))
    attempt('fchmod' + path, lambda: os.fchmod(reading, 0o777))
    attempt('times' + path, lambda: os.utime(path, (0, 0)))
    attempt('attribute' + path, lambda: os.setxattr(path, 'user.a', b'1'))
    attempt('own' + path, lambda: os.chown(path, 1000, 1000))
    attempt('shorten' + path, lambda: os.truncate(path, 0))
    attempt('link' + path, lambda: os.link(path, '/workspace/link'))
    attempt('move' + path, lambda: os.rename(path, '/workspace/moved'))
    attempt('over' + path, lambda: (open('/data_new', 'w') if False else os.rename('/workspace', path)))
    attempt('remove' + path, lambda: os.unlink(path))
    attempt('remount' + path, lambda: call('mount', None, path.encode(), None, 32 | 4096, None))
    attempt('setattr' + path, lambda: call('mount_setattr', -100, path.encode(), 0, (ctypes.c_uint64 * 4)(0, 1, 0, 0), 32))
attempt('create', lambda: os.open('/data/new', os.O_CREAT | os.O_WRONLY))
attempt('temporary', lambda: os.open('/data', os.O_TMPFILE | os.O_RDWR))
attempt('directory', lambda: os.mkdir('/data/new'))
attempt('symlink', lambda: os.symlink('a', '/data/new'))
attempt('node', lambda: os.mkfifo('/data/new'))
attempt('tree', lambda: os.rename('/data/sub', '/data/sub2'))
";
    let refusals = ["EROFS", "EACCES", "EPERM", "EXDEV", "EBUSY", "EOPNOTSUPP", "ENOTDIR"];
    attempts(&*sandbox, program).await.assert_all(2 * 17 + 6, &refusals);
    assert_eq!((directory.fingerprint(), times(&directory)), (before, times_before));
}

pub(crate) async fn the_system_cannot_be_written(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    let probe = format!("menace-security-{}", std::process::id());
    let program = format!(
        "for place in ('/', '/usr', '/usr/bin', '/etc', '/bin', '/lib', '/opt', '/var', '/proc', '/sys', '/dev', '/run', '/home', '/proc/self'):
    path = place + '/{probe}'
    attempt('create ' + path, lambda: os.open(path, os.O_CREAT | os.O_WRONLY))
    attempt('directory ' + path, lambda: os.mkdir(path))
for path in ('/etc/passwd', '/etc/hosts', '/bin/sh', '/usr/bin/env', '/lib64/ld-linux-x86-64.so.2'):
    attempt('write ' + path, lambda: os.open(path, os.O_RDWR))
    attempt('unlink ' + path, lambda: os.unlink(path))
    attempt('rename ' + path, lambda: os.rename(path, path + '.moved'))
for path in ('/', '/usr', '/etc', '/bin'):
    attempt('remount ' + path, lambda: call('mount', None, path.encode(), None, 32, None))
    attempt('bind ' + path, lambda: call('mount', None, path.encode(), None, 32 | 4096, None))
    attempt('umount ' + path, lambda: call('umount2', path.encode(), 2))"
    );
    let refusals = ["EROFS", "EACCES", "EPERM", "ENOENT", "EBUSY", "EISDIR"];
    let tried = attempts(&*sandbox, &program).await;
    tried.assert_all(14 * 2 + 5 * 3 + 4 * 3, &refusals);
    tried.assert_denied(context, &[("mount", 8), ("umount2", 4)]);
    for place in ["/", "/usr", "/usr/bin", "/etc", "/var", "/opt"] {
        assert!(!Path::new(place).join(&probe).exists(), "{place} of the host was written");
    }
}

pub(crate) async fn kernel_settings_cannot_be_changed(context: &CaseContext) {
    let knobs = [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/hostname",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/kernel/randomize_va_space",
        "/proc/sys/kernel/shmmax",
        "/proc/sys/vm/overcommit_memory",
        "/proc/sys/fs/file-max",
        "/proc/sys/net/ipv4/ip_forward",
        "/proc/sys/user/max_user_namespaces",
    ];
    // Every file reads as it does on the host, or does not exist on this kernel.
    let values = |paths: &[&str]| paths.iter().map(|path| fs::read_to_string(path).ok()).collect::<Vec<_>>();
    let before = values(&knobs);
    let sandbox = context.sandbox().await;
    let list = knobs.map(|path| format!("'{path}'")).join(", ");
    let program = format!(
        "for path in ({list}, '/proc/sysrq-trigger', '/proc/kcore', '/proc/kmsg', '/proc/1/oom_score_adj', '/proc/mtrr', '/sys/kernel/uevent_helper', '/sys/power/state', '/proc/irq/0/smp_affinity'):
    def write():
        opened = os.open(path, os.O_WRONLY)
        # Masked files are the null device, which accepts every write and ignores it.
        if not stat.S_ISCHR(os.fstat(opened).st_mode):
            os.write(opened, b'1')
        else:
            assert os.fstat(opened).st_rdev == os.makedev(1, 3)
            raise OSError(errno.EACCES, 'masked')
    attempt(path, write)
attempt('lower', lambda: os.write(os.open('/proc/self/oom_score_adj', os.O_WRONLY), b'-1000'))
for path in ('/proc/kcore', '/proc/kallsyms', '/proc/kmsg', '/proc/keys', '/proc/timer_list'):
    say('length of ' + path, len(open(path, 'rb').read(64)) if os.path.exists(path) else 0)"
    );
    let tried = attempts(&*sandbox, &program).await;
    tried.assert_all(17 + 1 + 5, &["EACCES", "EPERM", "EROFS", "ENOENT", "0"]);
    assert_eq!(values(&knobs), before);
}

/// Devices as `devtmpfs` of the host names them.
const DEVICES: [&str; 6] = ["/full", "/null", "/random", "/tty", "/urandom", "/zero"];

pub(crate) async fn every_mount_is_nosuid_and_nodev(context: &CaseContext) {
    let directory = HostDirectory::with(&[("file", "text")]);
    let mount =
        |target: &str, access| HostMount { source: directory.path(), target: PathBuf::from(target), access };
    let mounts = vec![mount("/data/ro", MountAccess::ReadOnly), mount("/data/rw", MountAccess::ReadWrite)];
    let sandbox = context.create(SandboxSpec { mounts, ..directory.copied_on_write() }).await;
    let table = read(&*sandbox, "cat /proc/self/mountinfo").await;
    let mut seen = Vec::new();
    for line in table.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let (target, options) = (fields[4], fields[5].split(',').collect::<Vec<_>>());
        assert!(options.contains(&"nosuid"), "{line}");
        let is_one_device =
            DEVICES.contains(&fields[3]) && (target.starts_with("/dev/") || target.starts_with("/proc/"));
        assert!(is_one_device || target == "/dev/pts" || options.contains(&"nodev"), "{line}");
        let may_write = ["/workspace", "/tmp", "/dev/", "/proc", "/data/rw"];
        assert!(options.contains(&"ro") || may_write.iter().any(|place| target.starts_with(place)), "{line}");
        // Private propagation: later mounts of the host do not appear, and the other way round.
        assert!(!line.contains("shared:") && !line.contains("master:"), "{line}");
        seen.push(target.to_owned());
    }
    for target in ["/", "/usr", "/proc", "/workspace", "/tmp", "/data/ro", "/data/rw"] {
        assert!(seen.iter().any(|other| other == target), "{target} is not in {seen:?}");
    }
}
