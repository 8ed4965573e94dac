//! Protocol between menace and the harness, the Python package that makes calls inside a sandbox.
//!
//! A [`HarnessRequest`] is written to the process that makes the call, which answers with one JSON object. The answer
//! comes from a process that runs untrusted code, so whatever is not a reply to the request becomes
//! [`HarnessReply::Malformed`]: also an object with an unknown field. Only what is stored as it is, observations and
//! exceptions, may have fields that this version does not know.

mod batch;
mod call_reply;
mod fixtures;
mod reply;
mod request;

pub use batch::{BatchCallReport, BatchReply};
pub use call_reply::{CallObservations, CallReply, CallResult, RepeatedCall, ReturnedValue};
pub use fixtures::{ModuleFixture, WorkflowFixtures};
pub use reply::{
    BuiltRecipes, HarnessFailure, HarnessReply, PluginMetrics, PluginStubs, SectionDescriptions, StagedReply,
    WorkflowReply,
};
pub use request::{
    BatchRequest, BuildRequest, CallRequest, DescribeRequest, HarnessRequest, MetricsPluginRequest,
    PluginResources, PluginSection, RequestKind, StubPluginRequest, WorkflowRequest,
};
