//! Pairs of modules with the same or nearly the same tokens.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::fingerprint::{ModuleFingerprint, SKETCH};

/// Modules with fewer tokens are similar by coincidence: empty packages, one-line re-exports.
const MIN_TOKENS: u32 = 60;
/// Smallest estimated share of common runs at which a module counts as a near-duplicate.
const MIN_SIMILARITY: f64 = 0.7;
/// A run that more modules than this share is boilerplate and is not evidence of a copy.
const MAX_SHARED: usize = 40;

/// Modules are compared when enough of this many smallest hashes of each are the same. At the smallest similarity that
/// counts, about 22 of 32 are expected to be.
const COMPARED: usize = 32;
const MIN_COMMON: u32 = 6;

/// Most similar other module of one module.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DuplicateModule {
    pub(crate) of: usize,
    pub(crate) similarity: f64,
}

/// Finds for every module the other module that it duplicates, if any. Deterministic: ties go to the lower index.
pub(crate) fn find_duplicates(fingerprints: &[&ModuleFingerprint]) -> Vec<Option<DuplicateModule>> {
    let mut best: Vec<Option<DuplicateModule>> = vec![None; fingerprints.len()];
    let mut consider = |left: usize, right: usize, similarity: f64| {
        for (module, of) in [(left, right), (right, left)] {
            if best[module].is_none_or(|known| similarity > known.similarity) {
                best[module] = Some(DuplicateModule { of, similarity });
            }
        }
    };
    for (left, right) in exact_pairs(fingerprints) {
        consider(left, right, 1.0);
    }
    for ((left, right), _) in candidate_pairs(fingerprints) {
        let similarity = similarity(fingerprints[left], fingerprints[right]);
        if similarity >= MIN_SIMILARITY {
            consider(left, right, similarity);
        }
    }
    best
}

fn large_enough(fingerprints: &[&ModuleFingerprint]) -> impl Iterator<Item = usize> {
    let indexes: Vec<usize> =
        (0..fingerprints.len()).filter(|index| fingerprints[*index].tokens >= MIN_TOKENS).collect();
    indexes.into_iter()
}

/// Each module with the first one that has the same normalised tokens.
fn exact_pairs(fingerprints: &[&ModuleFingerprint]) -> Vec<(usize, usize)> {
    let mut first: FxHashMap<u64, usize> = FxHashMap::default();
    let mut pairs = Vec::new();
    for index in large_enough(fingerprints) {
        match first.get(&fingerprints[index].exact) {
            Some(original) => pairs.push((*original, index)),
            None => {
                first.insert(fingerprints[index].exact, index);
            }
        }
    }
    pairs
}

/// Pairs that share enough sketch hashes to be worth an estimate, in a stable order.
fn candidate_pairs(fingerprints: &[&ModuleFingerprint]) -> Vec<((usize, usize), u32)> {
    let mut hashes: Vec<(u32, usize)> = large_enough(fingerprints)
        .flat_map(|index| fingerprints[index].sketch.iter().take(COMPARED).map(move |hash| (*hash, index)))
        .collect();
    hashes.par_sort_unstable();
    let mut shared: FxHashMap<(usize, usize), u32> = FxHashMap::default();
    let runs = hashes.chunk_by(|left, right| left.0 == right.0);
    for modules in runs.filter(|modules| (2..=MAX_SHARED).contains(&modules.len())) {
        for (position, (_, left)) in modules.iter().enumerate() {
            for (_, right) in &modules[position + 1..] {
                *shared.entry((*left, *right)).or_default() += 1;
            }
        }
    }
    let mut pairs: Vec<_> = shared.into_iter().filter(|(_, count)| *count >= MIN_COMMON).collect();
    pairs.sort_unstable();
    pairs
}

/// The Jaccard index of the runs, estimated from the smallest hashes of the union.
fn similarity(left: &ModuleFingerprint, right: &ModuleFingerprint) -> f64 {
    let (mut i, mut j, mut union, mut common) = (0, 0, 0_u32, 0_u32);
    while (union as usize) < SKETCH && (i < left.sketch.len() || j < right.sketch.len()) {
        union += 1;
        match (left.sketch.get(i), right.sketch.get(j)) {
            (Some(a), Some(b)) if a == b => {
                common += 1;
                i += 1;
                j += 1;
            }
            (Some(a), Some(b)) if a < b => i += 1,
            (Some(_), None) => i += 1,
            _ => j += 1,
        }
    }
    if union == 0 { 0.0 } else { f64::from(common) / f64::from(union) }
}

#[cfg(test)]
mod tests {
    use super::super::fingerprint;
    use super::*;
    use crate::syntax::{ParsedPythonSource, TokenVocabulary};

    fn module(statements: usize, changed: usize) -> ModuleFingerprint {
        let text: String = (0..statements)
            .map(|index| {
                let number = if index < changed { index + 10_000 } else { index };
                format!("value_{number} = compute({number}, [first, second])\n")
            })
            .collect();
        fingerprint(&TokenVocabulary::new(&ParsedPythonSource::parse(text)))
    }

    #[test]
    fn slightly_edited_copies_are_found_and_unrelated_modules_are_not() {
        let modules = [module(100, 0), module(100, 3), module(100, 90)];
        let found = find_duplicates(&modules.iter().collect::<Vec<_>>());
        let copy = found[1].unwrap();
        assert_eq!(copy.of, 0);
        assert!((0.7..1.0).contains(&copy.similarity), "{}", copy.similarity);
        assert_eq!(found[2], None);
    }

    #[test]
    fn small_modules_are_never_duplicates() {
        let modules = [module(2, 0), module(2, 0)];
        assert_eq!(find_duplicates(&modules.iter().collect::<Vec<_>>()), [None, None]);
    }
}
