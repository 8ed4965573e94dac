//! Processes inside: whose they are, what they took, and how they are ended.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};

/// How long processes that were killed may take to be gone.
const PATIENCE: Duration = Duration::from_millis(300);

/// The unit of times in `/proc`: `USER_HZ`, which is part of the kernel's interface and 100 on every architecture that Rust
/// runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// What is known of a process from outside it.
struct Process {
    parent: i32,
    ticks: u64,
}

/// Kills every process of this user in the namespace but this one and the first. The kernel does it in one step, so that
/// nothing can be started meanwhile.
pub(crate) fn kill_all_others() {
    // SAFETY: kill(2) has no memory to get wrong.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// Lets those go on whose parent is outside: they are of ours, and a command may have stopped them.
pub(crate) fn continue_leaders() {
    let leaders = all().into_iter().filter(|(pid, process)| *pid != 1 && process.parent == 0);
    for pid in leaders.filter_map(|(pid, _)| Pid::from_raw(pid)) {
        // It may have ended in between.
        let _gone = kill_process(pid, Signal::CONT);
    }
}

/// Kills children, their children and so on until there are none. What loses its parent becomes a child of this process,
/// which is a subreaper. Returns whether all of them are gone.
pub(crate) fn kill_descendants() -> bool {
    let started = Instant::now();
    loop {
        for pid in descendants() {
            // It may have ended by itself in between.
            let _gone = kill_process(pid, Signal::KILL);
        }
        if reap_all() {
            return true;
        }
        if started.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits for those that were killed already. Returns whether all of them are gone.
pub(crate) fn wait_for_all() -> bool {
    let started = Instant::now();
    while !reap_all() {
        if started.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Reaps what has ended; true if there are no children.
fn reap_all() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return false,
            Err(_) => return true,
        }
    }
}

/// Children of this process, theirs, and so on.
fn descendants() -> Vec<Pid> {
    let own = rustix::process::getpid().as_raw_pid();
    below(own, &all()).into_iter().filter_map(Pid::from_raw).collect()
}

/// What all descendants that are alive have taken of the processors so far.
pub(crate) fn time_of_descendants() -> Duration {
    let all = all();
    let own = rustix::process::getpid().as_raw_pid();
    let ticks: u64 =
        below(own, &all).iter().filter_map(|pid| all.get(pid)).map(|process| process.ticks).sum();
    Duration::from_secs_f64(ticks as f64 / TICKS_PER_SECOND)
}

fn below(ancestor: i32, all: &HashMap<i32, Process>) -> Vec<i32> {
    let mut found = vec![ancestor];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        found.extend(all.iter().filter(|(_, process)| process.parent == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    found.split_off(1)
}

fn all() -> HashMap<i32, Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return HashMap::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(|pid: i32| Some((pid, look_at(pid)?))).collect()
}

/// Nothing if it is gone.
fn look_at(pid: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in parentheses, may itself have spaces and parentheses.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |field: usize| fields.get(field)?.parse::<u64>().ok();
    Some(Process { parent: i32::try_from(number(1)?).ok()?, ticks: number(11)? + number(12)? })
}
