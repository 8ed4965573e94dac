//! Minimal shell: command lists, redirections, variables, quotes, `exit`, `cd`, `kill`. Any other shell syntax is a
//! syntax error.

mod parse;
mod run;

pub(super) use run::run;
