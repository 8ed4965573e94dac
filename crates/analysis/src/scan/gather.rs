//! The facts of every file, from the cache where they still hold.

use std::time::SystemTime;

use menace_model::inventory::Diagnostic;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::cache::{Cache, Entry};
use crate::facts::{FileFacts, extract};
use crate::files::{PythonFile, Walked, read};
use crate::syntax::STACK_BYTES;

use super::run::Progress;

/// Everything known about the files, by index.
pub(super) struct Gathered {
    pub(super) files: Vec<PythonFile>,
    pub(super) entries: Vec<Entry>,
    pub(super) project_files: Vec<String>,
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) analysed: usize,
    pub(super) pool: ThreadPool,
    pub(super) cache: Option<Cache>,
    /// Indexes of files whose facts are new.
    pub(super) changed: Vec<usize>,
}

pub(super) fn gather(
    walked: Walked,
    mut cache: Option<Cache>,
    pool: ThreadPool,
    progress: &dyn Progress,
) -> Gathered {
    let recorded_ns = now_ns();
    let Walked { files, project_files, mut diagnostics, .. } = walked;
    let known: Vec<Option<Entry>> =
        files.iter().map(|file| cache.as_mut().and_then(|cache| cache.take(&file.path))).collect();
    let work: Vec<(&PythonFile, Option<Entry>)> = files.iter().zip(known).collect();
    let looked_at: Vec<Looked> = pool.install(|| {
        work.into_par_iter()
            .with_max_len(8)
            .map(|(file, known)| {
                let looked = look(file, known, recorded_ns);
                progress.analysed();
                looked
            })
            .collect()
    });
    let changed: Vec<usize> =
        (0..looked_at.len()).filter(|index| looked_at[*index].origin != Origin::Unchanged).collect();
    let analysed = looked_at.iter().filter(|looked| looked.origin == Origin::Analysed).count();
    let entries: Vec<Entry> = looked_at.into_iter().map(|looked| looked.entry).collect();
    for (file, entry) in files.iter().zip(&entries) {
        diagnostics.extend(entry.facts.diagnostics.iter().map(|(line, message)| Diagnostic {
            path: file.path.clone(),
            line: *line,
            message: message.clone(),
        }));
    }
    diagnostics.sort_by(|left, right| (&left.path, left.line).cmp(&(&right.path, right.line)));
    Gathered { files, entries, project_files, diagnostics, analysed, pool, cache, changed }
}

/// Threads with stacks for the deepest trees that are parsed.
pub(super) fn analysis_pool() -> ThreadPool {
    ThreadPoolBuilder::new()
        .stack_size(STACK_BYTES)
        .thread_name(|index| format!("analysis-{index}"))
        .build()
        .expect("threads can be started: the process has just been started itself")
}

fn now_ns() -> i128 {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i128::try_from(since_epoch.as_nanos()).unwrap_or(i128::MAX)
}

struct Looked {
    entry: Entry,
    origin: Origin,
}

#[derive(PartialEq, Eq)]
enum Origin {
    /// The stamp proves it.
    Unchanged,
    /// The content is the same, the stamp is new.
    Restamped,
    Analysed,
}

fn look(file: &PythonFile, known: Option<Entry>, recorded_ns: i128) -> Looked {
    let known = match known {
        Some(entry) if entry.is_proven_by(&file.stamp) => return Looked { entry, origin: Origin::Unchanged },
        known => known,
    };
    let bytes = match read(&file.absolute, file.stamp.size) {
        Ok(bytes) => bytes,
        Err(error) => {
            // All-zero content matches no file, so an unreadable file is looked at again next time.
            let facts = FileFacts { diagnostics: vec![(None, error.to_string())], ..FileFacts::default() };
            let entry = Entry { stamp: file.stamp, content: [0; 32], recorded_ns: 0, facts };
            return Looked { entry, origin: Origin::Analysed };
        }
    };
    let content = *blake3::hash(&bytes).as_bytes();
    match known {
        Some(entry) if entry.content == content => {
            Looked { entry: Entry { stamp: file.stamp, recorded_ns, ..entry }, origin: Origin::Restamped }
        }
        _ => {
            let facts = extract(bytes);
            Looked {
                entry: Entry { stamp: file.stamp, content, recorded_ns, facts },
                origin: Origin::Analysed,
            }
        }
    }
}
