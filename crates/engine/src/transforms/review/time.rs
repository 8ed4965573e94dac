//! Naive UTC datetimes.

use super::scope::{TransformScope, at, is_plain, single_rewrite};
use super::{Cause, ProposalGain, SourceRewrite, Transform};
use crate::editable_source::{EditableSource, SourceEdits};
use crate::syntax::{Expr, Ranged, Stmt, ast};

/// Replaces the deprecated `utcnow` and `utcfromtimestamp` by timezone-aware calls with the same value.
#[derive(Debug)]
pub(in crate::transforms) struct AwareDatetime;

impl Transform for AwareDatetime {
    fn name(&self) -> &'static str {
        "aware-datetime"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(scene) = TransformScope::of_review(source, cause) else { return Vec::new() };
        let mut edits = source.edit();
        let mut needs_zone = false;
        for (call, full) in scene.calls() {
            let Expr::Attribute(callee) = &*call.func else { continue };
            let count = call.arguments.args.len();
            let method = match full.as_str() {
                "datetime.datetime.utcnow" if call.arguments.is_empty() => "now",
                "datetime.datetime.utcfromtimestamp" if count == 1 && is_plain(call) => "fromtimestamp",
                _ => continue,
            };
            let zone = if let Expr::Attribute(class) = &*callee.value {
                format!("{}.timezone.utc", source.of(&*class.value))
            } else {
                needs_zone = true;
                "timezone.utc".to_owned()
            };
            edits = with_zone(edits.replace(&callee.attr, method), call, &zone);
        }
        let edits = if needs_zone { import_zone(&scene, edits) } else { Some(edits) };
        let why = "Replace the deprecated method by a timezone-aware call with the same value.";
        single_rewrite(edits.and_then(SourceEdits::finish), why, ProposalGain::Findings)
    }
}

fn with_zone<'s>(edits: SourceEdits<'s>, call: &ast::ExprCall, zone: &str) -> SourceEdits<'s> {
    let edits = match call.arguments.iter_source_order().last() {
        Some(last) => edits.replace(at(last.end()), format!(", {zone}")),
        None => edits.replace(call.arguments.range(), format!("({zone})")),
    };
    edits.replace(at(call.end()), ".replace(tzinfo=None)")
}

/// Adds `timezone` to the import of `datetime`.
fn import_zone<'s>(scene: &TransformScope, edits: SourceEdits<'s>) -> Option<SourceEdits<'s>> {
    if scene.names.imports("timezone", "datetime.timezone") {
        return Some(edits);
    }
    if !scene.names.is_free("timezone") {
        return None;
    }
    let import = scene.source.body().iter().find_map(|statement| match statement {
        Stmt::ImportFrom(import) if import.module.as_deref() == Some("datetime") && import.level == 0 => {
            Some(import)
        }
        _ => None,
    })?;
    let last = import.names.last()?;
    Some(edits.replace(at(last.end()), ", timezone"))
}

#[cfg(test)]
mod tests {
    use super::super::scope::testing::review;
    use super::*;

    #[test]
    fn deprecated_methods_become_timezone_aware() {
        let text = "from datetime import datetime\ndef f(x):\n    return datetime.utcnow(), datetime.utcfromtimestamp(x)\n";
        assert_eq!(
            review(&AwareDatetime, text, "f").unwrap(),
            "from datetime import datetime, timezone\ndef f(x):\n    return datetime.now(timezone.utc).replace(tzinfo=None), datetime.fromtimestamp(x, timezone.utc).replace(tzinfo=None)\n"
        );
        let text = "import datetime as dt\ndef f():\n    return dt.datetime.utcnow()\n";
        assert_eq!(
            review(&AwareDatetime, text, "f").unwrap(),
            "import datetime as dt\ndef f():\n    return dt.datetime.now(dt.timezone.utc).replace(tzinfo=None)\n"
        );
    }

    #[test]
    fn other_datetimes_stay() {
        for text in [
            "from datetime import datetime\ndef f():\n    return datetime.now()\n",
            "from datetime import datetime\ndef f(timezone):\n    return datetime.utcnow()\n",
            "def f(datetime):\n    return datetime.utcnow()\n",
        ] {
            assert_eq!(review(&AwareDatetime, text, "f"), None, "{text}");
        }
    }
}
