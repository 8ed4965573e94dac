//! Retired phrases (docs/glossary.md) stay away from help, errors, comments, docs and the dashboard.

use std::path::{Path, PathBuf};

/// Phrases that docs/glossary.md retired, in lower case, each with its replacement.
const RETIRED: [(&str, &str); 24] = [
    ("gone on with", "resumed"),
    ("goes on with", "resumes"),
    ("go on with it", "resume it"),
    ("what came of", "outcome"),
    ("all chance comes from", "seed of every random choice"),
    ("made by chance", "generated"),
    ("way to fail", "failure"),
    ("ways to fail", "failures"),
    ("taken back later", "reverted later"),
    ("was taken back", "was reverted"),
    ("nobody needs", "stale"),
    ("nobody knows", "unknown"),
    ("nobody can", "cannot"),
    ("somebody else's", "foreign"),
    ("somebody wants", "requested"),
    ("whoever is looked after", "the supervised process"),
    ("stand still", "pause"),
    ("more than may be asked", "rate limit exceeded"),
    ("come to rest", "converged"),
    ("looked at to the end", "verification finished"),
    ("ended without a word", "exited without an answer"),
    ("as people read it", "as text"),
    ("is worth, as", "ROI, as"),
    ("sandboxs ", "sandboxes"),
];

/// Files and folders with text that people read.
const READ: [&str; 13] = [
    "crates",
    "tests",
    "ui/src",
    "docs",
    "harness",
    "templates",
    "script",
    "scripts",
    "deploy",
    "README.md",
    "CHANGELOG.md",
    "ARCHITECTURE.md",
    "SECURITY.md",
];

const ENDINGS: [&str; 10] = ["rs", "md", "svelte", "ts", "py", "j2", "json", "yml", "sh", "html"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let mut entries: Vec<PathBuf> =
            std::fs::read_dir(path).expect("it is a directory").flatten().map(|entry| entry.path()).collect();
        entries.sort();
        for entry in entries {
            let is_own = entry.ends_with("glossary.md") || entry.ends_with("tests/words");
            let is_foreign =
                entry.ends_with("node_modules") || entry.ends_with("dist") || entry.ends_with("fixtures");
            if !is_own && !is_foreign {
                collect(&entry, files);
            }
        }
    } else if path
        .extension()
        .and_then(|ending| ending.to_str())
        .is_none_or(|ending| ENDINGS.contains(&ending))
    {
        files.push(path.to_owned());
    }
}

#[test]
fn retired_phrases_do_not_come_back() {
    let mut files = Vec::new();
    for name in READ {
        collect(&root().join(name), &mut files);
    }
    assert!(files.len() > 800, "only {} files were found", files.len());
    let mut found = Vec::new();
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        for (number, line) in text.lines().enumerate() {
            let lower = line.to_lowercase();
            for (phrase, instead) in RETIRED {
                if lower.contains(phrase) {
                    found.push(format!("{}:{}: {phrase:?}, write {instead:?}", file.display(), number + 1));
                }
            }
        }
    }
    assert!(found.is_empty(), "{} retired phrases:\n{}", found.len(), found.join("\n"));
}

#[test]
fn comments_begin_with_the_thing_they_describe() {
    let mut files = Vec::new();
    collect(&root().join("crates"), &mut files);
    let starts = ["What ", "Who ", "Which ", "Why ", "Whoever ", "Whatever "];
    let (mut words, mut found) = (0, Vec::new());
    for file in files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "rs")) {
        for (number, line) in std::fs::read_to_string(file).unwrap().lines().enumerate() {
            let Some(comment) = line.trim_start().strip_prefix("//") else { continue };
            let comment = comment.trim_start_matches(['/', '!']).trim_start();
            words += comment.split_whitespace().count();
            let sentences = comment.split(". ");
            if sentences.into_iter().any(|sentence| starts.iter().any(|start| sentence.starts_with(start))) {
                found.push(format!("{}:{}: {comment}", file.display(), number + 1));
            }
        }
    }
    // At most five in ten thousand words, as in the code of our models.
    assert!(found.len() * 2_000 <= words, "{} of {words} words:\n{}", found.len(), found.join("\n"));
}
