//! Very large numbers of harmless items.

use std::fmt::Write as _;
use std::fs;

use super::{module, survive, tree};

#[test]
fn a_long_flat_list_is_ordinary() {
    let tree = tree();
    let rows: String = (0..200_000).map(|index| format!("    ({index}, \"name {index}\"),\n")).collect();
    tree.write("table.py", format!("TABLE = [\n{rows}]\n\n\ndef after(): ...\n"));
    let inventory = survive(&tree);
    assert_eq!(inventory["diagnostics"].as_array().unwrap().len(), 0, "{}", inventory["diagnostics"]);
    assert_eq!(module(&inventory, "table.py").unwrap()["sections"][1]["line"], 200_005);
}

#[test]
fn many_imports_in_one_file_are_read() {
    let tree = tree();
    tree.write(
        "imports.py",
        (0..50_000).map(|index| format!("import package_{index}\n")).collect::<String>(),
    );
    let inventory = survive(&tree);
    let external = &module(&inventory, "imports.py").unwrap()["external_imports"];
    assert_eq!(external.as_array().unwrap().len(), 50_000);
}

#[test]
fn many_functions_in_one_file_are_read() {
    let tree = tree();
    tree.write(
        "functions.py",
        (0..20_000).map(|index| format!("def f{index}(a, b=1): return a.x\n")).collect::<String>(),
    );
    let inventory = survive(&tree);
    assert_eq!(module(&inventory, "functions.py").unwrap()["sections"].as_array().unwrap().len(), 20_001);
}

#[test]
fn many_uses_of_one_parameter_are_read() {
    let tree = tree();
    let mut body = "def f(a):\n".to_owned();
    for index in 0..50_000 {
        writeln!(body, "    a.name_{index}; a == {index}; a[\"{index}\"]").unwrap();
    }
    tree.write("uses.py", body);
    survive(&tree);
}

#[test]
fn many_parameters_and_names_are_read() {
    let tree = tree();
    let names: Vec<String> = (0..20_000).map(|index| format!("a{index}")).collect();
    tree.write("parameters.py", format!("def f({}):\n    return {}\n", names.join(", "), names.join(", ")));
    let assignments: String = names.iter().map(|name| format!("{name} = 1\n")).collect();
    let uses: String = names.iter().map(|name| format!("    {name}.append(1)\n")).collect();
    tree.write("globals.py", format!("{assignments}\n\ndef f():\n{uses}"));
    survive(&tree);
}

#[test]
fn many_modules_that_import_each_other_are_one_cycle() {
    let tree = tree();
    let count = 1500;
    for index in 0..count {
        tree.write(&format!("ring/m{index}.py"), format!("import ring.m{}\n", (index + 1) % count));
    }
    let inventory = survive(&tree);
    assert_eq!(inventory["cycles"][0].as_array().unwrap().len(), count);
    assert_eq!(inventory["orphans"].as_array().unwrap().len(), count + 1);
}

#[test]
fn a_long_chain_of_orphans_is_followed() {
    let tree = tree();
    let count = 1500;
    for index in 0..count {
        tree.write(&format!("chain/m{index:04}.py"), format!("import chain.m{:04}\n", index + 1));
    }
    let inventory = survive(&tree);
    assert_eq!(inventory["orphans"].as_array().unwrap().len(), count + 1);
}

#[test]
fn many_copies_of_one_module_are_survived() {
    let tree = tree();
    let body =
        "def f(a, b):\n    c = a + b * 2\n    if c > 3:\n        return [c, a, b]\n    return {'x': c}\n"
            .repeat(5);
    for index in 0..600 {
        tree.write(&format!("copies/m{index}.py"), &body);
    }
    survive(&tree);
}

#[test]
fn deep_directories_are_entered() {
    let tree = tree();
    let deep = "d/".repeat(900);
    fs::create_dir_all(tree.repository().join(&deep)).unwrap();
    tree.write(&format!("{deep}bottom.py"), "import os\n");
    let inventory = survive(&tree);
    assert!(module(&inventory, &format!("{deep}bottom.py")).is_some());
}
