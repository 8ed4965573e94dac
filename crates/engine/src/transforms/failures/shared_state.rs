//! State that concurrent callers share: directories, dictionaries, connections.

use super::locks::locked;
use super::site::{FailureSite, callee, robustness_rewrite, root_of, statements};
use super::{Cause, SourceRewrite, Transform};
use crate::editable_source::{EditableSource, SourceEdits};
use crate::syntax::{Expr, Ranged, Stmt, ast};

/// Accepts a directory that another caller has created in the meantime.
pub(in crate::transforms) struct ExistsOk;

impl Transform for ExistsOk {
    fn name(&self) -> &'static str {
        "exists-ok"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(site) = FailureSite::of(source, cause) else { return Vec::new() };
        if site.exception() != "FileExistsError" {
            return Vec::new();
        }
        let found = site.calls().find_map(|(call, _)| {
            let Expr::Attribute(method) = &*call.func else { return None };
            let makes = matches!(method.attr.as_str(), "mkdir" | "makedirs")
                && call.arguments.find_keyword("exist_ok").is_none();
            makes.then_some((call, method))
        });
        let Some((call, method)) = found else { return Vec::new() };
        let edits = with_argument(source, source.edit(), call, "exist_ok=True");
        // `os.mkdir` has no `exist_ok`.
        let edits = if callee(source, call) == Some("os.mkdir") {
            edits.replace(&method.attr, "makedirs")
        } else {
            edits
        };
        robustness_rewrite(Some(edits), "Accept a directory that already exists.").into_iter().collect()
    }
}

/// Appends an argument to a call.
fn with_argument<'a>(
    source: &'a EditableSource,
    edits: SourceEdits<'a>,
    call: &ast::ExprCall,
    argument: &str,
) -> SourceEdits<'a> {
    let ranges = call
        .arguments
        .args
        .iter()
        .map(Ranged::range)
        .chain(call.arguments.keywords.iter().map(Ranged::range));
    match ranges.max_by_key(Ranged::end) {
        Some(last) => edits.replace(last, format!("{}, {argument}", source.of(last))),
        None => edits.replace(&call.arguments, format!("({argument})")),
    }
}

/// Iterates over a copy of a container that changes during the loop.
pub(in crate::transforms) struct IterateCopy;

impl Transform for IterateCopy {
    fn name(&self) -> &'static str {
        "iterate-copy"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(site) = FailureSite::of(source, cause) else { return Vec::new() };
        let message = &site.failed.message;
        if site.exception() != "RuntimeError" || !(message.is_empty() || message.contains("during iteration"))
        {
            return Vec::new();
        }
        let of_loop = match site.statement {
            Stmt::For(each) => Some(&*each.iter),
            _ => None,
        };
        let of_parts = site.parts.iter().filter_map(|part| match part.expr {
            Expr::ListComp(list) => list.generators.first(),
            Expr::SetComp(set) => set.generators.first(),
            Expr::DictComp(dict) => dict.generators.first(),
            Expr::Generator(generator) => generator.generators.first(),
            _ => None,
        });
        let all = of_loop.into_iter().chain(of_parts.map(|generator| &generator.iter));
        let why = "Iterate over a copy, because the container can change during the loop.";
        all.filter(|iterated| is_shared(iterated))
            .filter_map(|iterated| {
                let text = source.of(iterated);
                robustness_rewrite(Some(source.edit().replace(iterated, format!("list({text})"))), why)
            })
            .collect()
    }
}

/// Whether an iterated expression is a path, or a dictionary view of one.
fn is_shared(iterated: &Expr) -> bool {
    match iterated {
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(view) => {
                matches!(view.attr.as_str(), "items" | "values" | "keys") && root_of(&view.value).is_some()
            }
            _ => false,
        },
        path => root_of(path).is_some(),
    }
}

/// Accepts an entry that another caller has removed in the meantime.
pub(in crate::transforms) struct PopDefault;

