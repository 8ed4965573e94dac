//! `menace map` and the settings that make `scan` write a module map.

use std::fs;

use menace_tests::RepositoryTree;
use serde_json::Value;

/// Two loosely coupled groups of modules.
fn tree() -> RepositoryTree {
    let tree = RepositoryTree::with(&[("main.py", "import shop.cart\nimport mail.send\n")]);
    for (package, modules) in
        [("shop", ["cart", "money", "tax", "stock"]), ("mail", ["send", "queue", "smtp", "text"])]
    {
        tree.write(&format!("{package}/__init__.py"), "");
        for module in modules {
            let others = modules.iter().filter(|other| **other != module);
            let imports: String =
                others.map(|other| format!("    from {package} import {other}\n")).collect();
            tree.write(
                &format!("{package}/{module}.py"),
                format!("def {module}():\n    \"\"\"The {package} {module}.\"\"\"\n{imports}"),
            );
        }
    }
    tree
}

fn stored(tree: &RepositoryTree) -> Value {
    serde_json::from_slice(&fs::read(tree.work().join("sandbox_data/module_map.json")).unwrap()).unwrap()
}

fn check(algorithm: &str) {
    let tree = tree();
    let run = || {
        tree.on_repository("map", ["--algorithm", algorithm]).run().success();
        fs::read(tree.work().join("sandbox_data/module_map.json")).unwrap()
    };
    let first = run();
    assert_eq!(run(), first, "{algorithm} gives the same map twice");
    let map = stored(&tree);
    assert_eq!((&map["version"], &map["algorithm"]), (&Value::from(1), &Value::from(algorithm)));
    let groups = map["groups"].as_array().unwrap();
    let inventory = tree.inventory();
    for module in inventory["modules"].as_array().unwrap() {
        let path = module["path"].as_str().unwrap();
        let id = map["modules"][path].as_u64().unwrap_or_else(|| panic!("{path} is in no group"));
        let group = &groups[usize::try_from(id).unwrap()];
        assert!(group["modules"].as_array().unwrap().contains(&Value::from(path)), "{path} in {group}");
    }
    assert_eq!(map["modules"].as_object().unwrap().len(), inventory["modules"].as_array().unwrap().len());
}

#[test]
fn louvain_puts_every_module_into_one_group() {
    check("louvain");
}

#[test]
fn greedy_puts_every_module_into_one_group() {
    check("greedy");
}

#[test]
fn label_propagation_puts_every_module_into_one_group() {
    check("label");
}

#[test]
fn hdbscan_puts_every_module_into_one_group() {
    check("hdbscan");
}

#[test]
fn modules_that_import_each_other_are_grouped() {
    let tree = tree();
    for algorithm in ["louvain", "greedy"] {
        let map = tree.on_repository("map", ["--json", "--algorithm", algorithm]).run().success().json();
        let group = |path: &str| map["modules"][path].clone();
        assert_eq!(group("shop/cart.py"), group("shop/tax.py"), "{algorithm}");
        assert_eq!(group("mail/smtp.py"), group("mail/text.py"), "{algorithm}");
        assert_ne!(group("shop/cart.py"), group("mail/send.py"), "{algorithm}");
    }
}

#[test]
fn modules_of_one_file_name_are_told_apart() {
    let tree = RepositoryTree::with(&[("pkg_a/common.py", "VALUE=1\n"), ("pkg_b/common.py", "VALUE=2\n")]);
    tree.on_repository("map", []).run().success();
    let map = stored(&tree);
    let paths: Vec<&String> = map["modules"].as_object().unwrap().keys().collect();
    assert_eq!(paths, ["pkg_a/common.py", "pkg_b/common.py"]);
}

#[test]
fn the_printed_map_is_the_written_map() {
    let tree = tree();
    let options = ["--json", "--algorithm", "louvain", "--threshold", "0.25", "--semantic", "--seed", "7"];
    let printed = tree.on_repository("map", options).run().success().json();
    assert_eq!(printed, stored(&tree));
    assert_eq!(
        (&printed["threshold"], &printed["semantic"], &printed["seed"]),
        (&0.25.into(), &true.into(), &7.into())
    );
}

#[test]
fn excluded_paths_are_not_in_the_map() {
    let tree = tree();
    let map = tree.on_repository("map", ["--json", "--exclude", "mail/*"]).run().success().json();
    let modules = map["modules"].as_object().unwrap();
    assert!(modules.keys().all(|path| !path.starts_with("mail/")), "{modules:?}");
    assert!(modules.contains_key("shop/cart.py"));
}

#[test]
fn old_names_of_options_and_algorithms_work() {
    let tree = tree();
    let options = [
        "--json",
        "--module-algorithm",
        "greedy_modularity",
        "--module-threshold",
        "0.2",
        "--module-semantic",
    ];
    let map = tree.on_repository("map", options).run().success().json();
    assert_eq!(map["algorithm"], "greedy");
}

#[test]
fn scans_write_a_map_when_settings_say_so() {
    let tree = tree();
    tree.on_repository("scan", []).run().success();
    assert!(!tree.work().join("sandbox_data").exists(), "a scan writes nothing unless asked");
    tree.on_repository("scan", []).variable("SANDBOX_AUTO_MAP", "1").run().success();
    assert_eq!(stored(&tree)["version"], 1);
    tree.write_in_work("sandbox_data/module_map.json", "{}");
    tree.on_repository("scan", ["--refresh-module-map"]).run().success();
    assert_eq!(stored(&tree)["version"], 1);
    tree.write_in_work("sandbox_data/module_map.json", "{}");
    tree.on_repository("scan", []).variable("SANDBOX_REFRESH_MODULE_MAP", "1").run().success();
    assert_eq!(stored(&tree)["version"], 1);
}
