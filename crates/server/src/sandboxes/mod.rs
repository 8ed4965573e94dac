//! The sandboxes of the service: create, find, list, destroy.

mod adopting;
mod amounts;
mod backends;
mod described;
mod ending;
mod entry;
mod happenings;
mod idempotency;
mod making;
mod records;
mod rules;
mod running;
mod tenants;
mod transcript;
mod view;
mod wanted;

pub use amounts::{CpuShare, Size, Span, UserName};
pub use backends::{Backends, Starter};
pub(crate) use described::labels_or_nothing;
pub use entry::{Changing, Entry, Kept, Sample};
pub use happenings::{Happening, Happenings};
pub use making::{Sandboxes, ServiceLimits};
pub use records::Records;
pub use rules::Rules;
pub use running::{Order, Running, State};
pub use tenants::{Caller, Quota};
pub use transcript::{Chunk, Keeping, Lost, Stream, Transcript};
pub use view::{CommandEnd, Executed, ProcessView, ResourceLimits, SandboxPage, SandboxView, Status};
pub use wanted::{BackendName, CreateSandbox, Execute, NetworkWish};
