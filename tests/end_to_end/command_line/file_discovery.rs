//! File discovery: excluded, ignored and hidden files.

use menace_tests::{MenaceInvocation, RepositoryTree};

fn paths(invocation: MenaceInvocation) -> Vec<String> {
    let inventory = invocation.run().success().json();
    let modules = inventory["modules"].as_array().unwrap().iter();
    modules.map(|module| module["path"].as_str().unwrap().to_owned()).collect()
}

fn scan(tree: &RepositoryTree) -> MenaceInvocation {
    tree.on_repository("scan", ["--json", "--no-cache"])
}

#[test]
fn excluded_directories_are_not_entered() {
    let tree = RepositoryTree::with(&[
        ("keep.py", ""),
        ("vendor/a.py", ""),
        ("pkg/vendor/b.py", ""),
        ("pkg/vendors.py", ""),
        ("pkg/generated/c.py", ""),
    ]);
    let by_name = ["keep.py", "pkg/generated/c.py", "pkg/vendors.py"];
    assert_eq!(paths(scan(&tree).variable("SANDBOX_EXCLUDE_DIRS", "vendor")), by_name);
    assert_eq!(paths(scan(&tree).arguments(["--exclude-dirs", "vendor"])), by_name);
    let two = ["keep.py", "pkg/vendors.py"];
    assert_eq!(paths(scan(&tree).variable("SANDBOX_EXCLUDE_DIRS", "vendor/, generated")), two);
    assert_eq!(paths(scan(&tree).arguments(["--exclude", "vendor", "--exclude", "pkg/generated"])), two);
}

#[test]
fn globs_are_over_relative_paths() {
    let tree =
        RepositoryTree::with(&[("a/x.py", ""), ("a/b/y.py", ""), ("z_test.py", ""), ("a/z_test.py", "")]);
    let check = |glob: &str, expected: &[&str]| {
        assert_eq!(paths(scan(&tree).arguments(["--exclude", glob])), expected, "{glob}");
    };
    check("a/*", &["z_test.py"]);
    check("a/**/y.py", &["a/x.py", "a/z_test.py", "z_test.py"]);
    check("*_test.py", &["a/b/y.py", "a/x.py"]);
    check("./a/b", &["a/x.py", "a/z_test.py", "z_test.py"]);
    check("a/{x,z_test}.py", &["a/b/y.py", "z_test.py"]);
}

#[test]
fn flags_and_variables_add_up() {
    let tree = RepositoryTree::with(&[("a.py", ""), ("b/b.py", ""), ("c/c.py", "")]);
    let both = scan(&tree).arguments(["--exclude", "b"]).variable("SANDBOX_EXCLUDE_DIRS", "c");
    assert_eq!(paths(both), ["a.py"]);
}

#[test]
fn gitignore_counts_without_git() {
    let tree = RepositoryTree::with(&[
        (".gitignore", "/build/\n*_pb2.py\n!keep_pb2.py\n"),
        ("build/a.py", ""),
        ("pkg/build/b.py", ""),
        ("pkg/c_pb2.py", ""),
        ("pkg/keep_pb2.py", ""),
        ("pkg/.gitignore", "local.py\n"),
        ("pkg/local.py", ""),
        ("local.py", ""),
    ]);
    assert_eq!(paths(scan(&tree)), ["local.py", "pkg/build/b.py", "pkg/keep_pb2.py"]);
}

#[test]
fn virtual_environments_are_skipped_by_any_name() {
    let tree = RepositoryTree::with(&[
        ("a.py", ""),
        ("my-env/pyvenv.cfg", "home = /usr/bin\n"),
        ("my-env/lib/python3.13/site-packages/x.py", ""),
        ("my-env/bin/activate_this.py", ""),
        ("conda/conda-meta/history", ""),
        ("conda/lib/y.py", ""),
        ("lib/site-packages/z.py", ""),
        ("node_modules/tool/w.py", ""),
        ("__pycache__/a.py", ""),
        ("env/plain.py", ""),
    ]);
    assert_eq!(paths(scan(&tree)), ["a.py", "env/plain.py"]);
}

#[test]
fn hidden_directories_are_skipped() {
    let tree =
        RepositoryTree::with(&[(".tox/a.py", ""), (".git/b.py", ""), ("pkg/.cache/c.py", ""), ("d.py", "")]);
    assert_eq!(paths(scan(&tree)), ["d.py"]);
}

#[test]
fn a_hidden_root_is_read() {
    let tree = RepositoryTree::with(&[(".work/a.py", "x = 1\n")]);
    let invocation = tree.menace(["scan", "../repository/.work", "--json"]);
    assert_eq!(paths(invocation), ["a.py"]);
}

#[test]
fn only_python_is_read() {
    let tree = RepositoryTree::with(&[
        ("a.py", ""),
        ("window.pyw", ""),
        ("b.pyi", ""),
        ("c.pyc", ""),
        ("d.txt", "x"),
        ("e.py.bak", ""),
        ("notebook.ipynb", "{}"),
        ("Makefile", "all:\n"),
    ]);
    assert_eq!(paths(scan(&tree)), ["a.py", "window.pyw"]);
}
