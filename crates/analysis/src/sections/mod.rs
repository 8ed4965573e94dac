//! Sections of a module: callable units, their parameters and their side effects.

mod body;
mod collect;
mod docstring;
mod effect_rules;
mod frame;
mod imports;
mod match_patterns;
mod parameter_uses;
mod side_effects;
mod signature;

pub(crate) use collect::collect;
pub(crate) use docstring::docstring_of;
pub(crate) use imports::RawImport;