impl Transform for PopDefault {
    fn name(&self) -> &'static str {
        "pop-default"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(site) = FailureSite::of(source, cause) else { return Vec::new() };
        if site.exception() != "KeyError" || !site.is_concurrent() {
            return Vec::new();
        }
        let edits = deleted(&site).or_else(|| discarded(&site)).or_else(|| popped(&site));
        robustness_rewrite(edits, "Ignore an entry that a concurrent call has already removed.")
            .into_iter()
            .collect()
    }
}

fn deleted<'a>(site: &FailureSite<'a>) -> Option<SourceEdits<'a>> {
    let Stmt::Delete(delete) = site.statement else { return None };
    let [Expr::Subscript(item)] = &*delete.targets else { return None };
    let is_key = !matches!(&*item.slice, Expr::Slice(_) | Expr::Tuple(_));
    let (dict, key) = (site.source.of(&*item.value), site.source.of(&*item.slice));
    is_key.then(|| site.source.edit().replace(site.statement, format!("{dict}.pop({key}, None)")))
}

/// Rewrites a removal whose value is not used.
fn discarded<'a>(site: &FailureSite<'a>) -> Option<SourceEdits<'a>> {
    let Stmt::Expr(statement) = site.statement else { return None };
    let Expr::Call(call) = &*statement.value else { return None };
    let Expr::Attribute(method) = &*call.func else { return None };
    match (method.attr.as_str(), &*call.arguments.args) {
        ("pop", [_]) => Some(with_argument(site.source, site.source.edit(), call, "None")),
        ("remove", [_]) => Some(site.source.edit().replace(&method.attr, "discard")),
        _ => None,
    }
}

/// Adds a default to the removal of a constant that the function itself has stored.
fn popped<'a>(site: &FailureSite<'a>) -> Option<SourceEdits<'a>> {
    let (call, dict, key) = site.calls().find_map(|(call, _)| {
        let Expr::Attribute(method) = &*call.func else { return None };
        let [key] = &*call.arguments.args else { return None };
        (method.attr.as_str() == "pop").then(|| (call, site.source.of(&*method.value), site.source.of(key)))
    })?;
    let value = statements(&site.function.node.body).into_iter().find_map(|statement| {
        let Stmt::Assign(assign) = statement else { return None };
        let is_same =
            matches!(&*assign.targets, [target] if site.source.of(target) == format!("{dict}[{key}]"));
        (is_same && assign.value.is_literal_expr()).then(|| site.source.of(&*assign.value))
    })?;
    Some(with_argument(site.source, site.source.edit(), call, value))
}

/// Shares an `SQLite` connection that another thread has opened.
pub(in crate::transforms) struct SqliteOtherThread;

impl Transform for SqliteOtherThread {
    fn name(&self) -> &'static str {
        "sqlite-other-thread"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(site) = FailureSite::of(source, cause) else { return Vec::new() };
        let is_thread = site.failed.message.contains("thread") || site.failed.message.is_empty();
        if site.exception() != "ProgrammingError" || !is_thread {
            return Vec::new();
        }
        shared_connection(&site).into_iter().collect()
    }
}

fn shared_connection(site: &FailureSite<'_>) -> Option<SourceRewrite> {
    let class = site.function.class?;
    let connect = statements(&class.body).into_iter().find_map(|statement| {
        let (target, value) = match statement {
            Stmt::Assign(assign) => (assign.targets.first()?, &*assign.value),
            Stmt::AnnAssign(assign) => (&*assign.target, assign.value.as_deref()?),
            _ => return None,
        };
        let Expr::Call(call) = value else { return None };
        let is_used = target.is_attribute_expr()
            && site.parts.iter().any(|part| site.source.of(part.expr) == site.source.of(target));
        let is_connect = callee(site.source, call) == Some("sqlite3.connect")
            && call.arguments.find_keyword("check_same_thread").is_none();
        (is_used && is_connect).then_some(call)
    })?;
    let edits = with_argument(site.source, site.source.edit(), connect, "check_same_thread=False");
    let (edits, lock) = locked(site.source, site.function, edits)?;
    robustness_rewrite(
        Some(edits),
        format!("Share the connection between threads and serialize its use with `self.{lock}`."),
    )
}

