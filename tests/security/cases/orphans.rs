//! Processes that want to outlive their time. They are looked for from outside, by what is in their command line.

use std::time::{Duration, Instant};

use menace_model::sandbox::ExecRequest;
use menace_sandbox::{Sandbox, SandboxError};

use crate::harness::{PROMPT, World, is_alive, script, start_backend, wait_for};
use crate::host::{marker, processes_with, wait_for_processes_with};
use crate::probe::program;

/// How long a command may run here.
const TIMEOUT: Duration = Duration::from_millis(400);
/// How much longer than usual anything of it may be there after that when it does all it can to stay, on a machine that has
/// other things to do.
const GRACE_FOR_SABOTAGE: Duration = Duration::from_millis(1400);

/// Two processes that have left their parent, their group and their session, and one that has not.
fn double_forks(marker: &str) -> String {
    let stay = format!("trap '' TERM HUP INT; sleep 300; : {marker}");
    format!(
        "(setsid sh -c \"{stay}\" &) & (setsid setsid sh -c \"{stay}\" >/dev/null 2>&1 </dev/null &) &
         sh -c \"{stay}\" & wait; sleep 300"
    )
}

/// The shell that starts them has the marker too.
const DOUBLE_FORKED: usize = 4;

/// Runs a command that is timed out, and finds how long it stayed after that.
async fn time_after_the_timeout(sandbox: &dyn Sandbox, request: ExecRequest, marker: &str) -> Duration {
    let started = Instant::now();
    let outcome = sandbox.exec(request.timeout(TIMEOUT)).await;
    match &outcome {
        Ok(outcome) => assert!(outcome.timed_out || outcome.signal.is_some(), "{outcome:?}"),
        Err(error) => assert!(matches!(error, SandboxError::Gone { .. }), "{error}"),
    }
    while !processes_with(marker).is_empty() {
        assert!(started.elapsed() < PROMPT, "{:?} live on after {outcome:?}", processes_with(marker));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    started.elapsed().saturating_sub(TIMEOUT)
}

async fn dies_with_its_timeout(world: &World, request: ExecRequest, marker: &str) {
    let sandbox = world.sandbox().await;
    let (after, ()) = tokio::join!(time_after_the_timeout(&*sandbox, request, marker), async {
        wait_for_processes_with(marker, DOUBLE_FORKED, TIMEOUT).await;
    });
    assert!(after < world.grace(), "it took {after:?} after the deadline");
    is_alive(&*sandbox).await;
}

pub(crate) async fn orphans_die_with_the_timeout(world: &World) {
    let marker = marker();
    dies_with_its_timeout(world, script(&double_forks(&marker)), &marker).await;
}

pub(crate) async fn orphans_die_with_the_timeout_of_an_exclusive_command(world: &World) {
    let marker = marker();
    dies_with_its_timeout(world, script(&double_forks(&marker)).exclusive(), &marker).await;
}

pub(crate) async fn orphans_die_with_the_sandbox(world: &World) {
    let marker = marker();
    let sandbox = world.sandbox().await;
    let process = sandbox.spawn(script(&double_forks(&marker))).await.unwrap();
    wait_for_processes_with(&marker, DOUBLE_FORKED, PROMPT).await;
    sandbox.destroy().await.unwrap();
    assert_eq!(processes_with(&marker), Vec::<i32>::new(), "destroyed, and nothing of it is there any more");
    drop(process);
}

pub(crate) async fn orphans_die_with_a_dropped_sandbox(world: &World) {
    let marker = marker();
    let sandbox = world.sandbox().await;
    // A command whose leader has ended leaves its orphans to the first process.
    let outcome = sandbox.exec(script(&format!("(setsid sh -c 'sleep 300; : {marker}' &) & exit 3"))).await;
    assert_eq!(outcome.unwrap().exit_code, Some(3));
    wait_for_processes_with(&marker, 1, PROMPT).await;
    drop(sandbox);
    wait_for_processes_with(&marker, 0, world.grace() + GRACE_FOR_SABOTAGE).await;
}

/// Also when nobody destroys the sandbox and its owner is still held.
pub(crate) async fn orphans_die_with_the_backend(world: &World) {
    let host = world.host.look_again();
    let backend = start_backend(&host).await;
    let marker = marker();
    let sandbox = backend.create(menace_model::sandbox::SandboxSpec::default()).await.unwrap();
    let process = sandbox.spawn(script(&double_forks(&marker))).await.unwrap();
    wait_for_processes_with(&marker, DOUBLE_FORKED, PROMPT).await;
    assert!(host.processes_of_sandboxes().len() >= DOUBLE_FORKED, "that is how they are found after a case");
    drop((process, sandbox, backend));
    wait_for_processes_with(&marker, 0, world.grace() + GRACE_FOR_SABOTAGE).await;
    host.assert_unchanged();
}

/// Stays in a loop that does this to the process that leads the command.
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

async fn sabotage_does_not_help(world: &World, sabotage: &str) {
    let marker = marker();
    let sandbox = world.sandbox().await;
    let request = saboteur(&marker, sabotage);
    let after = time_after_the_timeout(&*sandbox, request, &marker).await;
    assert!(after < world.grace() + GRACE_FOR_SABOTAGE, "it took {after:?} after the deadline");
    let destroyed = tokio::time::timeout(PROMPT, sandbox.destroy()).await;
    destroyed.expect("a sabotaged sandbox ends too").unwrap();
}

pub(crate) async fn killing_the_leader_does_not_help(world: &World) {
    sabotage_does_not_help(world, "os.kill(leader, signal.SIGKILL)").await;
}

pub(crate) async fn stopping_the_leader_does_not_help(world: &World) {
    sabotage_does_not_help(world, "os.kill(leader, signal.SIGSTOP)").await;
}

/// Without descriptors nobody can look at `/proc`.
pub(crate) async fn starving_the_leader_does_not_help(world: &World) {
    sabotage_does_not_help(world, "call('prlimit64', leader, 7, bytes(16), None)").await;
}

/// A process that is not dumpable is invisible to those who could otherwise find its children.
pub(crate) async fn hiding_from_the_process_view_does_not_help(world: &World) {
    sabotage_does_not_help(world, "call('prctl', 4, 0, 0, 0, 0)").await;
}

/// Who looks first and kills then finds the one that is gone already.
pub(crate) async fn changing_the_process_all_the_time_does_not_help(world: &World) {
    sabotage_does_not_help(world, "os.getpid() != command and os.fork() and os._exit(0)").await;
}

/// The first process belongs to the same user, who may take its descriptors away. That is the end of the sandbox at
/// worst, and the caller is told instead of kept waiting.
pub(crate) async fn limiting_the_first_process_only_ends_the_sandbox(world: &World) {
    let sandbox = world.sandbox().await;
    let text = "
for resource in range(16):
    attempt('limit %d' % resource, lambda: call('prlimit64', 1, resource, bytes(16), None))
print('ready', flush=True)
time.sleep(300)";
    let mut process = sandbox.spawn(program(text)).await.unwrap();
    wait_for(&mut *process, "ready").await;
    let next = tokio::time::timeout(PROMPT, sandbox.exec(ExecRequest::new(["true"]))).await;
    let _works_or_says_why = next.expect("nobody waits for a sandbox that cannot answer");
    tokio::time::timeout(PROMPT, sandbox.destroy()).await.expect("it ends at once").unwrap();
}
