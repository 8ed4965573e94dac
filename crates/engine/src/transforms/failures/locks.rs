//! Locks for methods and functions that are not safe for concurrent calls.

use super::exception_names::import_from;
use super::site::{callee, expressions, is_alone, robustness_rewrite, statements};
use super::{Cause, SectionFailure, SourceRewrite, Transform};
use crate::editable_source::{EditableSource, PythonFunction, SourceEdits};
use crate::syntax::{Expr, Ranged, Stmt, ast};

/// Runs a method that is not safe for concurrent calls under a lock of its object.
pub(in crate::transforms) struct LockMethod;

impl Transform for LockMethod {
    fn name(&self) -> &'static str {
        "lock-method"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some((_, function)) = concurrent_crash(source, cause) else { return Vec::new() };
        let Some((edits, lock)) = locked(source, function, source.edit()) else { return Vec::new() };
        let why = format!(
            "Run `{}` under `self.{lock}`, so that concurrent calls do not interleave.",
            function.node.name
        );
        robustness_rewrite(Some(edits), why).into_iter().collect()
    }
}

/// Function that crashes under concurrent calls.
fn concurrent_crash<'a>(
    source: &'a EditableSource,
    cause: &'a Cause,
) -> Option<(&'a SectionFailure, PythonFunction<'a>)> {
    let Cause::Failure(failed) = cause else { return None };
    if failed.scenario != "concurrency_spike" || failed.kind != "crash" || source.text().contains('\r') {
        return None;
    }
    let function = source.function(&failed.section)?;
    Some((failed, function))
}

struct ObjectLock<'a> {
    attribute: &'a str,
    is_reentrant: bool,
    is_new: bool,
}

/// Wraps the body of a method in a lock of its object and returns the attribute of the lock. `None` if the lock cannot be
/// added, or if a call could deadlock with itself.
pub(in crate::transforms) fn locked<'a>(
    source: &'a EditableSource,
    function: PythonFunction<'a>,
    edits: SourceEdits<'a>,
) -> Option<(SourceEdits<'a>, &'a str)> {
    let class = function.class.filter(|class| !is_special(source, class))?;
    let node = function.node;
    let init = method(class, "__init__")?;
    let is_plain = node.decorator_list.is_empty() && !node.name.starts_with("__") && !yields(node);
    let body = source.after_docstring(node);
    let takes_self = first_parameter(node) == Some("self") && first_parameter(init) == Some("self");
    if !is_plain || !takes_self || !can_wrap(source, node, body) {
        return None;
    }
    let lock = lock_of(source, init, node.is_async).or_else(|| new_lock(source, class, node.is_async))?;
    if !lock.is_reentrant && can_deadlock(source, class, node, lock.attribute) {
        return None;
    }
    let header = format!("{}with self.{}:", if node.is_async { "async " } else { "" }, lock.attribute);
    let edits = edits.wrap(body, &header, &[]);
    let edits =
        if lock.is_new { add_lock(source, init, node.is_async, lock.attribute, edits)? } else { edits };
    Some((edits, lock.attribute))
}

/// Whether a class defines attributes outside `__init__`, as dataclasses and `__slots__` do.
fn is_special(source: &EditableSource, class: &ast::StmtClassDef) -> bool {
    let is_dataclass = class.decorator_list.iter().any(|decorator| {
        let text = source.of(decorator);
        text.contains("dataclass") || text.contains("attr") || text.contains("define")
    });
    let has_slots = class.body.iter().any(|statement| match statement {
        Stmt::Assign(assign) => assign.targets.iter().any(|target| source.of(target) == "__slots__"),
        _ => false,
    });
    is_dataclass || has_slots
}

fn method<'a>(class: &'a ast::StmtClassDef, name: &str) -> Option<&'a ast::StmtFunctionDef> {
    class.body.iter().find_map(|statement| match statement {
        Stmt::FunctionDef(function) if function.name.as_str() == name => Some(function),
        _ => None,
    })
}

fn first_parameter(function: &ast::StmtFunctionDef) -> Option<&str> {
    function.parameters.iter_non_variadic_params().next().map(|parameter| parameter.parameter.name.as_str())
}

fn yields(function: &ast::StmtFunctionDef) -> bool {
    expressions(&function.body).into_iter().any(|expr| matches!(expr, Expr::Yield(_) | Expr::YieldFrom(_)))
}

fn can_wrap(source: &EditableSource, function: &ast::StmtFunctionDef, body: &[Stmt]) -> bool {
    let (Some(first), Some(last)) = (body.first(), body.last()) else { return false };
    source.line(first.start()) > source.line(function.name.start())
        && is_alone(source, first)
        && is_alone(source, last)
}

