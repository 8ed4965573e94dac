//! Dangling and circular links, and pipes, devices and directories with the names of files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::{WALL_LIMIT, diagnostics_of, module, survive, tree};

fn make_pipe(path: &Path) {
    let status = Command::new("mkfifo").arg(path).status().expect("mkfifo is part of coreutils");
    assert!(status.success());
}

#[test]
fn directory_loops_terminate() {
    let tree = tree();
    let root = tree.repository();
    tree.write("a/b/deep.py", "x = 1\n");
    symlink(".", root.join("here")).unwrap();
    symlink("../..", root.join("a/b/up")).unwrap();
    symlink("right", root.join("left")).unwrap();
    symlink("left", root.join("right")).unwrap();
    symlink("/", root.join("everything")).unwrap();
    let inventory = survive(&tree);
    let paths: Vec<&str> =
        inventory["modules"].as_array().unwrap().iter().map(|it| it["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["a/b/deep.py", "fine.py"]);
}

#[test]
fn a_link_to_a_file_is_read_like_the_file() {
    let tree = tree();
    symlink("fine.py", tree.repository().join("link.py")).unwrap();
    let inventory = survive(&tree);
    assert_eq!(
        module(&inventory, "link.py").unwrap()["sections"],
        module(&inventory, "fine.py").unwrap()["sections"]
    );
}

#[test]
fn dangling_links_are_diagnosed() {
    let tree = tree();
    symlink("/nonexistent", tree.repository().join("gone.py")).unwrap();
    symlink("itself.py", tree.repository().join("itself.py")).unwrap();
    symlink("/nonexistent", tree.repository().join("gone")).unwrap();
    let inventory = survive(&tree);
    for path in ["gone.py", "itself.py"] {
        assert_eq!(diagnostics_of(&inventory, path).len(), 1, "{path}: {}", inventory["diagnostics"]);
    }
    assert!(diagnostics_of(&inventory, "gone").is_empty(), "a link without a .py suffix is not diagnosed");
}

#[test]
fn a_directory_that_is_called_like_a_module_is_a_directory() {
    let tree = tree();
    fs::create_dir(tree.repository().join("empty.py")).unwrap();
    tree.write("full.py/inside.py", "x = 1\n");
    let inventory = survive(&tree);
    assert!(module(&inventory, "empty.py").is_none());
    assert!(module(&inventory, "full.py/inside.py").is_some());
}

#[test]
fn pipes_are_not_waited_for() {
    let tree = tree();
    make_pipe(&tree.repository().join("pipe.py"));
    make_pipe(&tree.repository().join("pipe"));
    let pipe = tree.repository().join("target.py");
    make_pipe(&pipe);
    symlink(&pipe, tree.repository().join("link.py")).unwrap();
    survive(&tree);
}

#[test]
fn pipes_in_the_place_of_project_files_are_not_waited_for() {
    for name in ["pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "pytest.ini"] {
        let tree = tree();
        make_pipe(&tree.repository().join(name));
        survive(&tree);
    }
}

/// The ignore rules cannot be read, so the directory may be skipped, or the scan refused with a reason.
#[test]
fn a_pipe_in_the_place_of_gitignore_is_not_waited_for() {
    let tree = tree();
    tree.write("below/other.py", "x = 1\n");
    make_pipe(&tree.repository().join("below/.gitignore"));
    survive(&tree);
    make_pipe(&tree.repository().join(".gitignore"));
    let outcome = tree.on_repository("scan", ["--json"]).wall_limit(WALL_LIMIT).run();
    assert!(outcome.code == Some(0) || outcome.code == Some(3), "{outcome:?}");
    outcome.stderr_contains(&[".gitignore"]);
}

#[test]
fn pipes_in_the_place_of_other_ignore_files_are_not_waited_for() {
    for place in [".ignore", ".rgignore", ".git/info/exclude", "../.gitignore", "../.ignore"] {
        let tree = tree();
        fs::create_dir_all(tree.repository().join(".git/info")).unwrap();
        make_pipe(&tree.repository().join(place));
        survive(&tree);
    }
}

#[test]
fn directories_in_the_place_of_project_files_are_survived() {
    let tree = tree();
    for name in ["pyproject.toml", "setup.cfg", "setup.py", ".gitignore", "pyvenv"] {
        fs::create_dir(tree.repository().join(name)).unwrap();
    }
    survive(&tree);
}

#[test]
fn devices_are_not_read() {
    let tree = tree();
    for (name, target) in [("zero.py", "/dev/zero"), ("null.py", "/dev/null"), ("zero", "/dev/zero")] {
        symlink(target, tree.repository().join(name)).unwrap();
    }
    survive(&tree);
}
