//! `menace run`: calls every function under scenarios.

use menace_tests::{InvocationOutcome, RepositoryTree};
use serde_json::{Value, json};

/// A correct function, and one for each classification of outcomes.
const SHOP: &str = r#"
import enum
import os
import threading
import time
from dataclasses import dataclass


class Size(enum.Enum):
    SMALL = 1
    LARGE = 2


@dataclass
class Item:
    name: str
    price: float
    size: Size


class Refused(Exception):
    pass


def total(items: list[Item]) -> float:
    return sum(item.price for item in items)


def average(prices: list[int]) -> float:
    return sum(prices) / len(prices)


def refuse(name: str) -> str:
    if not name:
        raise ValueError("a name is needed")
    raise Refused(name)


def hang(seconds: int) -> None:
    time.sleep(1000)


def leave(code: int) -> None:
    os._exit(code % 7 + 1)


def first(record):
    return record["first"] + record["second"]


class Counter:
    def __init__(self, start: int = 0) -> None:
        self.value = start

    def add(self, amount: int) -> int:
        self.value += amount
        return self.value

    @property
    def half(self) -> float:
        return self.value / 2

    @classmethod
    def zero(cls) -> "Counter":
        return cls(0)

    @staticmethod
    def twice(number: int) -> int:
        return number * 2


async def later(value: int) -> int:
    return value + 1


def outer():
    def inner():
        return 1

    return inner()
"#;

fn run(tree: &RepositoryTree, more: &[&str]) -> InvocationOutcome {
    let options = ["--json", "--timeout", "700ms"];
    let options = if more.contains(&"--timeout") { &options[..1] } else { &options[..] };
    tree.on_repository("run", options.iter().copied().chain(more.iter().copied())).run()
}

fn shop() -> RepositoryTree {
    let tree = RepositoryTree::new();
    tree.write("shop.py", SHOP);
    tree
}

/// Report without the parts that differ between runs: names and times, and the ROI, which depends on the usage of calls.
fn without_names(mut report: Value) -> Value {
    report.as_object_mut().unwrap().retain(|key, _| !matches!(key.as_str(), "run" | "seconds" | "roi"));
    for list in ["failures", "flaky"] {
        for failure in report[list].as_array_mut().unwrap() {
            failure.as_object_mut().unwrap().retain(|key, _| !matches!(key.as_str(), "call" | "replay"));
        }
    }
    report
}

fn failures_of<'a>(report: &'a Value, section: &str) -> Vec<&'a Value> {
    report["failures"].as_array().unwrap().iter().filter(|failure| failure["section"] == section).collect()
}

fn cell<'a>(report: &'a Value, section: &str, scenario: &str) -> &'a Value {
    let cells = report["cells"].as_array().unwrap();
    cells
        .iter()
        .find(|cell| cell["section"] == section && cell["scenario"] == scenario)
        .unwrap_or_else(|| panic!("no cell of {section} under {scenario}"))
}

#[test]
fn failing_sections_are_found_and_correct_ones_are_not() {
    let tree = shop();
    let report = run(&tree, &[]).exits_with(1).json();
    assert_eq!((&report["version"], &report["seed"]), (&json!(1), &json!(0)));
    assert_eq!(report["sections"], report["reached"], "{}", report["harness_errors"]);
    let coverage = &report["coverage"][0];
    assert_eq!(coverage["path"], "shop.py");
    let lines = |key: &str| coverage[key].as_u64().unwrap();
    // All but the lines after those that always raise, hang or exit.
    assert!(lines("reached") >= 12 && lines("reached") <= lines("executable"), "{coverage}");

    let average = failures_of(&report, "shop:average");
    assert_eq!(average.len(), 1, "{average:?}");
    assert_eq!(
        (&average[0]["kind"], &average[0]["exception"]),
        (&json!("crash"), &json!("ZeroDivisionError"))
    );
    assert_eq!((&average[0]["path"], &average[0]["line"]), (&json!("shop.py"), &json!(30)));
    assert_eq!(average[0]["input"]["args"], json!([[]]));

    assert_eq!(failures_of(&report, "shop:hang")[0]["kind"], "timeout");
    let left = failures_of(&report, "shop:leave");
    assert!(left.iter().all(|failure| failure["kind"] == "crash"), "{left:?}");
    for right in
        ["shop:total", "shop:refuse", "shop:Counter.add", "shop:Counter.half", "shop:later", "shop:outer"]
    {
        assert_eq!(failures_of(&report, right), Vec::<&Value>::new(), "{right}");
    }
    assert_eq!(cell(&report, "shop:refuse", "normal")["robustness"], 1.0);
    assert!(cell(&report, "shop:refuse", "normal")["rejected"].as_u64().unwrap() > 0);
    let interval = &cell(&report, "shop:total", "normal")["interval"];
    assert!(interval[0].as_f64().unwrap() < 1.0 && interval[1] == 1.0, "{interval}");
    assert!(cell(&report, "shop:outer", "hostile_input")["void_reason"].is_string());
    // The keys that the body reads define a record, whose schema can drift.
    assert!(cell(&report, "shop:first", "schema_drift")["n"].as_u64().unwrap() > 0);
}

