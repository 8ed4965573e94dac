//! Loading of data or models that can contain code.

use menace_model::inventory::FindingSeverity::{High, Medium};

use super::argument_value::{self, ArgumentValue};
use super::call::CheckedCall;
use super::report::SecurityIssue;

pub(super) const CALLEES: &[&str] =
    &["load", "from_pretrained", "load_dataset", "hf_hub_download", "snapshot_download", "repository_id"];

const SAFE_LOADERS: &[&str] = &["SafeLoader", "CSafeLoader"];

/// B506: `yaml.load` without a safe loader.
pub(super) fn yaml_load(call: &CheckedCall) -> Option<SecurityIssue> {
    if call.name() != "load" || !call.has_segment("yaml") || !call.names.imports_module("yaml") {
        return None;
    }
    let loaders = [call.keyword_value("Loader"), call.argument(1)];
    let is_safe = loaders
        .into_iter()
        .flatten()
        .filter_map(ArgumentValue::text)
        .any(|loader| SAFE_LOADERS.contains(&loader));
    (!is_safe).then(|| {
        SecurityIssue::new("B506", Medium, High, "yaml.load can create arbitrary objects; use yaml.safe_load")
    })
}

/// B614: `torch.load` without `weights_only=True`.
pub(super) fn torch_load(call: &CheckedCall) -> Option<SecurityIssue> {
    let loads =
        call.is_one_of(&["torch.load", "torch.serialization.load"]) && call.names.imports_module("torch");
    (loads && !call.keyword_is("weights_only", "True")).then(|| {
        SecurityIssue::new(
            "B614",
            Medium,
            High,
            "torch.load unpickles and can run code; pass weights_only=True",
        )
    })
}

/// B615: a download from the Hugging Face hub that is not pinned to a commit.
pub(super) fn hugging_face_download(call: &CheckedCall) -> Option<SecurityIssue> {
    let module = match call.name() {
        "from_pretrained" => "transformers",
        "load_dataset" => "datasets",
        "hf_hub_download" | "snapshot_download" | "repository_id" => "huggingface_hub",
        _ => return None,
    };
    let imported = ["transformers", "datasets", "huggingface_hub"]
        .iter()
        .any(|name| call.names.imports_name_containing(name));
    if !call.has_segment(module) || !imported || is_pinned(call) || is_local(call) {
        return None;
    }
    Some(SecurityIssue::new(
        "B615",
        Medium,
        High,
        format!("{} downloads an unpinned revision; pin a commit", call.name()),
    ))
}

/// A revision that is not a literal is assumed to be pinned; a literal must look like a commit.
fn is_pinned(call: &CheckedCall) -> bool {
    let revisions = [call.keyword("revision"), call.keyword("commit_id")];
    if revisions.into_iter().flatten().any(|revision| !argument_value::is_constant(revision)) {
        return true;
    }
    let revision = revisions
        .into_iter()
        .flatten()
        .filter_map(ArgumentValue::of)
        .find(|value| !matches!(value, ArgumentValue::Text("")));
    revision.and_then(ArgumentValue::text).is_some_and(|revision| {
        let commit = revision.trim_matches(['"', '\'']);
        commit.len() >= 7 && commit.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

fn is_local(call: &CheckedCall) -> bool {
    let path = call.argument(0).and_then(ArgumentValue::text).unwrap_or_default();
    ["./", "/", "../"].iter().any(|prefix| path.starts_with(prefix))
}
