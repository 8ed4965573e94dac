//! `menace-inside`: the first process of a container, or whatever one order asks for.

mod command;
mod connection;
mod first;
mod inspect;
mod listing;
mod processes;
mod serve;
mod streams;

use std::process::ExitCode;

use menace_inside::protocol;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(protocol::FIRST) => first::main(),
        Some(protocol::SERVE) => serve::main(),
        _ => ExitCode::from(2),
    }
}
