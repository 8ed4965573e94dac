//! Attacks on resource limits.

use std::process::Command;
use std::time::{Duration, Instant};

use menace_model::sandbox::{PauseMethod, ResourceController, SandboxLimits, SandboxSpec};

use crate::harness::{CaseContext, PROMPT, is_alive, read, script, skip_unclaimed, wait_for};
use crate::host::{marker, processes_with, wait_for_processes_with};
use crate::probe::{attempts, program, python};

const SHORT: Duration = Duration::from_millis(500);

fn with(limits: SandboxLimits) -> SandboxSpec {
    SandboxSpec { limits, ..SandboxSpec::default() }
}

/// Process limit for fork and thread bombs.
const PIDS: u64 = 64;

/// Runs a bomb of processes or threads until its timeout, and watches the host meanwhile.
async fn is_limited(context: &CaseContext, bomb: &str) {
    let sandbox = context.create(with(SandboxLimits { pids: Some(PIDS), ..SandboxLimits::default() })).await;
    let running = sandbox.exec(program(bomb).timeout(SHORT * 2));
    let look = async {
        let mut most = 0;
        let started = Instant::now();
        while started.elapsed() < SHORT * 2 {
            most = most.max(context.host.threads_of_sandboxes());
            tokio::time::sleep(SHORT / 20).await;
        }
        let status = Command::new("true").status().expect("the host can still start programs");
        assert!(status.success());
        // The init process and the leader belong to menace.
        assert!(most <= PIDS + 2, "{most} threads, {PIDS} are allowed");
        assert!(most >= PIDS / 2, "{most} threads are too few for a bomb");
    };
    let (outcome, ()) = tokio::join!(running, look);
    assert!(outcome.unwrap().timed_out);
    // The sandbox is still usable: all processes of the bomb are gone.
    is_alive(&*sandbox).await;
    let destroyed = tokio::time::timeout(PROMPT, sandbox.destroy()).await;
    destroyed.expect("destroy returns immediately").unwrap();
}

pub(crate) async fn a_fork_bomb_is_limited(context: &CaseContext) {
    let bomb = "
while True:
    try:
        os.fork()
    except OSError:
        time.sleep(0.01)
";
    is_limited(context, bomb).await;
}

pub(crate) async fn a_thread_bomb_is_limited(context: &CaseContext) {
    let bomb = "
import threading
threading.stack_size(65536)
while True:
    try:
        threading.Thread(target=time.sleep, args=(300,), daemon=True).start()
    except RuntimeError:
        time.sleep(0.01)
";
    is_limited(context, bomb).await;
}

