//! Terminals of programs, created in the sandbox's own `devpts` file system.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use menace_model::sandbox::TerminalSize;
use rustix::fs::{Mode, OFlags, open as open_file};
use rustix::pty::{OpenptFlags, ptsname, unlockpt};

/// Both ends of a terminal.
pub struct PseudoTerminal {
    /// Master end, for the caller.
    pub ours: OwnedFd,
    /// Slave end, once for each standard stream of the program.
    pub theirs: [OwnedFd; 3],
}

/// Opens a terminal.
pub fn open(size: TerminalSize) -> io::Result<PseudoTerminal> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = rustix::pty::openpt(flags)?;
    unlockpt(&ours)?;
    resize(&ours, size)?;
    let name = ptsname(&ours, Vec::new())?;
    let theirs = open_file(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    let duplicate = || theirs.try_clone();
    Ok(PseudoTerminal { theirs: [duplicate()?, duplicate()?, duplicate()?], ours })
}

/// Sets the size of a terminal; the kernel notifies its foreground program (SIGWINCH).
pub fn resize(ours: &OwnedFd, size: TerminalSize) -> io::Result<()> {
    let size = libc::winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCSWINSZ reads a `winsize`, which lives during the call.
    match unsafe { libc::ioctl(ours.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
