//! Tests of the view, nearly all of them on fabricated hosts.

mod etc_tests;
mod fabricated;
mod machine_tests;
mod path_resolution;
mod plan_tests;
mod privacy_tests;
mod system_tests;
mod toolchain_tests;
