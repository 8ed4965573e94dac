//! Files whose content or name is not valid Python.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;

use super::{diagnostics_of, module, survive, tree};

#[test]
fn a_file_that_is_too_large_is_refused() {
    let tree = tree();
    let path = tree.write("huge.py", "");
    // A sparse file takes no space on the disk.
    File::options().write(true).open(path).unwrap().set_len(40 * 1024 * 1024).unwrap();
    let found = diagnostics_of(&survive(&tree), "huge.py");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("larger"), "{found:?}");
}

#[test]
fn zero_bytes_are_diagnosed_and_the_rest_is_read() {
    let tree = tree();
    tree.write("zeros.py", b"def before(): ...\n\0\0\0\ndef after(): ...\n");
    tree.write("only_zeros.py", [0; 10_000]);
    let inventory = survive(&tree);
    assert!(!diagnostics_of(&inventory, "zeros.py").is_empty());
    assert!(!diagnostics_of(&inventory, "only_zeros.py").is_empty());
    let sections = module(&inventory, "zeros.py").unwrap()["sections"].to_string();
    assert!(sections.contains("\"before\"") && sections.contains("\"after\""), "{sections}");
}

#[test]
fn binary_files_have_few_diagnostics() {
    let tree = tree();
    let mut state = 1_u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    tree.write("noise.py", (0..300_000).map(|_| noise()).collect::<Vec<u8>>());
    let found = diagnostics_of(&survive(&tree), "noise.py");
    assert!((1..=50).contains(&found.len()), "{}", found.len());
}

#[test]
fn file_names_that_are_not_utf8_are_listed() {
    let tree = tree();
    for name in [&b"caf\xe9.py"[..], b"caf\xe8.py", b"\xff/\xfe.py"] {
        let path = tree.repository().join(OsStr::from_bytes(name));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "def f(): ...\n").unwrap();
    }
    let inventory = survive(&tree);
    assert_eq!(inventory["modules"].as_array().unwrap().len(), 4);
}

#[test]
fn file_names_with_special_characters_are_listed() {
    let tree = tree();
    let names =
        ["a\nb.py", "a\"b'.py", "a b.py", "🛒.py", "-rf.py", "a\\b.py", "a\u{1b}[31m.py", "%s{}.py", ".py"];
    for name in names {
        tree.write(name, "x = 1\n");
    }
    let inventory = survive(&tree);
    for name in &names[..names.len() - 1] {
        assert!(module(&inventory, name).is_some(), "{name:?}");
    }
    let printed = tree.on_repository("scan", ["--top", "0"]).run().success();
    assert!(
        !printed.stdout.contains('\u{1b}'),
        "a file name must not send escape sequences to the terminal:\n{}",
        printed.stdout
    );
}

#[test]
fn ignore_files_that_do_not_parse_are_survived() {
    let tree = tree();
    tree.write(".gitignore", b"[\n***{\n\xff\xfe\n!\n");
    tree.write("pyproject.toml", b"\xff\xfe[");
    tree.write("setup.cfg", "[options.entry_points\n= = =\n[\n");
    tree.write("setup.py", "setup(entry_points={'console_scripts': ['= :', ':', 'a = ', '\\n']}\n");
    survive(&tree);
}

#[test]
fn a_long_line_and_a_long_name_are_read() {
    let tree = tree();
    tree.write("line.py", format!("x = \"{}\"\n\n\ndef after(): ...\n", "a".repeat(5_000_000)));
    tree.write("name.py", format!("def {}(): ...\n", "n".repeat(1_000_000)));
    tree.write("blank.py", format!("{}def after(): ...\n", "\n".repeat(1_000_000)));
    tree.write("comment.py", format!("{}def after(): ...\n", "# nosec noqa\n".repeat(200_000)));
    let inventory = survive(&tree);
    assert_eq!(module(&inventory, "blank.py").unwrap()["sections"][1]["line"], 1_000_001);
    assert_eq!(module(&inventory, "comment.py").unwrap()["sections"][1]["line"], 200_001);
    assert_eq!(inventory["diagnostics"].as_array().unwrap().len(), 0);
}
