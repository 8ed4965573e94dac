//! The cache stores facts by content: it makes scans fast and never wrong.
//!
//! No test waits for a clock. Menace does not trust a time stamp that is younger than a second: it reads such files
//! again and compares their content. The tests assert which files were *analysed*, which depends on content alone.

use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};

use menace_tests::{InvocationOutcome, MenaceInvocation, RepositoryTree, workspace_directory};
use serde_json::Value;

fn tree() -> RepositoryTree {
    RepositoryTree::with(&[
        ("main.py", "import shop.cart\nif __name__ == '__main__':\n    pass\n"),
        ("shop/__init__.py", ""),
        ("shop/cart.py", "import shop.money\n\n\ndef total(lines):\n    return eval(lines)\n"),
        ("shop/money.py", "import os\n\n\nclass Coin:\n    def value(self):\n        return 1\n"),
        ("shop/broken.py", "def fine():\n    return 1\n\n\ndef broken(:\n"),
        ("shop/latin.py", "# coding: klingon\n"),
    ])
}

const FILES: u64 = 6;

fn scan(tree: &RepositoryTree) -> MenaceInvocation {
    tree.on_repository("scan", ["--json"])
}

fn scanned(tree: &RepositoryTree) -> Value {
    scan(tree).run().success().json()
}

fn analysed(inventory: &Value) -> u64 {
    inventory["statistics"]["analysed"].as_u64().unwrap()
}

/// The inventory without timings and cache statistics.
fn without_statistics(mut inventory: Value) -> Value {
    inventory.as_object_mut().unwrap().remove("statistics");
    inventory
}

/// Asserts that the next scan analyses `expected` files and gives the same result as one without a cache.
#[track_caller]
fn check_next(tree: &RepositoryTree, expected: u64) -> InvocationOutcome {
    let outcome = scan(tree).run().success();
    let inventory = outcome.json();
    let statistics = inventory["statistics"].clone();
    assert_eq!(analysed(&inventory), expected, "{statistics}");
    let files = statistics["files"].as_u64().unwrap();
    assert_eq!(statistics["cached"].as_u64().unwrap() + expected, files, "{statistics}");
    assert_eq!(without_statistics(inventory), without_statistics(tree.inventory()));
    outcome
}

fn shards(tree: &RepositoryTree) -> Vec<PathBuf> {
    let base = tree.home().join("cache/menace/scan");
    let mut found = Vec::new();
    for directory in fs::read_dir(base).unwrap() {
        let entries = fs::read_dir(directory.unwrap().path()).unwrap();
        found.extend(entries.map(|entry| entry.unwrap().path()));
    }
    found.sort();
    assert!(!found.is_empty(), "no cache was written");
    found
}

#[test]
fn a_second_scan_analyses_nothing() {
    let tree = tree();
    check_next(&tree, FILES);
    check_next(&tree, 0);
    check_next(&tree, 0);
}

#[test]
fn after_one_edit_one_file_is_analysed() {
    let tree = tree();
    scanned(&tree);
    tree.write("shop/money.py", "def coin():\n    return 2\n");
    let outcome = check_next(&tree, 1);
    assert!(outcome.stdout.contains("\"coin\""));
    check_next(&tree, 0);
}

#[test]
fn an_edit_that_keeps_size_and_times_is_noticed() {
    let tree = tree();
    let path = tree.write("shop/money.py", "def one():\n    return 1\n");
    let before = fs::metadata(&path).unwrap();
    scanned(&tree);
    fs::write(&path, "def two():\n    return 2\n").unwrap();
    restore_times(&path, &before);
    let after = fs::metadata(&path).unwrap();
    assert_eq!((after.len(), after.modified().unwrap()), (before.len(), before.modified().unwrap()));
    let outcome = check_next(&tree, 1);
    assert!(outcome.stdout.contains("\"two\"") && !outcome.stdout.contains("\"one\""));
}

