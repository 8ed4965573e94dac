//! Collection of the facts of every file, from the cache where they are still valid.

use std::time::SystemTime;

use menace_model::inventory::Diagnostic;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::cache::{CachedFacts, FactsCache};
use crate::facts::{FileFacts, extract};
use crate::files::{PythonFile, RepositoryFiles, read};
use crate::syntax::STACK_BYTES;

use super::repository_scan::ScanObserver;

/// Files and their facts, by index.
pub(super) struct GatheredFacts {
    pub(super) files: Vec<PythonFile>,
    pub(super) entries: Vec<CachedFacts>,
    pub(super) project_files: Vec<String>,
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) analysed: usize,
    pub(super) pool: ThreadPool,
    pub(super) cache: Option<FactsCache>,
    /// Indexes of files whose cache entries changed.
    pub(super) changed: Vec<usize>,
}

pub(super) fn gather(
    walked: RepositoryFiles,
    mut cache: Option<FactsCache>,
    pool: ThreadPool,
    progress: &dyn ScanObserver,
) -> GatheredFacts {
    let recorded_ns = now_ns();
    let RepositoryFiles { files, project_files, mut diagnostics, .. } = walked;
    let known: Vec<Option<CachedFacts>> =
        files.iter().map(|file| cache.as_mut().and_then(|cache| cache.take(&file.path))).collect();
    let work: Vec<(&PythonFile, Option<CachedFacts>)> = files.iter().zip(known).collect();
    let checked_files: Vec<CheckedFile> = pool.install(|| {
        work.into_par_iter()
            .with_max_len(8)
            .map(|(file, known)| {
                let checked = check_file(file, known, recorded_ns);
                progress.analysed();
                checked
            })
            .collect()
    });
    let changed: Vec<usize> = (0..checked_files.len())
        .filter(|index| checked_files[*index].origin != FactsOrigin::Unchanged)
        .collect();
    let analysed = checked_files.iter().filter(|checked| checked.origin == FactsOrigin::Analysed).count();
    let entries: Vec<CachedFacts> = checked_files.into_iter().map(|checked| checked.entry).collect();
    for (file, entry) in files.iter().zip(&entries) {
        diagnostics.extend(entry.facts.diagnostics.iter().map(|(line, message)| Diagnostic {
            path: file.path.clone(),
            line: *line,
            message: message.clone(),
        }));
    }
    diagnostics.sort_by(|left, right| (&left.path, left.line).cmp(&(&right.path, right.line)));
    GatheredFacts { files, entries, project_files, diagnostics, analysed, pool, cache, changed }
}

/// Thread pool with stacks large enough for the deepest trees that are parsed.
pub(super) fn analysis_pool() -> ThreadPool {
    ThreadPoolBuilder::new()
        .stack_size(STACK_BYTES)
        .thread_name(|index| format!("analysis-{index}"))
        .build()
        .expect("the process has just started, so it can start threads")
}

fn now_ns() -> i128 {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i128::try_from(since_epoch.as_nanos()).unwrap_or(i128::MAX)
}

struct CheckedFile {
    entry: CachedFacts,
    origin: FactsOrigin,
}

#[derive(PartialEq, Eq)]
enum FactsOrigin {
    /// The stamp proves that the file is unchanged.
    Unchanged,
    /// The content is the same, but the stamp changed.
    Restamped,
    Analysed,
}

fn check_file(file: &PythonFile, known: Option<CachedFacts>, recorded_ns: i128) -> CheckedFile {
    let known = match known {
        Some(entry) if entry.is_unchanged(&file.stamp) => {
            return CheckedFile { entry, origin: FactsOrigin::Unchanged };
        }
        known => known,
    };
    let bytes = match read(&file.absolute, file.stamp.size) {
        Ok(bytes) => bytes,
        Err(error) => {
            // An all-zero hash matches no file, so the next scan tries to read the file again.
            let facts = FileFacts { diagnostics: vec![(None, error.to_string())], ..FileFacts::default() };
            let entry = CachedFacts { stamp: file.stamp, content: [0; 32], recorded_ns: 0, facts };
            return CheckedFile { entry, origin: FactsOrigin::Analysed };
        }
    };
    let content = *blake3::hash(&bytes).as_bytes();
    match known {
        Some(entry) if entry.content == content => CheckedFile {
            entry: CachedFacts { stamp: file.stamp, recorded_ns, ..entry },
            origin: FactsOrigin::Restamped,
        },
        _ => {
            let facts = extract(bytes);
            CheckedFile {
                entry: CachedFacts { stamp: file.stamp, content, recorded_ns, facts },
                origin: FactsOrigin::Analysed,
            }
        }
    }
}
