//! Cases written in Markdown: prose that says why, the files of a small repository, what a scan of it must show.

mod expectation;
mod headings;
mod markdown;

use std::path::Path;

use crate::tree::Tree;

use expectation::differences;
use markdown::Case;

/// Runs one case of `cases/<file>.md`.
pub fn check(file: &str, title: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(file).with_extension("md");
    let text = std::fs::read_to_string(&path).expect("the file was there when the tests were built");
    let case = Case::find(&text, title);
    let tree = Tree::new();
    for file in &case.files {
        if file.is_executable {
            tree.write_executable(&file.path, &file.content);
        } else {
            tree.write(&file.path, &file.content);
        }
    }
    let found = differences(&case.expectation, &tree.inventory());
    assert!(
        found.is_empty(),
        "{file}.md: {title}\n{}\n\n{}",
        case.prose.trim(),
        found.iter().map(|difference| format!("- {difference}\n")).collect::<String>()
    );
}
