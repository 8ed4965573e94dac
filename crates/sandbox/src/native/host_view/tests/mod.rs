//! Tests of the view, nearly all of them on fabricated hosts.

mod etc_tests;
mod fabricated;
mod inside;
mod machine_tests;
mod plan_tests;
mod privacy_tests;
mod system_tests;
mod toolchain_tests;
