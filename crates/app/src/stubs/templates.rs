//! `stub_templates.json` in the data directory: arguments by section, or under `*` for every section that takes them.

use std::collections::BTreeMap;

use crate::{AppContext, RequestError};
use menace_runner::GivenStub;
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StubTemplatesFile {
    #[expect(dead_code, reason = "only this version exists")]
    version: u32,
    stubs: BTreeMap<String, Vec<Map<String, Value>>>,
}

/// Arguments in the file; empty if it does not exist.
pub(super) fn read(context: &AppContext) -> Result<Vec<GivenStub>, RequestError> {
    let path = context.data_directory().join("stub_templates.json");
    let wrong = |problem: String| RequestError::StubTemplates { path: path.clone(), problem };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(wrong(error.to_string())),
    };
    let templates: StubTemplatesFile =
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let of_section = |(section, all): (String, Vec<Map<String, Value>>)| {
        let section = (section != "*").then_some(section);
        all.into_iter()
            .map(move |values| GivenStub { section: section.clone(), ..GivenStub::of_json(&values) })
            .collect::<Vec<_>>()
    };
    Ok(templates.stubs.into_iter().flat_map(of_section).collect())
}
