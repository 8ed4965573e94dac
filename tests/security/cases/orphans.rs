//! Processes that try to outlive their timeout. They are searched from outside, by a marker in their command line.

use std::time::{Duration, Instant};

use menace_model::sandbox::ExecRequest;
use menace_sandbox::{Sandbox, SandboxError};

use crate::harness::{CaseContext, PROMPT, is_alive, script, start_backend, wait_for};
use crate::host::{marker, processes_with, wait_for_processes_with};
use crate::probe::program;

/// Timeout of commands in these cases.
const TIMEOUT: Duration = Duration::from_millis(400);
/// Additional grace after the timeout for processes that sabotage their termination, on a busy machine.
const GRACE_FOR_SABOTAGE: Duration = Duration::from_millis(1400);

/// Script that starts two processes outside of its process tree, group and session, and one inside.
fn double_forks(marker: &str) -> String {
    let stay = format!("trap '' TERM HUP INT; sleep 300; : {marker}");
    format!(
        "(setsid sh -c \"{stay}\" &) & (setsid setsid sh -c \"{stay}\" >/dev/null 2>&1 </dev/null &) &
         sh -c \"{stay}\" & wait; sleep 300"
    )
}

/// Number of processes with the marker, including the shell that starts them.
const DOUBLE_FORKED: usize = 4;

/// Runs a command that times out, and measures how long its processes stayed after that.
async fn time_after_the_timeout(sandbox: &dyn Sandbox, request: ExecRequest, marker: &str) -> Duration {
    let started = Instant::now();
    let outcome = sandbox.exec(request.timeout(TIMEOUT)).await;
    match &outcome {
        Ok(outcome) => assert!(outcome.timed_out || outcome.signal.is_some(), "{outcome:?}"),
        Err(error) => assert!(matches!(error, SandboxError::Gone { .. }), "{error}"),
    }
    while !processes_with(marker).is_empty() {
        assert!(started.elapsed() < PROMPT, "{:?} still run after {outcome:?}", processes_with(marker));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    started.elapsed().saturating_sub(TIMEOUT)
}

async fn dies_with_its_timeout(context: &CaseContext, request: ExecRequest, marker: &str) {
    let sandbox = context.sandbox().await;
    let (after, ()) = tokio::join!(time_after_the_timeout(&*sandbox, request, marker), async {
        wait_for_processes_with(marker, DOUBLE_FORKED, TIMEOUT).await;
    });
    assert!(after < context.grace(), "{after:?} after the deadline");
    is_alive(&*sandbox).await;
}

pub(crate) async fn orphans_die_with_the_timeout(context: &CaseContext) {
    let marker = marker();
    dies_with_its_timeout(context, script(&double_forks(&marker)), &marker).await;
}

pub(crate) async fn orphans_die_with_the_timeout_of_an_exclusive_command(context: &CaseContext) {
    let marker = marker();
    dies_with_its_timeout(context, script(&double_forks(&marker)).exclusive(), &marker).await;
}

pub(crate) async fn orphans_die_with_the_sandbox(context: &CaseContext) {
    let marker = marker();
    let sandbox = context.sandbox().await;
    let process = sandbox.spawn(script(&double_forks(&marker))).await.unwrap();
    wait_for_processes_with(&marker, DOUBLE_FORKED, PROMPT).await;
    sandbox.destroy().await.unwrap();
    assert_eq!(processes_with(&marker), Vec::<i32>::new(), "processes outlived the sandbox");
    drop(process);
}

pub(crate) async fn orphans_die_with_a_dropped_sandbox(context: &CaseContext) {
    let marker = marker();
    let sandbox = context.sandbox().await;
    // Orphans of a command whose leader has exited are reparented to the init process.
    let outcome = sandbox.exec(script(&format!("(setsid sh -c 'sleep 300; : {marker}' &) & exit 3"))).await;
    assert_eq!(outcome.unwrap().exit_code, Some(3));
    wait_for_processes_with(&marker, 1, PROMPT).await;
    drop(sandbox);
    wait_for_processes_with(&marker, 0, context.grace() + GRACE_FOR_SABOTAGE).await;
}

/// Also if the sandbox is not destroyed and its handle is still held.
pub(crate) async fn orphans_die_with_the_backend(context: &CaseContext) {
    let host = context.host.look_again();
    let backend = start_backend(&host).await;
    let marker = marker();
    let sandbox = backend.create(menace_model::sandbox::SandboxSpec::default()).await.unwrap();
    let process = sandbox.spawn(script(&double_forks(&marker))).await.unwrap();
    wait_for_processes_with(&marker, DOUBLE_FORKED, PROMPT).await;
    assert!(
        host.processes_of_sandboxes().len() >= DOUBLE_FORKED,
        "the search after each case must find them"
    );
    drop((process, sandbox, backend));
    wait_for_processes_with(&marker, 0, context.grace() + GRACE_FOR_SABOTAGE).await;
    host.assert_unchanged();
}

/// Request for a loop that sabotages the process that leads the command.
fn saboteur(marker: &str, sabotage: &str) -> ExecRequest {
    let text = format!(
        "# {marker}
leader = os.getppid()
for number in range(1, 32):
    if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)
command = os.getpid()
if os.fork() == 0:
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    os.close(1)
    os.close(2)
while True:
    try:
        {sabotage}
    except OSError:
        pass
    time.sleep(0.001)"
    );
    program(&text)
}

