//! Cases written in Markdown: prose with the reason, the files of a small repository, the expected scan result.

mod expectation;
mod headings;
mod markdown;

use std::path::Path;

use crate::repository_tree::RepositoryTree;

use expectation::differences;
use markdown::MarkdownCase;

/// Runs one case of `cases/<file>.md`.
pub fn check(file: &str, title: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(file).with_extension("md");
    let text = std::fs::read_to_string(&path).expect("the file was there when the tests were built");
    let case = MarkdownCase::find(&text, title);
    let tree = RepositoryTree::new();
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
