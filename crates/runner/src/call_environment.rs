//! The environment of one call: that of its profile, with the call's seed and the response fields that its module
//! reads.

use std::time::Duration;

use menace_model::calls::CallEnvironment;
use menace_model::network::{FaultWindow, MockFault, MockResponse, MockRule, MockSpec};
use serde_json::{Map, Value, json};

use crate::call::Call;
use crate::stress::UpstreamFault;
use crate::stubs::plausible_value;

/// Window of faults in a call that is repeated, from its first packet on.
pub(crate) const WINDOW: FaultWindow =
    FaultWindow { from: Duration::from_millis(500), until: Duration::from_secs(1) };
/// Duration of the repetition.
pub(crate) const ACROSS: Duration = Duration::from_secs(2);

/// Creates the environment of a call.
pub(crate) fn call_environment(call: &Call) -> CallEnvironment {
    let mut world = call.circumstances.world.clone();
    let Some(network) = &mut world.network else { return world };
    network.seed = call.seed;
    if call.across {
        network.shape.window = Some(WINDOW);
    }
    if let Some(mocks) = &mut network.mocks {
        mocks.fields = fields(&call.reads);
        if let Some(upstream) = call.circumstances.upstream {
            inject_faults(mocks, upstream, call.seed);
        }
    }
    world
}

/// Adds faults to the mocks. The seed selects the kind of fault of a call.
fn inject_faults(mocks: &mut MockSpec, upstream: UpstreamFault, seed: u64) {
    let (faults, fail_on) = match upstream {
        UpstreamFault::Flaky { failures, requests } => {
            let is_bad = |request: &u64| (request - 1) % requests < failures;
            let faults = [MockFault::Unavailable, MockFault::Reset, MockFault::Stall];
            (faults, (1..=MOST_REQUESTS).filter(is_bad).collect())
        }
        UpstreamFault::Chaotic => {
            ([MockFault::Unauthorized, MockFault::Forbidden, MockFault::Corrupt], Vec::new())
        }
    };
    let chosen = faults[usize::try_from(seed % 3).unwrap_or(0)];
    let respond = MockResponse { fault: Some(chosen), fail_on, ..MockResponse::default() };
    mocks.rules.insert(0, MockRule { respond, ..MockRule::default() });
}

/// Requests of a call that can fail.
const MOST_REQUESTS: u64 = 200;

/// Names of fields that usually hold records.
const RECORDS: [&str; 12] = [
    "data",
    "result",
    "response",
    "payload",
    "attributes",
    "meta",
    "body",
    "content",
    "item",
    "record",
    "user",
    "info",
];
/// Names of fields that usually hold lists of records.
const LISTS: [&str; 10] =
    ["items", "results", "rows", "records", "entries", "list", "values", "hits", "objects", "elements"];

/// A response with all of these fields, at the top level and in nested records.
fn fields(reads: &[String]) -> Map<String, Value> {
    let is_one_of = |names: &[&str], name: &str| names.contains(&name.to_ascii_lowercase().as_str());
    let leaves: Map<String, Value> = reads
        .iter()
        .filter(|name| !is_one_of(&RECORDS, name) && !is_one_of(&LISTS, name))
        .map(|name| (name.clone(), plausible_value(name)))
        .collect();
    let mut all = leaves.clone();
    for name in reads {
        if is_one_of(&RECORDS, name) {
            all.insert(name.clone(), Value::Object(leaves.clone()));
        } else if is_one_of(&LISTS, name) {
            all.insert(name.clone(), json!([leaves]));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_has_the_read_fields_at_every_level() {
        let reads: Vec<String> = ["data", "items", "email", "month", "total"].map(str::to_owned).to_vec();
        let answer = Value::Object(fields(&reads));
        for place in [&answer, &answer["data"], &answer["items"][0]] {
            assert_eq!(place["email"], "ada@example.com");
            assert!(place["month"].is_number() && place["total"].is_number(), "{place}");
        }
    }

    #[test]
    fn the_first_requests_fail_with_a_fault_selected_by_the_seed() {
        let chosen: Vec<_> = (0..3)
            .map(|seed| {
                let mut mocks = MockSpec::default();
                inject_faults(&mut mocks, UpstreamFault::Flaky { failures: 2, requests: 50 }, seed);
                let answer = mocks.rules[0].respond.clone();
                assert_eq!(answer.fail_on, [1, 2, 51, 52, 101, 102, 151, 152]);
                answer.fault.unwrap()
            })
            .collect();
        assert_eq!(chosen, [MockFault::Unavailable, MockFault::Reset, MockFault::Stall]);
    }
}