/// With a memory controller the bomb is killed when all processes together exceed the limit; without one an allocation
/// of a single process fails.
pub(crate) async fn a_memory_bomb_is_stopped(context: &CaseContext) {
    const LIMIT: u64 = 96 << 20;
    if context.controls(ResourceController::Memory) {
        let sandbox =
            context.create(with(SandboxLimits { memory: Some(LIMIT), ..SandboxLimits::default() })).await;
        for bomb in [
            "hoard = [bytearray(b'x') * (8 << 20) for _ in range(64)]",
            "import mmap\nhoard = mmap.mmap(-1, 512 << 20, flags=mmap.MAP_SHARED)\nfor at in range(0, 512 << 20, 4096): hoard[at] = 1",
            "file = os.memfd_create('bomb')\nfor _ in range(64): os.write(file, bytes(8 << 20))",
        ] {
            let outcome = python(&*sandbox, bomb).await;
            assert!(outcome.oom, "{bomb}: {outcome:?}");
            assert_ne!(outcome.exit_code, Some(0), "{bomb}");
            let peak = outcome.usage.peak_rss_bytes.unwrap();
            assert!(peak <= LIMIT + (1 << 20), "{peak} bytes of {LIMIT}");
            is_alive(&*sandbox).await;
        }
        return;
    }
    skip_unclaimed("a limit on the memory of all processes together");
    let sandbox = context.sandbox().await;
    // Untouched memory is not resident; the limit is on the address space.
    let bomb = "
import mmap
hoard = []
try:
    while len(hoard) < 24:
        hoard.append(mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    say('end', 'none')
except OSError as error:
    say('end', errno.errorcode[error.errno])
say('promised', len(hoard) * (64 << 20))
";
    let tried = attempts(&*sandbox, bomb).await;
    let promised: u64 = tried.get("promised").parse().unwrap();
    assert_eq!(tried.get("end"), "ENOMEM", "{promised} bytes were reserved");
    assert!(promised <= SandboxLimits::MEMORY, "{promised} bytes were reserved");
}

pub(crate) async fn a_descriptor_bomb_is_stopped(context: &CaseContext) {
    let sandbox = context.create(with(SandboxLimits { open_files: 100, ..SandboxLimits::default() })).await;
    let bomb = "
for name, take in (('open', lambda: os.open('/dev/null', os.O_RDONLY)), ('pipe', os.pipe), ('socket', lambda: socket.socket().detach())):
    try:
        for count in range(1, 10_000):
            take()
        say(name, 'none')
    except OSError as error:
        say(name, errno.errorcode[error.errno])
    os.closerange(3, 10_000)
attempt('raise', lambda: call('prlimit64', 0, 7, (ctypes.c_uint64 * 2)(1 << 20, 1 << 20), None))
";
    let tried = attempts(&*sandbox, bomb).await;
    for name in ["open", "pipe", "socket"] {
        assert_eq!(tried.get(name), "EMFILE");
    }
    assert_eq!(tried.get("raise"), "EPERM");
    is_alive(&*sandbox).await;
}

/// A core limit of 0 prevents core files but not a core handler program on the host; a limit of 1 prevents both.
pub(crate) async fn no_core_is_dumped(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    let tried =
        attempts(&*sandbox, "import resource\nsay('core', resource.getrlimit(resource.RLIMIT_CORE))").await;
    assert_eq!(tried.get("core"), "(1, 1)");
    let outcome = python(&*sandbox, "os.kill(os.getpid(), signal.SIGSEGV)").await;
    assert_eq!(outcome.signal, Some(libc::SIGSEGV), "{outcome:?}");
    assert_eq!(read(&*sandbox, "ls -A").await, "");
}

pub(crate) async fn ignoring_sigterm_does_not_prevent_the_kill(context: &CaseContext) {
    let marker = marker();
    let text = format!(
        "# {marker}
for number in range(1, 65):
    if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, 32, 33):
        signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, set(range(1, 65)) - {{32, 33}})
print('ready', flush=True)
while True:
    time.sleep(1)"
    );
    for exclusive in [false, true] {
        let sandbox = context.sandbox().await;
        let mut request = program(&text).timeout(SHORT);
        request.exclusive = exclusive;
        let started = Instant::now();
        let outcome = sandbox.exec(request).await.unwrap();
        let after = started.elapsed().saturating_sub(SHORT);
        assert!(outcome.timed_out && outcome.stdout == "ready\n", "{outcome:?}");
        assert!(after < context.grace(), "{after:?} after the deadline");
        assert_eq!(processes_with(&marker), Vec::<i32>::new());
        let mut signalled = sandbox.spawn(program(&text)).await.unwrap();
        wait_for(&mut *signalled, "ready").await;
        signalled.signal(libc::SIGTERM).await.unwrap();
        wait_for_processes_with(&marker, 1, PROMPT).await;
        sandbox.destroy().await.unwrap();
        assert_eq!(processes_with(&marker), Vec::<i32>::new());
    }
}

/// CPU limit, in processors.
const SHARE: f64 = 0.2;

/// Two processes that compute without a pause, on a fifth of one core.
pub(crate) async fn a_cpu_hog_gets_its_share(context: &CaseContext) {
    if !context.controls(ResourceController::Cpu) || !context.controls(ResourceController::CpuAccounting) {
        return skip_unclaimed("a share of the processors");
    }
    let sandbox = context.create(with(SandboxLimits { cpus: Some(SHARE), ..SandboxLimits::default() })).await;
    let hogs = script("(while :; do :; done) & while :; do :; done").timeout(Duration::from_secs(1));
    let outcome = sandbox.exec(hogs).await.unwrap();
    let taken = (outcome.usage.cpu_user_ms.unwrap() + outcome.usage.cpu_system_ms.unwrap()) / outcome.wall_ms;
    assert!(taken < SHARE * 1.6, "{taken} of a processor");
    assert!(taken > SHARE * 0.3, "{taken} of a processor is less than the limit allows");
}