#[test]
fn the_same_seed_gives_the_same_report_and_another_one_does_not() {
    let tree = RepositoryTree::new();
    // The message depends on the iteration order of a set of strings.
    tree.write(
        "small.py",
        "import random\n\ndef look(number: int) -> int:\n    \
         return {}[str({'a', 'b', 'c', 'd', 'e'}) + str(random.random())]\n",
    );
    let first = run(&tree, &["--seed", "7"]).exits_with(1);
    let again = run(&tree, &["--seed", "7"]).exits_with(1).json();
    assert_ne!(first.json()["run"], again["run"]);
    assert_eq!(without_names(first.json()), without_names(again));
    assert_eq!(first.json()["seed"], 7);
    let other = run(&tree, &["--seed", "8"]).exits_with(1).json();
    assert_ne!(without_names(other)["failures"], without_names(first.json())["failures"]);
}

#[test]
fn a_repository_without_failures_exits_with_zero() {
    let tree = RepositoryTree::new();
    tree.write("small.py", "def same(value: int) -> int:\n    return value\n");
    let report = run(&tree, &[]).success().json();
    assert_eq!(report["failures"], json!([]));
    let shown = tree.on_repository("run", []).run().success();
    assert!(
        shown.stdout.contains("1 section") && shown.stdout.contains("Failures  none"),
        "{}",
        shown.stdout
    );
}

#[test]
fn import_errors_are_reported_and_do_not_end_the_run() {
    let tree = RepositoryTree::new();
    tree.write("missing.py", "import no_such_module\n\ndef f():\n    return 1\n");
    tree.write("leaving.py", "import sys\nsys.exit(3)\n\ndef f():\n    return 1\n");
    tree.write("dying.py", "import os\nos.kill(os.getpid(), 9)\n\ndef f():\n    return 1\n");
    tree.write("broken.py", "def f(:\n");
    tree.write("good.py", "def f():\n    return 1\n");
    let report = run(&tree, &[]).success().json();
    assert_eq!(report["reached"], 1);
    let reasons = report["harness_errors"].to_string();
    for reason in ["no_such_module", "SystemExit", "signal 9"] {
        assert!(reasons.contains(reason), "{reason} is missing in {reasons}");
    }
}

#[test]
fn only_selected_modules_are_called() {
    let tree = RepositoryTree::new();
    tree.write("one.py", "def f():\n    return 1\n");
    tree.write("pkg/__init__.py", "");
    tree.write("pkg/two.py", "def g():\n    return 1 // 0\n");
    let report = run(&tree, &["--modules", "pkg/two.py"]).exits_with(1).json();
    assert_eq!((&report["sections"], &report["failures"][0]["section"]), (&json!(1), &json!("pkg.two:g")));
    assert_eq!(failures_of(&report, "one:f"), Vec::<&Value>::new());
    let by_name = run(&tree, &["--modules", "pkg.two"]).exits_with(1).json();
    assert_eq!(without_names(by_name), without_names(report));
    let unknown = run(&tree, &["--modules", "pkg/tow.py"]).exits_with(2);
    assert!(unknown.stderr.contains("pkg/tow.py"), "{}", unknown.stderr);
    let no_python = run(&tree, &["--python", "/no/such/python"]).exits_with(2);
    assert!(no_python.stderr.contains("/no/such/python"), "{}", no_python.stderr);
}

