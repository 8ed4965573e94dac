//! Prints the cost of each step of dropping privileges, in a fresh forked child each time, as root.
//!
//! `cargo run --release -p menace-isolation --example cost_of_lock_down`

use std::{
    error::Error,
    fs::File,
    io::{self, Read, Write},
    os::fd::{AsFd, AsRawFd},
    time::Instant,
};

use menace_isolation::{capabilities, descriptors, landlock, rlimits::ProcessRlimits, seccomp};

const CHILDREN: usize = 200;

const STEPS: [&str; 7] =
    ["resource limits", "capabilities", "no_new_privs", "landlock", "seccomp", "close descriptors", "all"];

fn main() -> Result<(), Box<dyn Error>> {
    let started = Instant::now();
    seccomp::prepare();
    let compiled = started.elapsed();
    let mut lines = vec![format!("compiling both filters, once: {:.1} µs", compiled.as_secs_f64() * 1e6)];
    for with_listener in [false, true] {
        let children =
            (0..CHILDREN).map(|_| measure_in_child(with_listener)).collect::<Result<Vec<_>, _>>()?;
        lines.push(format!("with a listener: {with_listener}"));
        for (index, step) in STEPS.iter().enumerate() {
            let mut times: Vec<u64> = children.iter().map(|child| child[index]).collect();
            times.sort_unstable();
            let (median, slow) = (times[CHILDREN / 2], times[CHILDREN * 95 / 100]);
            lines.push(format!(
                "  {step:<18} p50 {:>7.1} µs  p95 {:>7.1} µs",
                in_micros(median),
                in_micros(slow)
            ));
        }
    }
    writeln!(io::stdout(), "{}", lines.join("\n"))?;
    Ok(())
}

fn in_micros(nanoseconds: u64) -> f64 {
    std::time::Duration::from_nanos(nanoseconds).as_secs_f64() * 1e6
}

/// Nanoseconds of each step.
fn measure_in_child(with_listener: bool) -> Result<[u64; STEPS.len()], Box<dyn Error>> {
    let (mut reader, mut writer) = io::pipe()?;
    // SAFETY: this program has one thread.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let code = match lock_down(with_listener, &mut writer) {
            Ok(()) => 0,
            Err(error) => {
                // When even this write fails, the exit code reports the failure.
                writeln!(io::stderr(), "{error}").ok();
                1
            }
        };
        // SAFETY: ends the child without flushing what the parent will flush.
        unsafe { libc::_exit(code) };
    }
    drop(writer);
    let mut bytes = [0; 8 * STEPS.len()];
    reader.read_exact(&mut bytes)?;
    // SAFETY: waits for the child forked above and wants no status.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    let mut times = [0; STEPS.len()];
    for (time, chunk) in times.iter_mut().zip(bytes.chunks_exact(8)) {
        *time = u64::from_ne_bytes(chunk.try_into()?);
    }
    Ok(times)
}

fn lock_down(with_listener: bool, writer: &mut io::PipeWriter) -> Result<(), Box<dyn Error>> {
    let writable = [File::open("/tmp")?, File::open("/dev")?, File::open("/proc")?];
    let limits = ProcessRlimits {
        open_files: 1024,
        processes: Some(256),
        cpu_seconds: Some(60),
        data_bytes: Some(1 << 30),
    };
    let mut moments = vec![Instant::now()];
    let mut done = || moments.push(Instant::now());
    limits.apply()?;
    done();
    capabilities::drop_all()?;
    done();
    capabilities::no_new_privileges()?;
    done();
    landlock::restrict(&writable.each_ref().map(AsFd::as_fd))?;
    done();
    let listener = if with_listener {
        Some(seccomp::install_with_listener(&[])?)
    } else {
        seccomp::install().map(|()| None)?
    };
    done();
    let mut keep = vec![0, 1, 2, writer.as_raw_fd()];
    keep.extend(listener.iter().map(AsRawFd::as_raw_fd));
    // SAFETY: afterwards this child writes to the pipe, which is kept, and exits; it forgets the files below.
    unsafe { descriptors::close_all_but(&keep) }?;
    done();
    std::mem::forget(writable);
    let mut steps: Vec<_> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.push(steps.iter().sum());
    for step in steps {
        writer.write_all(&u64::try_from(step.as_nanos())?.to_ne_bytes())?;
    }
    Ok(())
}
