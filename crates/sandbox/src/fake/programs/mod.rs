//! The programs of the fake. Each does what its namesake of Debian does with the arguments it knows, and fails with
//! any other.

mod complaint;
mod files;
mod streams;
mod surroundings;
mod table;

pub(super) use table::all;
