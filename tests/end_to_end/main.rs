//! The binary `menace`, from outside: what it prints, writes, remembers and survives.

mod cases;
