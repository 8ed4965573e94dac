//! Latency of cgroup operations on this machine: `cargo test -p menace-sandbox -- --ignored --nocapture how_long`.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::Instant;

use menace_model::sandbox::{ResourceController, SandboxLimits};

use super::real_host::{RealCgroupHost, shell};
use super::{ControlGroup, enter};

const ROUNDS: usize = 200;

/// Prints the median and the 95th percentile of many timings in microseconds.
fn report(name: &str, mut once: impl FnMut(usize) -> f64) {
    let mut times: Vec<f64> = (0..ROUNDS).map(&mut once).collect();
    times.sort_by(f64::total_cmp);
    println!("{name}: p50 {:.0} µs, p95 {:.0} µs", times[ROUNDS / 2], times[ROUNDS * 95 / 100]);
}

fn microseconds<T>(call: impl FnOnce() -> T) -> (f64, T) {
    let clock = Instant::now();
    let result = call();
    (clock.elapsed().as_secs_f64() * 1e6, result)
}

fn create(host: &RealCgroupHost, name: &str) -> ControlGroup {
    let limits =
        SandboxLimits { memory: Some(1 << 30), pids: Some(64), cpus: Some(1.0), ..SandboxLimits::default() };
    host.owner.create(name, &limits, &[ResourceController::CpuAccounting]).unwrap()
}

#[test]
#[ignore = "a measurement"]
fn how_long_groups_take() {
    let host = RealCgroupHost::new().unwrap();
    let group = create(&host, "first");
    report("create", |round| {
        let (time, group) = microseconds(|| create(&host, &format!("g{round}")));
        group.remove().unwrap();
        time
    });
    report("create + remove", |round| {
        microseconds(|| create(&host, &format!("g{round}")).remove().unwrap()).0
    });
    report("usage", |_| microseconds(|| group.usage().unwrap()).0);
    report("open descriptors", |_| microseconds(|| group.join_descriptors().unwrap()).0);
    report("enter", |_| time_to_enter(&group));
    report("kill of one process", |_| {
        let mut child = shell(&group, "while :; do :; done");
        let (time, ()) = microseconds(|| group.kill().unwrap());
        child.wait().unwrap();
        time
    });
    report("freeze of one process, first time", |round| {
        let group = create(&host, &format!("g{round}"));
        let mut child = shell(&group, "while :; do :; done");
        let (time, ()) = microseconds(|| group.freeze().unwrap());
        group.kill().unwrap();
        child.wait().unwrap();
        group.remove().unwrap();
        time
    });
    group.remove().unwrap();
    host.finish();
}

/// Time that a forked child needs to enter the group, measured by that child.
fn time_to_enter(group: &ControlGroup) -> f64 {
    let descriptors = group.join_descriptors().unwrap();
    let borrowed: Vec<BorrowedFd<'_>> = descriptors.iter().map(|descriptor| descriptor.as_fd()).collect();
    let (mut reader, mut writer) = io::pipe().unwrap();
    // SAFETY: the child calls only `clock_gettime`, `write` and `_exit`, which are allowed in the fork of a
    // multi-threaded process; nothing there allocates unless a call fails, and then the test fails anyway.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let (time, entered) = microseconds(|| enter(&borrowed));
        let time = if entered.is_ok() { time } else { f64::NAN };
        let written = writer.write_all(&time.to_ne_bytes());
        // SAFETY: the child exits without running exit handlers of the parent.
        unsafe { libc::_exit(i32::from(written.is_err())) };
    }
    assert!(pid > 0);
    drop(writer);
    let mut time = [0; 8];
    reader.read_exact(&mut time).unwrap();
    let child = rustix::process::Pid::from_raw(pid);
    rustix::process::waitpid(child, rustix::process::WaitOptions::empty()).unwrap();
    let time = f64::from_ne_bytes(time);
    assert!(!time.is_nan(), "the child could not enter");
    time
}
