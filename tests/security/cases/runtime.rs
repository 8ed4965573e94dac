//! Attacks on menace itself: its descriptors and its binary, both of which were escapes from other sandboxes.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use menace_model::sandbox::{ExecRequest, SandboxSpec};
use menace_sandbox::native::{NativeBackend, NativeOptions};
use menace_sandbox::{Backend, Sandbox, SandboxError};
use menace_tests::menace_binary;
use rustix::io::{FdFlags, fcntl_setfd};

use crate::directory::HostDirectory;
use crate::harness::{CaseContext, is_alive, read, skip_unclaimed};
use crate::host::{BackendKind, HostState};
use crate::probe::{attempts, program};

const OPEN_DESCRIPTORS: &str = "
def is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
say('open', [number for number in range(1024) if is_open(number)])
";

async fn assert_only_the_standard_streams(sandbox: &dyn Sandbox) {
    assert_eq!(attempts(sandbox, OPEN_DESCRIPTORS).await.get("open"), "[0, 1, 2]");
    let outcome = sandbox.exec(program(OPEN_DESCRIPTORS).exclusive()).await.unwrap();
    assert_eq!(outcome.stdout, "open=[0, 1, 2]\n", "{outcome:?}");
}

pub(crate) async fn only_the_standard_streams_are_open(context: &CaseContext) {
    let directory = HostDirectory::with(&[("file", "text")]);
    assert_only_the_standard_streams(&*context.create(directory.copied_on_write()).await).await;
}

/// The caller has a file open without close-on-exec, as many programs do.
pub(crate) async fn descriptors_of_the_caller_are_not_inherited(context: &CaseContext) {
    let leak = File::open("/").unwrap();
    fcntl_setfd(&leak, FdFlags::empty()).unwrap();
    let host = context.host.look_again();
    let backend = crate::harness::start_backend(&host).await;
    let sandbox = backend.create(SandboxSpec::default()).await.unwrap();
    assert_only_the_standard_streams(&*sandbox).await;
    for directory in [leak.as_raw_fd(), 3, 4, 5].map(|number| format!("/proc/self/fd/{number}")) {
        refuses_the_directory(&*sandbox, &directory).await;
    }
    drop((sandbox, backend));
    host.assert_unchanged();
}

async fn refuses_the_directory(sandbox: &dyn Sandbox, directory: &str) {
    for exclusive in [false, true] {
        let request = ExecRequest {
            directory: Some(PathBuf::from(directory)),
            exclusive,
            ..ExecRequest::new(["sh", "-c", "pwd -P; ls -a . .. ../.. ../../.."])
        };
        match sandbox.exec(request).await {
            Err(SandboxError::Inside { .. }) => {}
            other => panic!("{directory}: {other:?}"),
        }
    }
}

/// CVE-2024-21626: `WORKDIR /proc/self/fd/7` was the host's root directory, which runc had open at that moment.
pub(crate) async fn the_working_directory_cannot_be_a_leaked_descriptor(context: &CaseContext) {
    let directory = HostDirectory::with(&[("file", "text")]);
    let sandbox = context.create(directory.copied_on_write()).await;
    for number in 3..30 {
        refuses_the_directory(&*sandbox, &format!("/proc/self/fd/{number}")).await;
        refuses_the_directory(&*sandbox, &format!("/dev/fd/{number}/..")).await;
    }
    read(&*sandbox, "for number in $(seq 3 30); do ln -s /proc/self/fd/$number link$number; done").await;
    for number in 3..30 {
        refuses_the_directory(&*sandbox, &format!("/workspace/link{number}")).await;
    }
    refuses_the_directory(&*sandbox, "/proc/1/root").await;
    refuses_the_directory(&*sandbox, "/proc/1/cwd").await;
    is_alive(&*sandbox).await;
}

