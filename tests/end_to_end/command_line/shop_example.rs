//! Scan results that the README of `examples/shop` promises.

use menace_tests::{RepositoryTree, workspace_directory};
use serde_json::Value;

fn inventory() -> Value {
    let tree = RepositoryTree::new();
    let shop = workspace_directory().join("examples/shop");
    tree.menace(["scan", "--json", "--no-cache"]).arguments([shop]).run().success().json()
}

fn module<'a>(inventory: &'a Value, path: &str) -> &'a Value {
    let modules = inventory["modules"].as_array().unwrap();
    modules.iter().find(|module| module["path"] == path).unwrap_or_else(|| panic!("{path} is not listed"))
}

fn section<'a>(inventory: &'a Value, path: &str, name: &str) -> &'a Value {
    let sections = module(inventory, path)["sections"].as_array().unwrap();
    sections.iter().find(|section| section["name"] == name).unwrap_or_else(|| panic!("{path} has no {name}"))
}

/// Whether a finding with this id or rule is reported inside a section.
fn is_reported(
    inventory: &Value,
    path: &str,
    section_name: &str,
    list: &str,
    key: &str,
    value: &str,
) -> bool {
    let section = section(inventory, path, section_name);
    let lines = section["line"].as_u64().unwrap()..=section["end_line"].as_u64().unwrap();
    let found = module(inventory, path)[list].as_array().unwrap().iter();
    found.filter(|it| it[key] == value).any(|it| lines.contains(&it["line"].as_u64().unwrap()))
}

#[test]
fn everything_is_read() {
    let inventory = inventory();
    assert_eq!(inventory["diagnostics"], Value::Array(vec![]));
    assert_eq!(module(&inventory, "shop/cart.py")["name"], "shop.cart");
}

#[test]
fn the_cycle_is_there_and_does_not_fail_at_import() {
    let inventory = inventory();
    assert_eq!(inventory["cycles"], serde_json::json!([["shop.discounts", "shop.pricing"]]));
    assert_eq!(inventory["import_time_cycles"], Value::Array(vec![]));
}

#[test]
fn the_four_orphans_are_there_and_no_other() {
    let inventory = inventory();
    let orphans: Vec<(&str, &str, Value)> = inventory["orphans"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["path"].as_str().unwrap(), it["class"].as_str().unwrap(), it["parents"].clone()))
        .collect();
    let paths: Vec<&str> = orphans.iter().map(|orphan| orphan.0).collect();
    assert_eq!(
        paths,
        ["shop/csv_compat.py", "shop/legacy_import.py", "shop/loyalty.py", "shop/pricing_old.py"]
    );
    assert_eq!((orphans[0].1, &orphans[0].2), ("orphan", &serde_json::json!(["shop/legacy_import.py"])));
    assert!(["isolated", "legacy"].contains(&orphans[1].1), "nothing imports it, and its name says legacy");
    assert_eq!((orphans[2].1, orphans[3].1), ("isolated", "redundant"));
    assert_eq!(inventory["orphans"][3]["duplicate_of"], "shop/pricing.py");
}

#[test]
fn the_planted_security_findings_are_there() {
    let inventory = inventory();
    let planted = [
        ("shop/search.py", "SearchIndex.in_category", "B608"),
        ("shop/discounts.py", "rule_applies", "B307"),
        ("shop/storage/records.py", "load_session", "B301"),
        ("shop/reports.py", "archive", "B602"),
        ("shop/payments.py", "signature", "B324"),
    ];
    for (path, name, id) in planted {
        assert!(is_reported(&inventory, path, name, "findings", "id", id), "{id} in {path}:{name}");
    }
    assert!(!is_reported(&inventory, "shop/search.py", "SearchIndex.find", "findings", "id", "B608"));
}

#[test]
fn the_planted_lint_findings_are_there() {
    let inventory = inventory();
    assert!(is_reported(&inventory, "shop/parcels.py", "pack", "lint", "rule", "mutable-default"));
    assert!(is_reported(&inventory, "shop/events.py", "EventBus.publish", "lint", "rule", "bare-except"));
    let unused = module(&inventory, "shop/reports.py")["lint"].as_array().unwrap();
    assert!(unused.iter().any(|it| it["rule"] == "unused-import" && it["name"] == "csv"), "{unused:?}");
}

#[test]
fn imports_for_type_checkers_are_kept_apart() {
    let inventory = inventory();
    let apart = [("catalog", "inventory"), ("orders", "pricing"), ("events", "models")];
    for (importer, imported) in apart {
        let module = module(&inventory, &format!("shop/{importer}.py"));
        let name = Value::from(format!("shop.{imported}"));
        assert!(!module["imports"].as_array().unwrap().contains(&name), "{importer}");
        let edges = module["import_edges"].as_array().unwrap();
        let edge = edges.iter().find(|edge| edge["module"] == name).unwrap();
        assert_eq!(edge["kind"], "type_checking", "{importer}");
    }
}

#[test]
fn entry_points_are_recognised() {
    let inventory = inventory();
    assert_eq!(module(&inventory, "shop/__main__.py")["entry_points"][0], "main");
    let cli = module(&inventory, "shop/cli.py")["entry_points"].to_string();
    assert!(cli.contains("console script shop"), "{cli}");
}

#[test]
fn kinds_of_sections_are_recognised() {
    let inventory = inventory();
    let check = |path: &str, name: &str, key: &str, value: Value| {
        assert_eq!(section(&inventory, path, name)[key], value, "{path}:{name}");
    };
    check("shop/shipping.py", "compare", "is_async", true.into());
    check("shop/search.py", "words", "is_generator", true.into());
    check("shop/events.py", "replay", "is_generator", true.into());
    check("shop/storage/records.py", "JsonStore.items", "is_generator", true.into());
    check("shop/cart.py", "Cart.subtotal", "kind", "property".into());
    check("shop/money.py", "parse", "is_overload", true.into());
    let nested = module(&inventory, "shop/discounts.py")["sections"].as_array().unwrap();
    assert!(nested.iter().any(|it| it["name"].as_str().unwrap().starts_with("stacked.<locals>.")));
}

#[test]
fn effects_are_recognised() {
    let inventory = inventory();
    let effects_of = |path: &str| -> String {
        let sections = module(&inventory, path)["sections"].as_array().unwrap().iter();
        sections.map(|section| section["effects"].to_string()).collect()
    };
    let expected = [
        ("shop/payments.py", "network"),
        ("shop/shipping.py", "network"),
        ("shop/storage/records.py", "file"),
        ("shop/legacy_import.py", "file"),
        ("shop/config.py", "environment"),
        ("shop/reports.py", "process"),
    ];
    for (path, effect) in expected {
        assert!(effects_of(path).contains(effect), "{path}: {}", effects_of(path));
    }
}
