//! `menace-guest`: the init process of a container, or a process that executes one order.

mod command;
mod connection;
mod init_process;
mod inspect;
mod processes;
mod serve;
mod streams;
mod written_files;

use std::process::ExitCode;

use menace_guest::protocol;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(protocol::FIRST) => init_process::main(),
        Some(protocol::SERVE) => serve::main(),
        _ => ExitCode::from(2),
    }
}
