//! `menace orphans` writes `orphan_modules.json` and `orphan_classifications.json`.

use std::fs;

use menace_tests::RepositoryTree;
use serde_json::{Value, json};

const PRICING: &str = "\
def total(lines, rate):
    amount = 0
    for line in lines:
        if line.count < 0:
            raise ValueError('negative')
        amount += line.price * line.count
    return round(amount * (1 + rate), 2)

def expensive(lines, limit):
    return sorted(line.name for line in lines if line.price > limit and line.count > 0)

def cheap(lines, limit):
    return sorted(line.name for line in lines if line.price <= limit and line.count > 0)
";

fn tree() -> RepositoryTree {
    RepositoryTree::with(&[
        ("main.py", "import shop.pricing\nif __name__ == '__main__':\n    pass\n"),
        ("shop/__init__.py", ""),
        ("shop/pricing.py", PRICING),
        ("shop/prices.py", PRICING),
        ("shop/tax_old.py", "RATE = 1\n"),
        ("shop/head.py", "import shop.tail\n"),
        ("shop/tail.py", "x = 1\n"),
    ])
}

fn stored(tree: &RepositoryTree, name: &str) -> Value {
    let path = tree.work().join("sandbox_data").join(name);
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn both_files_have_the_documented_shape() {
    let tree = tree();
    let outcome = tree.on_repository("orphans", []).run().success();
    outcome.stderr_contains(&["orphan_modules.json", "orphan_classifications.json"]);
    let modules = ["shop/head.py", "shop/prices.py", "shop/tail.py", "shop/tax_old.py"];
    assert_eq!(stored(&tree, "orphan_modules.json"), json!({"version": 1, "modules": modules}));
    let classifications = stored(&tree, "orphan_classifications.json");
    assert_eq!(classifications["version"], 1);
    let classified = classifications["modules"].as_object().unwrap();
    assert_eq!(classified.keys().collect::<Vec<_>>(), modules);
    let expected = [
        ("shop/head.py", "isolated", false, json!([])),
        ("shop/prices.py", "redundant", true, json!([])),
        ("shop/tail.py", "orphan", false, json!(["shop/head.py"])),
        ("shop/tax_old.py", "legacy", true, json!([])),
    ];
    for (path, class, redundant, parents) in expected {
        let entry = &classified[path];
        assert_eq!(
            (&entry["classification"], &entry["redundant"]),
            (&json!(class), &json!(redundant)),
            "{path}"
        );
        assert_eq!(entry["parents"], parents, "{path}");
        assert!(!entry["reason"].as_str().unwrap().is_empty(), "{path}");
    }
    assert_eq!(classified["shop/prices.py"]["duplicate_of"], "shop/pricing.py");
    assert_eq!(classified["shop/prices.py"]["similarity"], 1.0);
}

#[test]
fn the_json_has_the_same_orphans_as_the_scan() {
    let tree = tree();
    let report = tree.on_repository("orphans", ["--json"]).run().success().json();
    assert_eq!(report["version"], 1);
    assert_eq!(report["orphans"], tree.inventory()["orphans"]);
}

#[test]
fn the_table_names_classes_reasons_and_parents() {
    let outcome = tree().on_repository("orphans", []).run().success();
    for text in
        ["4 orphans among 7 modules", "isolated", "redundant", "legacy", "shop/head.py", "same code as"]
    {
        assert!(outcome.stdout.contains(text), "{text:?} is missing in\n{}", outcome.stdout);
    }
}

#[test]
fn redundant_modules_can_be_left_out_of_the_candidates() {
    let tree = tree();
    tree.on_repository("orphans", []).variable("SANDBOX_TEST_REDUNDANT", "0").run().success();
    assert_eq!(stored(&tree, "orphan_modules.json")["modules"], json!(["shop/head.py", "shop/tail.py"]));
    let classifications = stored(&tree, "orphan_classifications.json");
    assert_eq!(classifications["modules"]["shop/prices.py"]["classification"], "redundant");
    assert_eq!(classifications["modules"]["shop/tax_old.py"]["classification"], "legacy");
}

#[test]
fn names_of_earlier_runs_are_dropped_or_kept() {
    let tree = tree();
    let earlier = json!({"version": 1, "modules": ["shop/gone.py", "shop/head.py"]}).to_string();
    let modules_after = |clean: &str| {
        tree.write_in_work("sandbox_data/orphan_modules.json", &earlier);
        tree.on_repository("orphans", []).variable("SANDBOX_CLEAN_ORPHANS", clean).run().success();
        stored(&tree, "orphan_modules.json")["modules"].clone()
    };
    let now = ["shop/head.py", "shop/prices.py", "shop/tail.py", "shop/tax_old.py"];
    assert_eq!(modules_after("1"), json!(now));
    assert_eq!(modules_after("0"), json!(["shop/gone.py", now[0], now[1], now[2], now[3]]));
}

/// The first edition wrote a bare list.
#[test]
fn a_list_of_an_older_version_is_read() {
    let tree = tree();
    tree.write_in_work("sandbox_data/orphan_modules.json", r#"["util.py"]"#);
    tree.on_repository("orphans", []).variable("SANDBOX_CLEAN_ORPHANS", "0").run().success();
    let modules = stored(&tree, "orphan_modules.json")["modules"].clone();
    assert!(modules.as_array().unwrap().contains(&json!("util.py")), "{modules}");
}

#[test]
fn an_unreadable_list_is_rewritten_with_a_warning() {
    let tree = tree();
    tree.write_in_work("sandbox_data/orphan_modules.json", "{ not json");
    let outcome = tree.on_repository("orphans", []).variable("SANDBOX_CLEAN_ORPHANS", "0").run().success();
    outcome.stderr_contains(&["warning: ", "orphan_modules.json"]);
    assert_eq!(stored(&tree, "orphan_modules.json")["modules"].as_array().unwrap().len(), 4);
}

#[test]
fn the_data_directory_is_the_configured_one() {
    let tree = tree();
    tree.on_repository("orphans", ["--data-dir", "a/b"]).run().success();
    assert!(tree.work().join("a/b/orphan_modules.json").exists());
    assert!(!tree.work().join("sandbox_data").exists());
}

#[test]
fn a_scan_that_is_switched_off_finds_nothing_and_forgets_nothing() {
    let tree = tree();
    tree.on_repository("orphans", []).run().success();
    let before = stored(&tree, "orphan_modules.json");
    for variable in ["SANDBOX_DISABLE_ORPHAN_SCAN", "SANDBOX_DISABLE_ORPHANS"] {
        let report = tree.on_repository("orphans", ["--json"]).variable(variable, "1").run().success().json();
        assert_eq!(report["orphans"], json!([]), "{variable}");
        let scanned = tree.on_repository("scan", ["--json"]).variable(variable, "1").run().success().json();
        assert_eq!(scanned["orphans"], json!([]), "{variable}");
        assert_eq!(
            stored(&tree, "orphan_modules.json"),
            before,
            "{variable}: without a scan the stored list must not change"
        );
    }
}
