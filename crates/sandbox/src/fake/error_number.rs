//! Errors with the kernel's error numbers, and their texts in program output.

use std::io;

pub(super) fn missing() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOENT)
}

pub(super) fn exists() -> io::Error {
    io::Error::from_raw_os_error(libc::EEXIST)
}

pub(super) fn is_directory() -> io::Error {
    io::Error::from_raw_os_error(libc::EISDIR)
}

pub(super) fn not_a_directory() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOTDIR)
}

pub(super) fn not_empty() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOTEMPTY)
}

pub(super) fn read_only() -> io::Error {
    io::Error::from_raw_os_error(libc::EROFS)
}

pub(super) fn disk_full() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOSPC)
}

pub(super) fn too_many_links() -> io::Error {
    io::Error::from_raw_os_error(libc::ELOOP)
}

pub(super) fn not_allowed() -> io::Error {
    io::Error::from_raw_os_error(libc::EPERM)
}

pub(super) fn invalid() -> io::Error {
    io::Error::from_raw_os_error(libc::EINVAL)
}

/// Text that programs print: `No such file or directory`, without the number that Rust adds.
pub(super) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
