//! The backends that the suite runs against.

use std::sync::Arc;

use menace_sandbox::Backend;
use menace_sandbox::fake::FakeBackend;

/// In memory.
pub(crate) async fn fake() -> Arc<dyn Backend> {
    Arc::new(FakeBackend::new())
}

// NATIVE: uncomment this and the line at the end of `main.rs`.
//
// /// Namespaces of this kernel, with the rights of whoever runs the tests.
// pub(crate) async fn native() -> Arc<dyn Backend> {
//     Arc::new(menace_sandbox::native::NativeBackend::start(options()).await.expect("this host can isolate"))
// }
