//! One test per case in `cases/*.md`; `build.rs` writes them.

include!(concat!(env!("OUT_DIR"), "/cases.rs"));
