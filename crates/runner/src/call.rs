//! One call with everything that is needed to make it, or to replay it.

use std::time::Duration;

use menace_model::calls::CallSpec;
use menace_model::harness::{CallRequest, HarnessRequest};
use menace_model::inventory::SideEffect;
use serde::{Deserialize, Serialize};

use crate::call_environment::{ACROSS, call_environment};
use crate::callable_section::CallableSection;
use crate::stress::{FaultEvidence, StressProfile};
use crate::stubs::Stub;

/// One call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that is different about a call")]
pub struct Call {
    /// Module name, as Python imports it.
    pub module: String,
    /// Qualified name of the section in the module.
    pub function: String,
    /// Path of the file, relative to the root of the repository.
    pub path: String,
    /// First line of the section.
    pub line: u32,
    /// Exceptions that its docstring declares.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declared: Vec<String>,
    /// Arguments of the call.
    pub stub: Stub,
    /// Seed of the call itself.
    pub seed: u64,
    /// Stress profile of the call.
    pub circumstances: StressProfile,
    /// Timeout of the whole call, the import included.
    pub timeout_ms: u64,
    /// Run the examples of the docstring instead of a call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub examples: bool,
    /// Repeat the call across a window in which the network is faulty.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub across: bool,
    /// Fields that its module reads from responses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// The section is known to use the network.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_world: bool,
    /// Record the lines that the call reaches.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub covers: bool,
}

/// Whether a section is known to use the network.
pub(crate) fn uses_network(target: &CallableSection) -> bool {
    target.section.effects.contains(&SideEffect::Network)
}

impl Call {
    /// A call of a target.
    pub fn new(
        target: &CallableSection,
        profile: &StressProfile,
        stub: Stub,
        seed: u64,
        usual_timeout: Duration,
    ) -> Self {
        let timeout = profile.timeout(usual_timeout);
        Self {
            module: target.module.clone(),
            function: target.section.name.clone(),
            path: target.path.clone(),
            line: target.section.line,
            declared: target.section.raises.clone(),
            stub,
            seed,
            circumstances: profile.clone(),
            timeout_ms: u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
            examples: false,
            across: false,
            reads: target.reads().to_vec(),
            needs_world: uses_network(target),
            covers: false,
        }
    }

    /// `module:qualname`.
    pub fn section(&self) -> String {
        format!("{}:{}", self.module, self.function)
    }

    /// The call in the form that an executor takes.
    pub fn spec(&self) -> CallSpec {
        self.spec_of(self.request())
    }

    /// As `spec`, with the whole traceback from the harness.
    pub fn spec_with_traceback(&self) -> CallSpec {
        self.spec_of(CallRequest { traceback: true, ..self.request() })
    }

    fn spec_of(&self, request: CallRequest) -> CallSpec {
        let kind = if self.examples { HarnessRequest::Examples } else { HarnessRequest::Call };
        CallSpec::new(kind(request))
            .timeout(Duration::from_millis(self.timeout_ms))
            .limits(self.circumstances.limits)
            .environment(call_environment(self), self.needs_world)
    }

    /// The request to the harness.
    pub(crate) fn request(&self) -> CallRequest {
        let (stub, profile) = (&self.stub, &self.circumstances);
        let is_starved = profile.proofs.contains(&FaultEvidence::Starved);
        CallRequest {
            module: self.module.clone(),
            function: self.function.clone(),
            owner: stub.owner.clone(),
            arguments: stub.arguments.clone(),
            keywords: stub.keywords.clone(),
            seed: self.seed,
            watch: stub.is_wrong || stub.is_doubtful,
            load: is_starved.then(|| profile.competitors()),
            timed: !is_starved && profile.within_ms.is_some(),
            across: self.across.then(|| ACROSS.as_secs_f64()),
            cover: self.covers,
            threads: profile.burst.map(|burst| burst.threads),
            tasks: profile.burst.map(|burst| burst.tasks),
            traceback: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use menace_model::calls::Recipe;
    use menace_model::runs::{StoredCall, StoredOutcome};
    use serde::Deserialize;

    use crate::classify::tests::{call, raw};
    use crate::outcome::CallOutcome;
    use crate::stubs::Stub;

    #[test]
    fn readers_of_the_store_understand_a_call_and_its_outcome() {
        let stub = Stub {
            owner: Some(Recipe::None),
            arguments: vec![Recipe::Int(1)],
            keywords: vec![("b".into(), Recipe::Bool(true))],
            ..Stub::default()
        };
        let call = super::Call { seed: u64::MAX, ..call(&stub, "{}") };
        let read = StoredCall::deserialize(&serde_json::to_value(&call).unwrap()).unwrap();
        assert_eq!((read.path.as_deref(), read.line, read.seed), (Some("shop/cart.py"), Some(1), u64::MAX));
        assert_eq!(read.stub.kwargs, stub.keywords);
        assert_eq!(read.circumstances["scenario"], serde_json::json!(call.circumstances.scenario));
        let error = crate::classify::tests::error("KeyError", false);
        let outcome = CallOutcome::of(&raw(error), &call);
        let read = StoredOutcome::deserialize(&serde_json::to_value(&outcome).unwrap()).unwrap();
        assert_eq!(read.message(), Some("m"));
        assert_eq!(read.facts, outcome.verdict.facts);
    }
}
