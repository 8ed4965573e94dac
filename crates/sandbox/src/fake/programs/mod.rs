//! Programs of the fake backend. Each behaves as its Debian namesake for the supported arguments, and fails for all
//! others.

mod complaint;
mod files;
mod streams;
mod surroundings;
mod table;

pub(super) use table::all;
