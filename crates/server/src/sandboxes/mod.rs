//! The sandboxes of the service: create, find, list, destroy.

mod adoption;
mod amounts;
mod backends;
mod background_process;
mod entry;
mod events;
mod expiry;
mod idempotency;
mod network_rules;
mod records;
mod requests;
mod schemas;
mod service;
mod tenants;
mod transcript;
mod views;

pub use amounts::{ByteSize, CpuCores, PositiveDuration, UserIds};
pub use backends::{BackendStarter, RunningBackends};
pub use background_process::{BackgroundProcess, BackgroundProcessState, ProcessControl};
pub use entry::{MutableSandboxState, SandboxEntry, SandboxUsageSample, StoredSnapshot};
pub use events::{SandboxEvent, SandboxEventLog};
pub use network_rules::SandboxNetworkRules;
pub use records::SandboxRecords;
pub use requests::{BackendName, CreateSandboxRequest, ExecuteRequest, SandboxNetworkPolicy};
pub(crate) use schemas::labels_or_nothing;
pub use service::{SandboxService, ServiceLimits};
pub use tenants::{Caller, Quota};
pub use transcript::{DroppedChunks, Transcript, TranscriptChunk, TranscriptRetention, TranscriptStream};
pub use views::{
    CommandTermination, ExecuteResponse, ProcessView, SandboxPage, SandboxResourceLimits, SandboxStatus,
    SandboxView,
};
