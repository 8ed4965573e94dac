//! Errors with the kernel's error numbers, and their texts in program output.

use std::io;

pub(crate) fn missing() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOENT)
}

pub(crate) fn exists() -> io::Error {
    io::Error::from_raw_os_error(libc::EEXIST)
}

pub(crate) fn is_directory() -> io::Error {
    io::Error::from_raw_os_error(libc::EISDIR)
}

pub(crate) fn not_a_directory() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOTDIR)
}

pub(crate) fn not_empty() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOTEMPTY)
}

pub(crate) fn read_only() -> io::Error {
    io::Error::from_raw_os_error(libc::EROFS)
}

pub(crate) fn disk_full() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOSPC)
}

pub(crate) fn too_many_links() -> io::Error {
    io::Error::from_raw_os_error(libc::ELOOP)
}

pub(crate) fn not_allowed() -> io::Error {
    io::Error::from_raw_os_error(libc::EPERM)
}

pub(crate) fn invalid() -> io::Error {
    io::Error::from_raw_os_error(libc::EINVAL)
}

/// Text that programs print: `No such file or directory`, without the number that Rust adds.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