#[test]
fn a_file_that_was_replaced_with_the_same_times_is_noticed() {
    let tree = tree();
    let path = tree.write("shop/money.py", "def one():\n    return 1\n");
    let before = fs::metadata(&path).unwrap();
    scanned(&tree);
    let replacement = tree.write("shop/replacement", "def two():\n    return 2\n");
    restore_times(&replacement, &before);
    fs::rename(replacement, &path).unwrap();
    assert!(check_next(&tree, 1).stdout.contains("\"two\""));
}

fn restore_times(path: &Path, metadata: &fs::Metadata) {
    let times = FileTimes::new()
        .set_modified(metadata.modified().unwrap())
        .set_accessed(metadata.accessed().unwrap());
    File::options().write(true).open(path).unwrap().set_times(times).unwrap();
}

#[test]
fn a_touched_file_is_not_analysed_again() {
    let tree = tree();
    scanned(&tree);
    let path = tree.repository().join("shop/cart.py");
    let times = FileTimes::new().set_modified(std::time::SystemTime::UNIX_EPOCH);
    File::options().write(true).open(path).unwrap().set_times(times).unwrap();
    check_next(&tree, 0);
}

#[test]
fn deleted_new_and_renamed_files_are_noticed() {
    let tree = tree();
    scanned(&tree);
    fs::remove_file(tree.repository().join("shop/money.py")).unwrap();
    let outcome = check_next(&tree, 0);
    assert!(!outcome.stdout.contains("shop/money.py"));
    tree.write("shop/new.py", "x = 1\n");
    check_next(&tree, 1);
    fs::rename(tree.repository().join("shop/new.py"), tree.repository().join("shop/newer.py")).unwrap();
    check_next(&tree, 1);
    tree.write("shop/money.py", "class Coin: ...\n");
    check_next(&tree, 1);
    check_next(&tree, 0);
}

#[test]
fn diagnostics_are_remembered() {
    let tree = tree();
    let first = scanned(&tree);
    let second = scanned(&tree);
    assert_eq!(first["diagnostics"], second["diagnostics"]);
    let text = second["diagnostics"].to_string();
    assert!(text.contains("shop/broken.py") && text.contains("klingon"), "{text}");
}

#[test]
fn project_files_are_not_cached() {
    let tree = tree();
    tree.write("shop/tool.py", "def main(): ...\n");
    assert!(scanned(&tree)["orphans"].to_string().contains("shop/tool.py"));
    tree.write("pyproject.toml", "[project.scripts]\ntool = \"shop.tool:main\"\n");
    let outcome = check_next(&tree, 0);
    assert!(!outcome.json()["orphans"].to_string().contains("shop/tool.py"));
}

#[test]
fn excluding_and_including_again_gives_the_same() {
    let tree = tree();
    let first = without_statistics(scanned(&tree));
    let excluded = tree.on_repository("scan", ["--json", "--exclude", "shop"]).run().success().json();
    assert_eq!(excluded["modules"].as_array().unwrap().len(), 1);
    assert_eq!(without_statistics(scanned(&tree)), first);
}

#[test]
fn the_cache_is_optional() {
    let tree = tree();
    tree.on_repository("scan", ["--no-cache"]).run().success();
    assert!(!tree.home().join("cache").exists());
    for _ in 0..2 {
        assert_eq!(analysed(&tree.inventory()), FILES);
    }
}

#[test]
fn a_cache_that_cannot_be_written_is_a_warning() {
    let tree = tree();
    tree.write_in_work("occupied", "a file\n");
    let occupied = tree.work().join("occupied");
    let outcome = scan(&tree).variable("XDG_CACHE_HOME", &occupied).run().success();
    outcome.stderr_contains(&["warning: ", "cache"]);
    assert_eq!(outcome.stderr.matches("warning: ").count(), 1, "expected one warning:\n{}", outcome.stderr);
    assert_eq!(without_statistics(outcome.json()), without_statistics(tree.inventory()));
}