/// The same for copying: a link that the sandbox placed where its caller puts and gets files.
pub(crate) async fn put_and_get_do_not_follow_runtime_descriptors(context: &CaseContext) {
    let directory = HostDirectory::with(&[("file", "text")]);
    let before = directory.fingerprint();
    let sandbox = context.create(directory.copied_on_write()).await;
    read(&*sandbox, "for number in $(seq 0 30); do ln -s /proc/self/fd/$number link$number; done").await;
    for number in 0..=30 {
        for path in [format!("/workspace/link{number}/layer"), format!("/proc/self/fd/{number}/layer")] {
            let mut archive = Vec::new();
            let got = sandbox.get(Path::new(&path), &mut archive).await;
            assert!(got.is_err(), "{path} must not give access to the layer of the sandbox");
        }
    }
    assert_eq!(directory.fingerprint(), before);
    is_alive(&*sandbox).await;
}

/// CVE-2019-5736: `/proc/self/exe` of a runc process in the container was the binary of the host, and was writable.
pub(crate) async fn the_runtime_cannot_be_overwritten(context: &CaseContext) {
    let before = hash(menace_binary());
    let sandbox = context.sandbox().await;
    let program = "
for process in ('self', '1', str(os.getppid())):
    path = '/proc/%s/exe' % process
    for name, mode in (('write', os.O_WRONLY), ('both', os.O_RDWR), ('truncate', os.O_RDONLY | os.O_TRUNC)):
        attempt('%s %s' % (path, name), lambda: os.open(path, mode))
    attempt('chmod ' + path, lambda: os.chmod(path, 0o777))
    attempt('truncate ' + path, lambda: os.truncate(path, 0))
opened = os.open('/proc/self/exe', os.O_PATH)
attempt('by descriptor', lambda: os.open('/proc/self/fd/%d' % opened, os.O_WRONLY))
";
    let refusals = ["EROFS", "EACCES", "EPERM", "ENOENT", "ETXTBSY"];
    attempts(&*sandbox, program).await.assert_all(3 * 5 + 1, &refusals);
    assert_eq!(hash(menace_binary()), before);
}

/// The exploit of CVE-2019-5736: a script whose interpreter is the runtime that starts it. Here the binary even belongs
/// to the host user that the sandbox is mapped to, as with an installation in a home directory.
pub(crate) async fn the_runtime_cannot_be_executed_as_the_program(_world: &CaseContext) {
    let directory = tempfile::tempdir().unwrap();
    let binary = directory.path().join("menace");
    fs::copy(menace_binary(), &binary).unwrap();
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o777)).unwrap();
    let before = hash(&binary);
    let host = HostState::look(BackendKind::Native);
    // A single-threaded process would be forked instead of executed again.
    let (end, other_thread) = std::sync::mpsc::channel::<()>();
    let other_thread = std::thread::spawn(move || other_thread.recv().is_err());
    let options = NativeOptions {
        executable: binary.clone(),
        runtime_directory: Some(host.runtime_directory().to_owned()),
    };
    let backend: Arc<dyn Backend> = Arc::new(NativeBackend::start(&options).await.unwrap());
    assert_eq!(host.backends().len(), 1);
    let sandbox = backend.create(SandboxSpec::default()).await.unwrap();
    read(&*sandbox, "printf '#!/proc/self/exe\\n' > evil; chmod +x evil; ln -s /proc/self/exe exe").await;
    let is_restricted = sandbox.isolation().await.unwrap().landlock_abi > 0;
    for program in ["/workspace/evil", "/workspace/exe", "/proc/self/exe"] {
        for exclusive in [false, true] {
            let request = ExecRequest { exclusive, ..ExecRequest::new([program, "--version"]) };
            let started = sandbox.exec(request).await;
            // It is outside of the sandbox's root, so Landlock denies executing and writing it.
            if is_restricted {
                assert!(matches!(started, Err(SandboxError::Start { .. })), "{program}: {started:?}");
            } else {
                skip_unclaimed("Landlock");
            }
        }
    }
    assert_eq!(hash(&binary), before);
    drop((sandbox, backend, end));
    assert!(other_thread.join().unwrap());
    host.assert_unchanged();
}

fn hash(path: &Path) -> String {
    blake3::hash(&fs::read(path).unwrap()).to_string()
}
