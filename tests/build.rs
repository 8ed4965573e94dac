//! Generates a test function for every case in `cases/*.md`, so that each runs, fails and is filtered on its own.

#[path = "src/cases/headings.rs"]
mod headings;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=cases");
    println!("cargo::rerun-if-changed=src/cases/headings.rs");
    let generated: String = case_files().iter().map(|path| module(path)).collect();
    let output = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR for build scripts");
    std::fs::write(Path::new(&output).join("cases.rs"), generated).expect("OUT_DIR is writable");
}

fn case_files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("cases").expect("cases/ is beside the manifest");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("cases/ can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    paths.sort();
    paths
}

fn module(path: &Path) -> String {
    let text = std::fs::read_to_string(path).expect("a case file is readable UTF-8");
    let stem = path.file_stem().expect("a file has a name").to_string_lossy();
    let mut code = format!("mod {} {{\n", identifier(&stem));
    for title in headings::case_titles(&text) {
        let name = identifier(title);
        writeln!(code, "#[test] fn {name}() {{ menace_tests::cases::check({stem:?}, {title:?}); }}")
            .expect("writing to a String cannot fail");
    }
    code + "}\n"
}

fn identifier(title: &str) -> String {
    let spaced: String =
        title.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { ' ' }).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join("_").to_ascii_lowercase()
}
