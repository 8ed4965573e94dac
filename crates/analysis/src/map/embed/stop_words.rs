//! Words that carry no information about the subject of a module.

/// Whether a lower-case word is part of English grammar or of the Python language rather than of the subject.
pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Sorted, so that a look-up is a binary search.
#[rustfmt::skip]
const STOP_WORDS: &[&str] = &[
    "about", "above", "after", "again", "all", "also", "always", "an", "and", "any", "are", "args", "as", "assert",
    "async", "at", "await", "be", "because", "been", "before", "being", "below", "between", "bool", "both", "break",
    "but", "by", "bytes", "can", "class", "cls", "continue", "could", "def", "default", "del", "dict", "did", "do",
    "does", "doing", "done", "down", "each", "elif", "else", "etc", "every", "except", "false", "few", "finally",
    "float", "for", "from", "further", "given", "global", "had", "has", "have", "having", "he", "her", "here", "his",
    "how", "if", "import", "in", "init", "int", "into", "is", "isinstance", "it", "its", "itself", "just", "kwargs",
    "lambda", "len", "list", "main", "may", "might", "more", "most", "must", "name", "no", "none", "nonlocal", "nor",
    "not", "now", "object", "of", "off", "on", "once", "one", "only", "optional", "or", "other", "our", "out", "over",
    "own", "param", "parameter", "parameters", "pass", "print", "property", "raise", "raises", "return", "returned",
    "returns", "same", "self", "set", "she", "should", "so", "some", "staticmethod", "str", "string", "such", "super",
    "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "through", "to", "too",
    "true", "try", "tuple", "type", "typing", "under", "until", "up", "use", "used", "uses", "using", "value",
    "values", "very", "was", "we", "were", "what", "when", "where", "whether", "which", "while", "who", "why", "will",
    "with", "without", "would", "yield", "you", "your",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_is_sorted_without_duplicates() {
        assert!(STOP_WORDS.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn grammar_words_are_stop_words_and_subjects_are_not() {
        assert!(is_stop_word("the") && is_stop_word("self"));
        assert!(!is_stop_word("invoice"));
    }
}