/// Existing lock of the object.
fn lock_of<'a>(
    source: &'a EditableSource,
    init: &'a ast::StmtFunctionDef,
    is_async: bool,
) -> Option<ObjectLock<'a>> {
    let module = if is_async { "asyncio" } else { "threading" };
    statements(&init.body).into_iter().find_map(|statement| {
        let (target, value) = match statement {
            Stmt::Assign(assign) => (assign.targets.first()?, &*assign.value),
            Stmt::AnnAssign(assign) => (&*assign.target, assign.value.as_deref()?),
            _ => return None,
        };
        let (Expr::Attribute(target), Expr::Call(call)) = (target, value) else { return None };
        let name = callee(source, call)?;
        let bare = name.strip_prefix(module).and_then(|rest| rest.strip_prefix('.'));
        let kind = bare.or_else(|| import_from(source, module).map(|_| name))?;
        let is_lock = matches!(kind, "Lock" | "RLock") && source.of(&*target.value) == "self";
        is_lock.then(|| ObjectLock {
            attribute: target.attr.as_str(),
            is_reentrant: kind == "RLock",
            is_new: false,
        })
    })
}

fn new_lock<'a>(
    source: &EditableSource,
    class: &ast::StmtClassDef,
    is_async: bool,
) -> Option<ObjectLock<'a>> {
    let attribute = if is_async { "_async_lock" } else { "_lock" };
    let is_free = !source.of(class).contains(&format!("self.{attribute}"));
    is_free.then_some(ObjectLock { attribute, is_reentrant: !is_async, is_new: true })
}

fn add_lock<'a>(
    source: &EditableSource,
    init: &ast::StmtFunctionDef,
    is_async: bool,
    attribute: &str,
    edits: SourceEdits<'a>,
) -> Option<SourceEdits<'a>> {
    let last = init.body.last().filter(|_| can_wrap(source, init, &init.body))?;
    // An early return would leave the object without its lock.
    if statements(&init.body).into_iter().any(Stmt::is_return_stmt) {
        return None;
    }
    let (module, kind) = if is_async { ("asyncio", "Lock") } else { ("threading", "RLock") };
    Some(edits.after(last, &[format!("self.{attribute} = {module}.{kind}()")]).import(module))
}

/// Whether a method that takes the lock calls, directly or indirectly, another method that takes it.
fn can_deadlock(
    source: &EditableSource,
    class: &ast::StmtClassDef,
    changed: &ast::StmtFunctionDef,
    lock: &str,
) -> bool {
    let takes = |function: &ast::StmtFunctionDef| source.of(function).contains(&format!("with self.{lock}"));
    let methods = class.body.iter().filter_map(Stmt::as_function_def_stmt);
    let others: Vec<&ast::StmtFunctionDef> = methods.filter(|function| takes(function)).collect();
    let name = changed.name.as_str();
    let reached = reached_from(class, changed);
    takes(changed)
        || reached.contains(&name)
        || others
            .iter()
            .any(|other| reached.contains(&other.name.as_str()) || reached_from(class, other).contains(&name))
}

/// Methods that a method calls, directly or indirectly.
fn reached_from<'a>(class: &'a ast::StmtClassDef, from: &'a ast::StmtFunctionDef) -> Vec<&'a str> {
    let mut reached: Vec<&str> = Vec::new();
    let mut pending = vec![from];
    while let Some(function) = pending.pop() {
        for expr in expressions(&function.body) {
            let Expr::Attribute(found) = expr else { continue };
            let is_own = matches!(&*found.value, Expr::Name(name) if name.id.as_str() == "self");
            let is_new = is_own && !reached.contains(&found.attr.as_str());
            if let Some(next) = method(class, &found.attr).filter(|_| is_new) {
                reached.push(next.name.as_str());
                pending.push(next);
            }
        }
    }
    reached
}

/// Runs a function that is not safe for concurrent calls under a module-level lock.
pub(in crate::transforms) struct LockFunction;

/// Exceptions that depend on the arguments of a single call, not on concurrency.
const SINGLE_CALL_ERRORS: &[&str] = &[
    "ZeroDivisionError",
    "TypeError",
    "AttributeError",
    "OverflowError",
    "RecursionError",
    "UnboundLocalError",
    "UnicodeEncodeError",
    "UnicodeDecodeError",
    "NameError",
];

