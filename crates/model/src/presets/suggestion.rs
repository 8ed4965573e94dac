//! Suggestions for misspelt words.

/// The known word nearest to an unknown one, if it is near enough to be a typo.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let (distance, found) = known.into_iter().map(|known| (distance(word, known), known)).min()?;
    (distance <= word.chars().count().div_ceil(3)).then_some(found)
}

/// Levenshtein's distance: insertions, deletions and replacements.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, left) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, right) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(left != *right);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_levenshteins() {
        for (left, right, expected) in
            [("", "abc", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2), ("a", "a", 0)]
        {
            assert_eq!(distance(left, right), expected, "{left} {right}");
        }
    }

    #[test]
    fn only_a_typo_gets_a_suggestion() {
        let known = ["CPU_LIMIT", "MEMORY_LIMIT", "TIMEOUT"];
        assert_eq!(nearest("CPU_LIMTI", known), Some("CPU_LIMIT"));
        assert_eq!(nearest("COLOUR", known), None);
    }
}
