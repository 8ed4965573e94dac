//! Description of the location most similar to an edit that was not found, so that the model sees the difference.

use std::collections::BTreeMap;

use super::location::FileLineIndexes;
use super::parse::truncated_line;

/// Maximum occurrences of a line that is used to find the location.
const COMMON: usize = 20;
/// Maximum number of lines of an edit that are looked up.
const LOOKED_UP: usize = 100;

/// Location where most lines agree, or the line most similar to the first one.
pub(super) fn nearest(old: &[&str], views: &FileLineIndexes<'_>) -> String {
    let mut votes: BTreeMap<usize, usize> = BTreeMap::new();
    for (at, line) in old.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()).take(LOOKED_UP) {
        let places: Vec<usize> = views.bare.find_line(line).take(COMMON + 1).collect();
        if places.len() > COMMON {
            continue;
        }
        for start in places.into_iter().filter_map(|place| place.checked_sub(at)) {
            *votes.entry(start).or_default() += 1;
        }
    }
    let best = votes.into_iter().max_by_key(|(start, votes)| (*votes, usize::MAX - start));
    best.map_or_else(|| most_alike(old, views), |(start, _)| difference(old, start, views))
}

fn difference(old: &[&str], start: usize, views: &FileLineIndexes<'_>) -> String {
    let there = views.text.lines.get(start..).unwrap_or_default();
    let differs = |at: &usize| there.get(*at).is_none_or(|line| line.trim() != old[*at].trim());
    let Some(at) = (0..old.len()).find(differs) else {
        return format!("line {} has the same text but another indentation", start + 1);
    };
    let quoted = truncated_line(old[at]);
    match there.get(at) {
        Some(line) => {
            format!(
                "it is most like line {}, but line {} is {:?}, not {quoted:?}",
                start + 1,
                start + at + 1,
                truncated_line(line)
            )
        }
        None => format!("it is most like line {}, but the file ends before {quoted:?}", start + 1),
    }
}

fn most_alike(old: &[&str], views: &FileLineIndexes<'_>) -> String {
    let Some(wanted) = old.iter().map(|line| line.trim()).find(|line| !line.is_empty()) else {
        return "nothing is like it".into();
    };
    let alike = |line: &str| {
        let first = line.chars().zip(wanted.chars()).take_while(|(a, b)| a == b).count();
        let last = line.chars().rev().zip(wanted.chars().rev()).take_while(|(a, b)| a == b).count();
        first + last
    };
    let lines = views.text.lines.iter().enumerate();
    let best = lines.max_by_key(|(at, line)| (alike(line.trim()), usize::MAX - at));
    match best.filter(|(_, line)| alike(line.trim()) * 2 >= wanted.chars().count()) {
        Some((at, line)) => {
            format!("line {} is {:?}, not {:?}", at + 1, truncated_line(line.trim()), truncated_line(wanted))
        }
        None => format!("nothing is like {:?}", truncated_line(wanted)),
    }
}
