//! What is around one call: the circumstances of its preset, with its own chance and the answers that its module reads.

use std::time::Duration;

use menace_model::network::{Answer, MockFault, MockRule, Mocks, Window};
use menace_sandbox::native::World;
use serde_json::{Map, Value, json};

use crate::call::Call;
use crate::circumstances::Upstream;
use crate::stubs::plausible_value;

/// When things go wrong with a call that is made again and again, from its first packet.
pub(crate) const WINDOW: Window = Window { from: Duration::from_millis(500), until: Duration::from_secs(1) };
/// For how long it is made.
pub(crate) const ACROSS: Duration = Duration::from_secs(2);

/// The world of a call.
pub(crate) fn world_of(call: &Call) -> World {
    let mut world = call.circumstances.world.clone();
    let Some(network) = &mut world.network else { return world };
    network.seed = call.seed;
    if call.across {
        network.shape.window = Some(WINDOW);
    }
    if let Some(mocks) = &mut network.mocks {
        mocks.fields = fields(&call.reads);
        if let Some(upstream) = call.circumstances.upstream {
            go_wrong(mocks, upstream, call.seed);
        }
    }
    world
}

/// Lets requests go wrong, each call in one of the ways.
fn go_wrong(mocks: &mut Mocks, upstream: Upstream, chance: u64) {
    let (faults, fail_on) = match upstream {
        Upstream::Flaky { failures, requests } => {
            let is_bad = |request: &u64| (request - 1) % requests < failures;
            let faults = [MockFault::Unavailable, MockFault::Reset, MockFault::Stall];
            (faults, (1..=MOST_REQUESTS).filter(is_bad).collect())
        }
        Upstream::Chaotic => {
            ([MockFault::Unauthorized, MockFault::Forbidden, MockFault::Corrupt], Vec::new())
        }
    };
    let chosen = faults[usize::try_from(chance % 3).unwrap_or(0)];
    let respond = Answer { fault: Some(chosen), fail_on, ..Answer::default() };
    mocks.rules.insert(0, MockRule { respond, ..MockRule::default() });
}

/// Requests of a call that can go wrong.
const MOST_REQUESTS: u64 = 200;

/// Names of fields that usually hold others.
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
/// Names of fields that usually hold several of them.
const LISTS: [&str; 10] =
    ["items", "results", "rows", "records", "entries", "list", "values", "hits", "objects", "elements"];

/// An answer that has all of these fields, at the top and in whatever holds others.
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
    fn an_answer_has_the_fields_that_are_read_wherever_they_are_read() {
        let reads: Vec<String> = ["data", "items", "email", "month", "total"].map(str::to_owned).to_vec();
        let answer = Value::Object(fields(&reads));
        for place in [&answer, &answer["data"], &answer["items"][0]] {
            assert_eq!(place["email"], "ada@example.com");
            assert!(place["month"].is_number() && place["total"].is_number(), "{place}");
        }
    }

    #[test]
    fn the_first_requests_go_wrong_in_a_way_that_follows_from_the_chance() {
        let chosen: Vec<_> = (0..3)
            .map(|chance| {
                let mut mocks = Mocks::default();
                go_wrong(&mut mocks, Upstream::Flaky { failures: 2, requests: 50 }, chance);
                let answer = mocks.rules[0].respond.clone();
                assert_eq!(answer.fail_on, [1, 2, 51, 52, 101, 102, 151, 152]);
                answer.fault.unwrap()
            })
            .collect();
        assert_eq!(chosen, [MockFault::Unavailable, MockFault::Reset, MockFault::Stall]);
    }
}
