//! Timeouts and measured time.

use std::time::{Duration, Instant};

use menace_model::sandbox::ExecRequest;
use menace_sandbox::Backend;

use crate::harness::{PROMPT, path_exists, read, sandbox, script};

const SHORT: Duration = Duration::from_millis(200);

pub(crate) async fn a_timeout_kills(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let started = Instant::now();
    let outcome = sandbox.exec(ExecRequest::new(["sleep", "100"]).timeout(SHORT)).await.unwrap();
    assert!(outcome.timed_out);
    assert_eq!((outcome.exit_code, outcome.signal), (None, None), "a timeout is a field of its own");
    assert!(outcome.wall_ms >= 200.0, "{}", outcome.wall_ms);
    assert!(started.elapsed() < PROMPT, "{:?}", started.elapsed());
    assert_eq!(read(&*sandbox, "echo alive").await, "alive\n");
}

pub(crate) async fn output_before_a_timeout_is_kept(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let request = script("echo out; echo err >&2; sleep 100").timeout(Duration::from_secs(1));
    let outcome = sandbox.exec(request).await.unwrap();
    assert!(outcome.timed_out);
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("out\n", "err\n"));
}

pub(crate) async fn a_timeout_kills_child_processes(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let request = script("sh -c 'sleep 0.7; echo late > late; true'; true").timeout(SHORT);
    assert!(sandbox.exec(request).await.unwrap().timed_out);
    read(&*sandbox, "sleep 1").await;
    assert!(!path_exists(&*sandbox, "late").await, "a child outlived the timeout");
}

pub(crate) async fn a_timeout_of_an_exclusive_command_kills_child_processes(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let request = script("sh -c 'sleep 0.7; echo late > late; true'; true").exclusive().timeout(SHORT);
    assert!(sandbox.exec(request).await.unwrap().timed_out);
    read(&*sandbox, "sleep 1").await;
    assert!(!path_exists(&*sandbox, "late").await, "a child outlived the timeout");
}

pub(crate) async fn a_command_that_ends_is_not_timed_out(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let started = Instant::now();
    let outcome = sandbox.exec(script("exit 9").timeout(Duration::from_secs(50))).await.unwrap();
    assert_eq!((outcome.exit_code, outcome.timed_out), (Some(9), false));
    assert!(started.elapsed() < PROMPT, "the caller must not wait for the rest of the timeout");
}

pub(crate) async fn wall_time_is_that_of_the_command(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let started = Instant::now();
    let slow = sandbox.exec(ExecRequest::new(["sleep", "0.3"])).await.unwrap().wall_ms;
    let outside = started.elapsed().as_secs_f64() * 1000.0;
    assert!(slow >= 300.0 && slow <= outside, "{slow} ms inside, {outside} ms outside");
    let started = Instant::now();
    let fast = sandbox.exec(ExecRequest::new(["true"])).await.unwrap().wall_ms;
    let outside = started.elapsed().as_secs_f64() * 1000.0;
    assert!(fast > 0.0 && fast <= outside, "{fast} ms inside, {outside} ms outside");
}