#[test]
fn repositories_do_not_share_facts() {
    let (left, right) = (tree(), tree());
    right.write("shop/money.py", "def other(): ...\n");
    let home = left.home();
    let run = |tree: &RepositoryTree| {
        let invocation = scan(tree).variable("XDG_CACHE_HOME", home.join("cache"));
        without_statistics(invocation.run().success().json())
    };
    let first = run(&left);
    assert_eq!(run(&right), without_statistics(right.inventory()));
    assert_eq!(run(&left), first);
}

/// Damages every shard, then expects a warning and a correct result, then a working cache.
fn check_damage(damage: impl Fn(&Path), is_warned_of: bool) {
    let tree = tree();
    scanned(&tree);
    for path in shards(&tree) {
        damage(&path);
    }
    let outcome = check_next(&tree, FILES);
    if is_warned_of {
        outcome.stderr_contains(&["warning: ", "corrupt"]);
    }
    check_next(&tree, 0);
}

#[test]
fn a_flipped_byte_is_found() {
    let flip = |position: fn(usize) -> usize| {
        move |path: &Path| {
            let mut bytes = fs::read(path).unwrap();
            let index = position(bytes.len());
            bytes[index] ^= 0x10;
            fs::write(path, bytes).unwrap();
        }
    };
    check_damage(flip(|length| length - 1), true);
    check_damage(flip(|length| length / 2), true);
    check_damage(flip(|_| 40), true);
    check_damage(flip(|_| 0), false);
}

#[test]
fn a_truncated_shard_is_found() {
    let keep = |length: fn(u64) -> u64| {
        move |path: &Path| {
            let file = File::options().write(true).open(path).unwrap();
            file.set_len(length(file.metadata().unwrap().len())).unwrap();
        }
    };
    check_damage(keep(|length| length - 1), true);
    check_damage(keep(|length| length / 2), true);
    check_damage(keep(|_| 64), true);
    check_damage(keep(|_| 10), false);
    check_damage(keep(|_| 0), false);
}

#[test]
fn garbage_and_trailing_bytes_are_found() {
    check_damage(|path| fs::write(path, "garbage".repeat(1000)).unwrap(), false);
    check_damage(
        |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes.extend([0; 100]);
            fs::write(path, bytes).unwrap();
        },
        true,
    );
}

#[test]
fn a_directory_in_the_place_of_a_shard_is_survived() {
    let tree = tree();
    scanned(&tree);
    for path in shards(&tree) {
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
    }
    check_next(&tree, FILES).stderr_contains(&["warning: "]);
}

#[test]
fn eight_concurrent_scans_agree_and_leave_a_usable_cache() {
    let tree = tree();
    for index in 0..60 {
        tree.write(&format!("more/module_{index}.py"), format!("def f_{index}(a):\n    return a.x{index}\n"));
    }
    let running: Vec<_> = (0..8).map(|_| scan(&tree).start()).collect();
    let expected = without_statistics(tree.inventory());
    for run in running {
        let outcome = run.finish().success();
        assert_eq!(without_statistics(outcome.json()), expected);
        assert!(!outcome.stderr.contains("warning: "), "{}", outcome.stderr);
    }
    check_next(&tree, 0);
    let leftovers: Vec<_> =
        shards(&tree).into_iter().filter(|path| path.extension().is_none_or(|it| it != "facts")).collect();
    assert!(leftovers.is_empty(), "{leftovers:?}");
}

/// Its files are older than a second, so that their time stamps alone prove that nothing has changed.
#[test]
fn the_example_is_the_same_with_and_without_a_cache() {
    let tree = RepositoryTree::new();
    let shop = workspace_directory().join("examples/shop");
    let run = |options: &[&str]| {
        tree.menace(["scan", "--json"]).arguments(options).arguments([&shop]).run().success().json()
    };
    let fresh = run(&["--no-cache"]);
    let (first, second) = (run(&[]), run(&[]));
    assert_eq!((analysed(&first) > 0, analysed(&second)), (true, 0));
    assert_eq!(without_statistics(first), without_statistics(fresh.clone()));
    assert_eq!(without_statistics(second), without_statistics(fresh));
}