pub(crate) async fn usage_of_a_killed_command_is_counted(context: &CaseContext) {
    for exclusive in [false, true] {
        let sandbox = context.sandbox().await;
        let mut request = script("while :; do :; done").timeout(Duration::from_millis(400));
        request.exclusive = exclusive;
        let outcome = sandbox.exec(request).await.unwrap();
        let taken = outcome.usage.cpu_user_ms.unwrap() + outcome.usage.cpu_system_ms.unwrap();
        assert!(outcome.timed_out && taken > 20.0, "{taken} ms, exclusive: {exclusive}");
        assert!(outcome.usage.peak_rss_bytes.unwrap() > 0, "{outcome:?}");
    }
}

pub(crate) async fn processor_time_is_limited(context: &CaseContext) {
    let is_counted = context.controls(ResourceController::CpuAccounting);
    let allowed = if is_counted { Duration::from_millis(300) } else { Duration::from_secs(1) };
    let sandbox =
        context.create(with(SandboxLimits { cpu_time: Some(allowed), ..SandboxLimits::default() })).await;
    // With a controller the time of all processes is counted together.
    let hog = if is_counted {
        "(while :; do :; done) & (while :; do :; done) & sleep 300"
    } else {
        skip_unclaimed("the processor time of all processes together");
        "while :; do :; done"
    };
    let outcome = sandbox.exec(script(hog).timeout(PROMPT)).await.unwrap();
    assert!(outcome.cpu_exceeded && !outcome.timed_out, "{outcome:?}");
    let taken = outcome.usage.cpu_user_ms.unwrap() + outcome.usage.cpu_system_ms.unwrap();
    let most = allowed.as_secs_f64() * 1e3 + 200.0;
    assert!(taken < most, "{taken} ms of {allowed:?}");
    is_alive(&*sandbox).await;
}

/// Several processes, all started before the pause, that compute, and send SIGCONT to each other where that must not help:
/// a process that was stopped by a signal can be continued by one that is not stopped yet, and a backend that pauses by
/// signals claims no more.
pub(crate) async fn a_paused_sandbox_does_not_run(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    let wakes = match context.backend.capabilities().pause {
        Some(PauseMethod::Freezer) => "os.kill(-1, signal.SIGCONT)",
        Some(PauseMethod::Signals) => "os.getpid()",
        None => return skip_unclaimed("pausing"),
    };
    let text = format!(
        "for _ in range(3):
    if os.fork() == 0:
        break
else:
    print('ready', flush=True)
while True:
    {wakes}"
    );
    let mut process = sandbox.spawn(program(&text)).await.unwrap();
    wait_for(&mut *process, "ready").await;
    sandbox.pause().await.unwrap();
    let times = context.host.processor_ticks_of_sandboxes();
    assert!(!times.is_empty(), "no process was found");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(context.host.processor_ticks_of_sandboxes(), times, "a process ran during the pause");
    sandbox.resume().await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_ne!(context.host.processor_ticks_of_sandboxes(), times, "the processes run after the resume");
    sandbox.destroy().await.unwrap();
}

/// Each denied call is handled by the init process, which must stay responsive.
pub(crate) async fn endless_denied_calls_are_counted_and_terminated(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    let bomb = "
import threading
def bomb():
    while True:
        c.syscall(NUMBERS['mount'], 0, 0, 0, 0, 0)
for _ in range(8):
    threading.Thread(target=bomb, daemon=True).start()
time.sleep(300)
";
    let started = Instant::now();
    let outcome = sandbox.exec(program(bomb).timeout(SHORT)).await.unwrap();
    let after = started.elapsed().saturating_sub(SHORT);
    assert!(outcome.timed_out, "{outcome:?}");
    assert!(after < context.grace() * 3, "{after:?} after the deadline");
    if context.reports_denied() {
        assert_eq!(outcome.denied.len(), 1, "{:?}", outcome.denied);
        assert!(outcome.denied[0].count > 1000, "{:?}", outcome.denied);
    }
    is_alive(&*sandbox).await;
}