async fn sabotage_does_not_help(context: &CaseContext, sabotage: &str) {
    let marker = marker();
    let sandbox = context.sandbox().await;
    let request = saboteur(&marker, sabotage);
    let after = time_after_the_timeout(&*sandbox, request, &marker).await;
    assert!(after < context.grace() + GRACE_FOR_SABOTAGE, "{after:?} after the deadline");
    let destroyed = tokio::time::timeout(PROMPT, sandbox.destroy()).await;
    destroyed.expect("a sabotaged sandbox can be destroyed").unwrap();
}

pub(crate) async fn killing_the_leader_does_not_help(context: &CaseContext) {
    sabotage_does_not_help(context, "os.kill(leader, signal.SIGKILL)").await;
}

pub(crate) async fn stopping_the_leader_does_not_help(context: &CaseContext) {
    sabotage_does_not_help(context, "os.kill(leader, signal.SIGSTOP)").await;
}

/// Without file descriptors the leader cannot read `/proc`.
pub(crate) async fn starving_the_leader_does_not_help(context: &CaseContext) {
    sabotage_does_not_help(context, "call('prlimit64', leader, 7, bytes(16), None)").await;
}

/// The children of a process that is not dumpable cannot be found in `/proc`.
pub(crate) async fn hiding_from_the_process_view_does_not_help(context: &CaseContext) {
    sabotage_does_not_help(context, "call('prctl', 4, 0, 0, 0, 0)").await;
}

/// A process id that was read may belong to a process that is gone when the kill arrives.
pub(crate) async fn respawning_constantly_does_not_help(context: &CaseContext) {
    sabotage_does_not_help(context, "os.getpid() != command and os.fork() and os._exit(0)").await;
}

/// The init process belongs to the same user, who may lower its limit of descriptors. At worst that ends the sandbox, and
/// the caller gets an error instead of a hang.
pub(crate) async fn limiting_the_init_process_only_ends_the_sandbox(context: &CaseContext) {
    let sandbox = context.sandbox().await;
    let text = "
for resource in range(16):
    attempt('limit %d' % resource, lambda: call('prlimit64', 1, resource, bytes(16), None))
print('ready', flush=True)
time.sleep(300)";
    let mut process = sandbox.spawn(program(text)).await.unwrap();
    wait_for(&mut *process, "ready").await;
    let next = tokio::time::timeout(PROMPT, sandbox.exec(ExecRequest::new(["true"]))).await;
    let _works_or_says_why = next.expect("a sandbox that cannot respond must not block the caller");
    tokio::time::timeout(PROMPT, sandbox.destroy()).await.expect("destroy returns immediately").unwrap();
}