#[test]
fn clocks_and_random_numbers_are_deterministic_except_in_children() {
    let tree = RepositoryTree::new();
    tree.write(
        "pinned.py",
        "import datetime\nimport os\nimport random\nimport secrets\nimport subprocess\nimport time\nimport uuid\n\n\n\
         IMPORTED = time.time()\n\n\ndef everything() -> str:\n    \
         return f'{IMPORTED} {time.time()} {datetime.datetime.now()} {uuid.uuid4()} {uuid.uuid1()} {os.urandom(4)} '\\\n        \
         f'{secrets.token_hex()} {random.random()} {os.getpid() > 1}'\n\n\n\
         def waits() -> bool:\n    end = time.time() + 0.3\n    while time.time() < end:\n        time.sleep(0.05)\n    \
         return True\n\n\n\
         def child() -> bool:\n    said = subprocess.run(['date', '+%Y-%m-%d-%H'], capture_output=True, text=True).stdout\n    \
         assert said.strip() != '2026-01-01-12', 'only this process is pinned'\n    return True\n",
    );
    let report = run(&tree, &["--timeout", "5s"]).success().json();
    assert_eq!((&report["flaky"], &report["failures"]), (&json!([]), &json!([])));
    let id = report["run"].as_str().unwrap();
    let calls =
        tree.menace(["show", id, "--calls", "--section", "pinned:everything", "--json"]).run().success();
    let value = calls.json()["calls"][0]["detail"]["value"].as_str().unwrap().to_owned();
    assert!(value.contains("2026-01-01 12:00:00"), "{value}");
}

#[test]
fn arguments_respect_annotated_constraints_and_constructors() {
    let tree = RepositoryTree::new();
    tree.write(
        "limited.py",
        "from dataclasses import dataclass\nfrom typing import Annotated\n\n\n\
         class Limit:\n    def __init__(self, **named):\n        vars(self).update(named)\n\n\n\
         @dataclass\nclass Item:\n    count: int\n\n    def __post_init__(self):\n        \
         if self.count < 2:\n            raise ValueError('two at least')\n\n\n\
         def number(text: Annotated[str, Limit(pattern=r'^[A-Z]{2}\\d{4}(-x|-y)?$')]) -> str:\n    \
         return text[:2].index(text[0].upper()) + int(text[2:6])\n\n\n\
         def part(share: Annotated[int, Limit(ge=5, lt=9, multiple_of=2)]) -> int:\n    \
         return {6: 'six', 8: 'eight'}[share]\n\n\n\
         def all_of(items: list[Item]) -> int:\n    return sum(item.count for item in items)\n",
    );
    let report = run(&tree, &[]).json();
    assert_eq!(report["harness_errors"], json!([]));
    for section in ["number", "part", "all_of"] {
        let section = format!("limited:{section}");
        let is_normal = |cell: &&Value| cell["section"] == section && cell["scenario"] == "normal";
        let cell = report["cells"].as_array().unwrap().iter().find(is_normal).unwrap();
        assert_eq!((&cell["ok"], cell["n"].as_u64().unwrap() > 1), (&cell["n"], true), "{cell}");
    }
}

#[test]
fn the_input_strategy_selects_the_arguments() {
    let tree = RepositoryTree::new();
    tree.write("mail.py", "def send(email: str) -> str:\n    return email\n");
    let values = |strategy: &str| {
        let invocation = tree.on_repository("run", ["--json", "--timeout", "5s"]);
        let report = invocation.variable("SANDBOX_STUB_STRATEGY", strategy).run().success().json();
        let id = report["run"].as_str().unwrap().to_owned();
        let calls = tree.menace(["show", &id, "--calls", "--json", "--top", "0"]).run().success().json();
        let ordinary = calls["calls"].as_array().unwrap().iter().filter(|call| call["scenario"] == "normal");
        ordinary.map(|call| call["detail"]["value"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(values("smart").iter().all(|value| value.contains("@example.")));
    assert!(values("signature").iter().all(|value| !value.contains('@')));
    assert_ne!(values("random"), values("smart"));
}

#[test]
fn tasks_that_a_call_starts_are_counted() {
    let tree = RepositoryTree::new();
    tree.write(
        "busy.py",
        "import asyncio\n\n\nasync def one() -> int:\n    return 1\n\n\nasync def many() -> int:\n    \
         return sum(await asyncio.gather(*(asyncio.create_task(one()) for _ in range(3))))\n",
    );
    let report = run(&tree, &[]).success().json();
    let id = report["run"].as_str().unwrap();
    let shown =
        tree.menace(["show", id, "--calls", "--section", "busy:many", "--json"]).run().success().json();
    assert_eq!(shown["calls"][0]["detail"]["measures"]["seen"]["tasks"], 3, "{shown}");
}
