//! Export of a failure as a pytest test that fails today for the same reason.

use std::fmt::Write as _;

use menace_model::calls::{HELPERS, OutcomeKind, SourceRequirements, python_literal, qualified_source};

use menace_model::calls::CallLimits;

use crate::call::Call;

/// Creates a test that fails as long as the call does. `None` for failures that only a sandbox can show: limits on
/// CPU, memory and disk, and denied operations.
pub fn test_of(call: &Call, kind: OutcomeKind, reason: &str) -> Option<String> {
    regression_test_of(call, kind, reason, None)
}

/// Creates a test that fails as long as the call does, and passes if the call raises the exception `refused`, or
/// returns if `refused` is `None`.
pub fn regression_test_of(
    call: &Call,
    kind: OutcomeKind,
    reason: &str,
    refused: Option<&str>,
) -> Option<String> {
    // Threads of such a test would each have their own object, and the failure is about one that they share.
    let shares_object = call.circumstances.burst.is_some() && call.stub.owner.is_some();
    if call.circumstances.limits != CallLimits::default() || shares_object {
        return None;
    }
    let mut needs = SourceRequirements::default();
    needs.imports.extend(["asyncio".to_owned(), "inspect".to_owned(), "itertools".to_owned()]);
    let body = if call.examples { examples(call, &mut needs) } else { invocation(call, &mut needs) };
    let test = match kind {
        OutcomeKind::Crash | OutcomeKind::Wrong if call.circumstances.burst.is_some() => {
            burst(call, &mut needs)
        }
        OutcomeKind::Crash | OutcomeKind::Wrong => refused.map_or_else(|| "    call()\n".to_owned(), refusal),
        OutcomeKind::Timeout => within(call, &mut needs),
        OutcomeKind::Oom
        | OutcomeKind::DiskFull
        | OutcomeKind::Denied
        | OutcomeKind::Flaky
        | OutcomeKind::Ok
        | OutcomeKind::Rejected
        | OutcomeKind::Void
        | OutcomeKind::HarnessError => return None,
    };
    let mut file = format!(
        "\"\"\"{} · {}: {}\n\nWritten by menace.\n\"\"\"\n\n",
        call.section(),
        call.circumstances.scenario,
        one_line(reason)
    );
    for module in needs.imports.iter().filter(|module| *module != "builtins") {
        let _ = writeln!(file, "import {module}");
    }
    file.push('\n');
    for (_, source) in HELPERS.iter().filter(|(name, _)| needs.helpers.contains(name)) {
        let _ = write!(file, "\n{source}\n");
    }
    let _ = write!(file, "\n{SETTLE}\n\ndef call():\n{body}\n\n");
    let name: String =
        call.function.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '_' }).collect();
    let _ = write!(file, "def test_{}():\n{test}", name.to_lowercase().trim_matches('_'));
    Some(file)
}

/// Body of a test in which the call must raise the exception.
fn refusal(exception: &str) -> String {
    let name = exception.rsplit('.').next().unwrap_or(exception);
    format!(
        "    try:\n        call()\n    except Exception as error:\n        assert type(error).__name__ == {0}, repr(error)\n    \
         else:\n        raise AssertionError(\"not refused with \" + {0})\n",
        python_literal(name)
    )
}

const SETTLE: &str = "\
def settle(value):
    \"\"\"Awaits a coroutine or drains a generator.\"\"\"
    if inspect.iscoroutine(value):
        return asyncio.run(value)
    if inspect.isgenerator(value):
        return list(itertools.islice(value, 1000))
    return value
";

fn one_line(text: &str) -> String {
    let text: String = text.chars().take(200).collect();
    text.replace(['\n', '"', '\\'], " ")
}

fn invocation(call: &Call, needs: &mut SourceRequirements) -> String {
    let stub = &call.stub;
    let mut all: Vec<String> = stub.arguments.iter().map(|value| value.source(needs)).collect();
    all.extend(stub.keywords.iter().map(|(name, value)| format!("{name}={}", value.source(needs))));
    let arguments = all.join(", ");
    let Some(owner) = &stub.owner else {
        let function = qualified_source(&call.section(), needs);
        return format!("    return settle({function}({arguments}))\n");
    };
    let (class, name) = call.function.rsplit_once('.').unwrap_or(("", &call.function));
    let class = class.rsplit('.').next().unwrap_or(class).trim_start_matches('_');
    let is_private = name.starts_with("__") && !name.ends_with("__");
    let name = if is_private { format!("_{class}{name}") } else { name.to_owned() };
    format!(
        "    target = {}\n    member = getattr(target, {})\n    return settle(member({arguments}) if callable(member) else member)\n",
        owner.source(needs),
        python_literal(&name)
    )
}

fn examples(call: &Call, needs: &mut SourceRequirements) -> String {
    needs.imports.insert("doctest".into());
    let function = qualified_source(&call.section(), needs);
    format!(
        "    tests = doctest.DocTestFinder().find({function}, globs=dict(vars({})))\n    \
         runner = doctest.DocTestRunner()\n    for test in tests:\n        runner.run(test)\n    \
         assert runner.failures == 0\n",
        call.module
    )
}

fn burst(call: &Call, needs: &mut SourceRequirements) -> String {
    needs.imports.insert("threading".into());
    let threads = call.circumstances.burst.map_or(10, |burst| burst.threads.max(2));
    format!(
        "    failures = []\n    barrier = threading.Barrier({threads})\n\n    def body():\n        barrier.wait()\n        \
         try:\n            call()\n        except BaseException as error:\n            failures.append(error)\n\n    \
         running = [threading.Thread(target=body) for _ in range({threads})]\n    for thread in running:\n        \
         thread.start()\n    for thread in running:\n        thread.join()\n    assert failures == []\n"
    )
}

fn within(call: &Call, needs: &mut SourceRequirements) -> String {
    // In a separate process, because a call that does not end may not release the interpreter lock either.
    needs.imports.insert("multiprocessing".into());
    let seconds = call.circumstances.within_ms.unwrap_or(call.timeout_ms) as f64 / 1e3;
    format!(
        "    process = multiprocessing.get_context(\"fork\").Process(target=call, daemon=True)\n    process.start()\n    \
         process.join({seconds:?})\n    is_late = process.is_alive()\n    process.kill()\n    \
         assert not is_late, \"timed out after {seconds} s\"\n"
    )
}
