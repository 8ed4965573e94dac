//! Processes in the sandbox: their parents, their CPU time, and how they are killed.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};

/// Time in which killed processes have to be gone.
const KILL_TIMEOUT: Duration = Duration::from_millis(300);

/// Unit of times in `/proc`: `USER_HZ`, which is part of the kernel's interface and 100 on every architecture that Rust
/// supports.
const TICKS_PER_SECOND: f64 = 100.0;

/// Parent and CPU time of a process, from `/proc/<pid>/stat`.
struct ProcessStat {
    parent: i32,
    ticks: u64,
}

/// Kills every process of this user in the namespace except this one and the init process. The kernel does it in one step,
/// so that no process can be started in between.
pub(crate) fn kill_all_others() {
    // SAFETY: kill(2) takes no pointers.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// Resumes the leaders, which are the processes whose parent is outside the namespace: a command may have stopped them.
pub(crate) fn continue_leaders() {
    let leaders = read_processes().into_iter().filter(|(pid, process)| *pid != 1 && process.parent == 0);
    for pid in leaders.filter_map(|(pid, _)| Pid::from_raw(pid)) {
        // The process may have ended in the meantime.
        let _gone = kill_process(pid, Signal::CONT);
    }
}

/// Kills all descendants until there are none. Orphans are reparented to this process, which is a subreaper. Returns
/// whether all of them are gone.
pub(crate) fn kill_descendants() -> bool {
    let started = Instant::now();
    loop {
        for pid in descendants() {
            // The process may have ended by itself in the meantime.
            let _gone = kill_process(pid, Signal::KILL);
        }
        if reap_all() {
            return true;
        }
        if started.elapsed() > KILL_TIMEOUT {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits for children that were already killed. Returns whether all of them are gone.
pub(crate) fn wait_for_all() -> bool {
    let started = Instant::now();
    while !reap_all() {
        if started.elapsed() > KILL_TIMEOUT {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Reaps ended children; true if there are no children left.
fn reap_all() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return false,
            Err(_) => return true,
        }
    }
}

/// All descendants of this process.
fn descendants() -> Vec<Pid> {
    let own = rustix::process::getpid().as_raw_pid();
    descendants_of(own, &read_processes()).into_iter().filter_map(Pid::from_raw).collect()
}

/// CPU time so far of all living descendants.
pub(crate) fn time_of_descendants() -> Duration {
    let all = read_processes();
    let own = rustix::process::getpid().as_raw_pid();
    let ticks: u64 =
        descendants_of(own, &all).iter().filter_map(|pid| all.get(pid)).map(|process| process.ticks).sum();
    Duration::from_secs_f64(ticks as f64 / TICKS_PER_SECOND)
}

fn descendants_of(ancestor: i32, all: &HashMap<i32, ProcessStat>) -> Vec<i32> {
    let mut found = vec![ancestor];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        found.extend(all.iter().filter(|(_, process)| process.parent == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    found.split_off(1)
}

fn read_processes() -> HashMap<i32, ProcessStat> {
    let Ok(entries) = fs::read_dir("/proc") else { return HashMap::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(|pid: i32| Some((pid, read_process(pid)?))).collect()
}

/// Reads `/proc/<pid>/stat`; `None` if the process is gone.
fn read_process(pid: i32) -> Option<ProcessStat> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in parentheses, may itself have spaces and parentheses.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |field: usize| fields.get(field)?.parse::<u64>().ok();
    Some(ProcessStat { parent: i32::try_from(number(1)?).ok()?, ticks: number(11)? + number(12)? })
}
