//! Closes descriptors that the sandbox must not inherit.
//!
//! An open descriptor of the host is an escape, independently of all other restrictions (CVE-2024-21626).

use std::{io, os::fd::RawFd};

/// Closes every descriptor of this process that `keep` does not name.
///
/// # Safety
///
/// No code that still runs in this process may use or close a descriptor outside `keep`: its number may stand for
/// another file by then. That holds for a child between fork and exec, and for a child that does not use what it
/// inherited.
pub unsafe fn close_all_but(keep: &[RawFd]) -> io::Result<()> {
    let mut kept = keep
        .iter()
        .map(|&descriptor| u32::try_from(descriptor).map_err(|_| io::Error::from_raw_os_error(libc::EBADF)))
        .collect::<io::Result<Vec<u32>>>()?;
    kept.sort_unstable();
    kept.dedup();
    let mut first = 0;
    for descriptor in kept {
        if descriptor > first {
            close_range(first, descriptor - 1, 0)?;
        }
        first = descriptor + 1;
    }
    close_range(first, u32::MAX, 0)
}

/// Marks every descriptor from `first` on to be closed by the next exec.
pub fn set_close_on_exec_from(first: RawFd) -> io::Result<()> {
    let first = u32::try_from(first).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))?;
    close_range(first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC)
}

fn close_range(first: u32, last: u32, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: the call takes three integers and touches no memory. The caller of `close_all_but` guarantees that
    // closing is sound.
    if unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{fs::File, os::fd::IntoRawFd, process::Command};

    use super::*;
    use crate::forked_child;

    fn is_open(descriptor: RawFd) -> bool {
        // SAFETY: reads the flags of a descriptor number, which may be closed.
        unsafe { libc::fcntl(descriptor, libc::F_GETFD) != -1 }
    }

    fn open_without_owner() -> RawFd {
        File::open("/dev/null").unwrap().into_raw_fd()
    }

    #[test]
    fn only_the_named_ones_stay_in_any_order_and_twice() {
        forked_child::run(|| {
            let opened: Vec<RawFd> = (0..6).map(|_| open_without_owner()).collect();
            let report = open_without_owner();
            // SAFETY: afterwards the child only asks whether descriptors are open.
            unsafe { close_all_but(&[opened[4], 2, opened[1], opened[4]]) }.unwrap();
            let still_open: Vec<RawFd> = (0..=report).filter(|&descriptor| is_open(descriptor)).collect();
            assert_eq!(still_open, [2, opened[1], opened[4]]);
        });
    }

    #[test]
    fn nothing_to_keep_closes_all() {
        forked_child::run(|| {
            let highest = open_without_owner();
            // SAFETY: as above.
            unsafe { close_all_but(&[]) }.unwrap();
            assert!((0..=highest).all(|descriptor| !is_open(descriptor)));
        });
    }

    #[test]
    fn a_negative_number_is_an_error_before_anything_is_closed() {
        let before = open_without_owner();
        // SAFETY: it closes nothing, as the next line shows.
        assert!(unsafe { close_all_but(&[-1]) }.is_err());
        assert!(is_open(before));
    }

    #[test]
    fn exec_closes_what_is_marked() {
        forked_child::run(|| {
            let inherited = open_without_owner();
            let marked = open_without_owner();
            for descriptor in [inherited, marked] {
                // SAFETY: changes a flag of a descriptor that this test opened.
                assert_eq!(unsafe { libc::fcntl(descriptor, libc::F_SETFD, 0) }, 0);
            }
            set_close_on_exec_from(marked).unwrap();
            let script = format!("test -e /proc/self/fd/{inherited} && ! test -e /proc/self/fd/{marked}");
            assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
        });
    }
}
