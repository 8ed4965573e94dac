//! Sections of a module: callable units, their parameters and their side effects.

mod body;
mod collect;
mod docstring;
mod effects;
mod frame;
mod imports;
mod outside;
mod patterns;
mod signature;
mod uses;

pub(crate) use collect::collect;
pub(crate) use docstring::docstring_of;
pub(crate) use imports::RawImport;