impl Transform for LockFunction {
    fn name(&self) -> &'static str {
        "lock-function"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some((failed, function)) = concurrent_crash(source, cause) else { return Vec::new() };
        let node = function.node;
        let is_single_call_error =
            failed.exception.as_deref().is_some_and(|exception| SINGLE_CALL_ERRORS.contains(&exception));
        let body = source.after_docstring(node);
        let top = source.body().iter().find(|statement| statement.range() == node.range());
        let Some(top) = top.filter(|top| is_alone(source, top) && can_wrap(source, node, body)) else {
            return Vec::new();
        };
        if is_single_call_error || node.is_async || yields(node) || calls_itself(node) {
            return Vec::new();
        }
        let lock = format!("_{}_lock", node.name.trim_start_matches('_'));
        if source.text().contains(&lock) {
            return Vec::new();
        }
        let definition = [format!("{lock} = threading.Lock()"), String::new(), String::new()];
        let edits = source
            .edit()
            .wrap(body, &format!("with {lock}:"), &[])
            .before(top, &definition)
            .import("threading");
        let why = format!("Run `{}` under a lock, so that concurrent calls do not interfere.", node.name);
        robustness_rewrite(Some(edits), why).into_iter().collect()
    }
}

fn calls_itself(function: &ast::StmtFunctionDef) -> bool {
    super::site::names_in(&function.body).contains(&function.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::super::site::testing::{crash, rewritten};
    use super::*;

    fn spike(section: &str, line: u32, exception: &str) -> SectionFailure {
        SectionFailure {
            section: section.to_owned(),
            scenario: "concurrency_spike".to_owned(),
            ..crash(line, exception, "")
        }
    }

    const SEATS: &str = "import threading\n\nclass Seats:\n    def __init__(self):\n        self.free = [1]\n        self.lock = threading.Lock()\n\n    def book(self):\n        \"\"\"Books.\"\"\"\n        return self.free.pop()\n";

    #[test]
    fn a_method_uses_the_existing_lock() {
        let found = rewritten(&LockMethod, SEATS, spike("Seats.book", 10, "IndexError"));
        assert_eq!(
            found,
            [SEATS.replace("        return self", "        with self.lock:\n            return self")]
        );
    }

    #[test]
    fn a_method_gets_a_lock() {
        let text = SEATS
            .replace("        self.lock = threading.Lock()\n", "")
            .replace("import threading", "import time");
        let found = rewritten(&LockMethod, &text, spike("Seats.book", 9, "IndexError"));
        let expected = "import threading\nimport time\n\nclass Seats:\n    def __init__(self):\n        self.free = [1]\n        self._lock = threading.RLock()\n\n    def book(self):\n        \"\"\"Books.\"\"\"\n        with self._lock:\n            return self.free.pop()\n";
        assert_eq!(found, [expected]);
        let text = text.replace("    def book", "    async def book");
        let found = rewritten(&LockMethod, &text, spike("Seats.book", 9, "IndexError"));
        assert!(
            found[0].contains("        self._async_lock = asyncio.Lock()\n")
                && found[0].contains("        async with self._async_lock:\n")
        );
    }

    #[test]
    fn locks_never_deadlock_with_themselves() {
        let outer = format!(
            "{SEATS}\n    def twice(self):\n        with self.lock:\n            return self.book(), self.book()\n"
        );
        assert!(rewritten(&LockMethod, &outer, spike("Seats.book", 10, "IndexError")).is_empty());
        let inner = format!(
            "{SEATS}\n    def twice(self):\n        return self.helped()\n\n    def helped(self):\n        with self.lock:\n            return 1\n"
        );
        assert!(rewritten(&LockMethod, &inner, spike("Seats.twice", 13, "IndexError")).is_empty());
        let reentrant = outer.replace("threading.Lock()", "threading.RLock()");
        assert_eq!(rewritten(&LockMethod, &reentrant, spike("Seats.book", 10, "IndexError")).len(), 1);
    }

    #[test]
    fn classes_without_init_and_other_scenarios_stay() {
        let text = "class A:\n    def f(self):\n        return self.x.pop()\n";
        assert!(rewritten(&LockMethod, text, spike("A.f", 3, "IndexError")).is_empty());
        assert!(rewritten(&LockMethod, SEATS, crash(10, "IndexError", "")).is_empty());
        let text = SEATS.replace("class Seats", "@dataclass\nclass Seats");
        assert!(rewritten(&LockMethod, &text, spike("Seats.book", 11, "IndexError")).is_empty());
    }

    #[test]
    fn a_function_gets_its_own_lock() {
        let text = "import os\n\n\ndef publish(a):\n    \"\"\"Moves.\"\"\"\n    os.replace(a, \"b\")\n";
        let found = rewritten(&LockFunction, text, spike("publish", 6, "FileNotFoundError"));
        let expected = "import threading\nimport os\n\n\n_publish_lock = threading.Lock()\n\n\ndef publish(a):\n    \"\"\"Moves.\"\"\"\n    with _publish_lock:\n        os.replace(a, \"b\")\n";
        assert_eq!(found, [expected]);
        assert!(rewritten(&LockFunction, text, spike("publish", 6, "TypeError")).is_empty());
        let text = text.replace("def publish", "async def publish");
        assert!(rewritten(&LockFunction, &text, spike("publish", 6, "FileNotFoundError")).is_empty());
    }
}