#[cfg(test)]
mod tests {
    use super::super::SectionFailure;
    use super::super::site::testing::{crash, rewritten};
    use super::*;

    fn spike(line: u32, exception: &str, message: &str) -> SectionFailure {
        SectionFailure { scenario: "concurrency_spike".to_owned(), ..crash(line, exception, message) }
    }

    #[test]
    fn directories_may_exist() {
        let check = |before: &str, after: &str| {
            let text = format!("def f(p):\n    {before}\n");
            assert_eq!(
                rewritten(&ExistsOk, &text, crash(2, "FileExistsError", "")),
                [format!("def f(p):\n    {after}\n")]
            );
        };
        check("p.mkdir()", "p.mkdir(exist_ok=True)");
        check("p.mkdir(parents=True)", "p.mkdir(parents=True, exist_ok=True)");
        check("os.makedirs(p)", "os.makedirs(p, exist_ok=True)");
        check("os.mkdir(p)", "os.makedirs(p, exist_ok=True)");
        assert!(
            rewritten(&ExistsOk, "def f(p):\n    p.touch(exist_ok=False)\n", crash(2, "FileExistsError", ""))
                .is_empty()
        );
    }

    #[test]
    fn loops_iterate_over_copies() {
        let text = "class A:\n    def f(self):\n        for x in self.seen.values():\n            print(x)\n";
        let message = "dictionary changed size during iteration";
        let found = rewritten(&IterateCopy, text, spike(3, "RuntimeError", message));
        assert_eq!(found, [text.replace("self.seen.values()", "list(self.seen.values())")]);
        let text = "def f(d):\n    return [k for k in d]\n";
        assert_eq!(
            rewritten(&IterateCopy, text, crash(2, "RuntimeError", message)),
            [text.replace("in d", "in list(d)")]
        );
        assert!(rewritten(&IterateCopy, text, crash(2, "RuntimeError", "no running event loop")).is_empty());
    }

    #[test]
    fn removed_entries_are_ignored() {
        let text = "class A:\n    def f(self, key):\n        del self.d[key]\n";
        let found = rewritten(&PopDefault, text, spike(3, "KeyError", "1"));
        assert_eq!(found, [text.replace("del self.d[key]", "self.d.pop(key, None)")]);
        let text = "D = {}\nasync def f(key):\n    D[key] = 1\n    return D.pop(key)\n";
        assert_eq!(
            rewritten(&PopDefault, text, spike(4, "KeyError", "")),
            [text.replace("pop(key)", "pop(key, 1)")]
        );
        assert!(
            rewritten(&PopDefault, "def f(key):\n    return D.pop(key)\n", spike(2, "KeyError", ""))
                .is_empty()
        );
        assert!(rewritten(&PopDefault, text, crash(4, "KeyError", "")).is_empty());
    }

    #[test]
    fn connections_are_shared_under_a_lock() {
        let text = "import sqlite3\nimport threading\nclass A:\n    def __init__(self):\n        self.lock = threading.Lock()\n        self.base = sqlite3.connect(\":memory:\")\n    def f(self):\n        return self.base.execute(\"SELECT 1\")\n";
        let message = "SQLite objects created in a thread can only be used in that same thread.";
        let found = rewritten(&SqliteOtherThread, text, spike(8, "ProgrammingError", message));
        let expected = text
            .replace("\":memory:\")", "\":memory:\", check_same_thread=False)")
            .replace("        return", "        with self.lock:\n            return");
        assert_eq!(found, [expected]);
        assert!(rewritten(&SqliteOtherThread, text, spike(8, "OperationalError", message)).is_empty());
    }
}
