//! README.md and the book in `docs/`: every command block runs, every page is in the table of contents, every link leads
//! to a file.
//!
//! A page is executed as one shell script, from a temporary copy of what its reader has: the root of a checkout with
//! `examples/`, and `menace` on `PATH`.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod markdown;
mod page;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use markdown::{Fence, fences, links};
use menace_tests::workspace_directory;

/// Most blocks of all pages together that may be excepted from execution.
const MAX_EXCEPTIONS: usize = 6;

/// Languages of fences. Commands are `sh`, so that none escapes execution under another name.
const LANGUAGES: [&str; 6] = ["sh", "sh no-run", "text", "json", "yaml", "toml"];

macro_rules! pages {
    ($($test:ident: $path:literal,)*) => {
        /// Pages with command blocks, each with a test of its own.
        const EXECUTED: &[&str] = &[$($path),*];

        $(
            #[test]
            fn $test() {
                page::execute($path);
            }
        )*
    };
}

pages! {
    readme: "README.md",
    api: "docs/api.md",
    commands: "docs/commands.md",
    concepts_isolation: "docs/concepts/isolation.md",
    concepts_scenarios: "docs/concepts/scenarios.md",
    configuration: "docs/configuration.md",
    guides_agents: "docs/guides/agents.md",
    guides_commands: "docs/guides/commands.md",
    guides_dashboard: "docs/guides/dashboard.md",
    guides_failures: "docs/guides/failures.md",
    guides_history: "docs/guides/history.md",
    guides_models: "docs/guides/models.md",
    guides_network: "docs/guides/network.md",
    guides_patches: "docs/guides/patches.md",
    guides_presets: "docs/guides/presets.md",
    guides_scan: "docs/guides/scan.md",
    guides_self_test: "docs/guides/self-test.md",
    guides_workflows: "docs/guides/workflows.md",
    install: "docs/install.md",
    operations_clean_up: "docs/operations/clean-up.md",
    operations_monitoring: "docs/operations/monitoring.md",
    operations_security: "docs/operations/security.md",
    operations_services: "docs/operations/services.md",
    quickstart_operator: "docs/quickstart/operator.md",
    quickstart_platform: "docs/quickstart/platform.md",
    quickstart_python: "docs/quickstart/python.md",
}

/// Every page whose commands are executed: README.md and `docs/**/*.md`, except the design decisions.
fn pages() -> Vec<String> {
    let mut found = vec!["README.md".to_owned()];
    markdown_below(&workspace_directory().join("docs"), &mut found);
    found.retain(|path| !path.starts_with("docs/design/"));
    found
}

fn markdown_below(directory: &Path, found: &mut Vec<String>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            markdown_below(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            let relative = path.strip_prefix(workspace_directory()).unwrap();
            found.push(relative.display().to_string());
        }
    }
}

fn text_of(page: &str) -> String {
    fs::read_to_string(workspace_directory().join(page)).unwrap()
}

#[test]
fn every_page_with_commands_has_a_test() {
    let with_commands: BTreeSet<String> =
        pages().into_iter().filter(|page| fences(&text_of(page)).iter().any(Fence::is_executed)).collect();
    let executed: BTreeSet<String> = EXECUTED.iter().map(|page| (*page).to_owned()).collect();
    assert_eq!(with_commands, executed, "update the list of pages in tests/book/main.rs");
}

#[test]
fn every_fence_has_a_known_language() {
    for page in pages() {
        for fence in fences(&text_of(&page)) {
            let language = &*fence.language;
            assert!(
                LANGUAGES.contains(&language),
                "{page}:{}: {language:?} is not one of {LANGUAGES:?}",
                fence.line
            );
        }
    }
}

#[test]
fn exceptions_are_few_and_have_reasons() {
    let mut exceptions = Vec::new();
    for page in pages() {
        for fence in fences(&text_of(&page)).into_iter().filter(|fence| fence.language == "sh no-run") {
            let place = format!("{page}:{}", fence.line);
            let reason = fence.exception();
            assert!(reason.is_some_and(|reason| reason.len() > 10), "{place} has no <!-- no-run: reason -->");
            exceptions.push(place);
        }
    }
    assert!(exceptions.len() <= MAX_EXCEPTIONS, "{exceptions:?}");
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let summary = "docs/SUMMARY.md";
    let mut expected = Vec::new();
    markdown_below(&workspace_directory().join("docs"), &mut expected);
    expected.retain(|page| page != summary);
    let mut listed: Vec<String> =
        links(&text_of(summary)).into_iter().map(|link| format!("docs/{link}")).collect();
    listed.sort();
    expected.sort();
    assert_eq!(listed, expected);
}

#[test]
fn links_lead_to_files() {
    let mut all = vec!["README.md".to_owned(), "CHANGELOG.md".to_owned()];
    markdown_below(&workspace_directory().join("docs"), &mut all);
    for page in all {
        let beside = workspace_directory().join(&page).parent().unwrap().to_owned();
        for link in links(&text_of(&page)) {
            let path = link.split('#').next().unwrap();
            if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
                continue;
            }
            assert!(beside.join(path).exists(), "{page} links to {link}, which does not exist");
        }
    }
}
