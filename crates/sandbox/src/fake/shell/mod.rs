//! A shell small enough to be right: commands after each other, redirections, variables, quotes, `exit`, `cd`, `kill`.
//! Everything else that a shell can do is a syntax error here.

mod parse;
mod run;

pub(super) use run::run;
