//! Splitting of text into terms: words, the pieces of identifiers, and whole identifiers.

use super::stop_words::is_stop_word;

/// Words of a document, separated by ASCII characters other than letters, digits and underscores.
///
/// Words are cut at bytes, which is fast; [`for_each_term`] cuts them again where other scripts have punctuation.
pub(crate) fn words(document: &str) -> impl Iterator<Item = &str> {
    let separates =
        |character: char| character.is_ascii() && !character.is_ascii_alphanumeric() && character != '_';
    document.split(separates).filter(|word| !word.is_empty())
}

/// Calls `visit` with every term of a word, in lower case and in order.
///
/// `parse_invoice` and `ParseInvoice` both give `parse`, `invoice` and `parse_invoice`: the pieces relate it to
/// prose about invoices, the whole relates it strongly to the few modules that use the same name. Pieces that
/// are stop words, numbers or single characters are left out.
pub(crate) fn for_each_term(word: &str, mut visit: impl FnMut(&str)) {
    let mut identifier = String::new();
    for word in word.split(|character: char| !is_word_character(character)) {
        identifier.clear();
        let mut piece_count = 0;
        for piece in pieces(word) {
            if piece_count > 0 {
                identifier.push('_');
            }
            let start = identifier.len();
            identifier.extend(piece.chars().flat_map(char::to_lowercase));
            piece_count += 1;
            if is_meaningful(&identifier[start..]) {
                visit(&identifier[start..]);
            }
        }
        if piece_count > 1 {
            visit(&identifier);
        }
    }
}

fn is_word_character(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Splits at underscores and at case boundaries: `HTTPServer_v2` is HTTP, Server, v2.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    word.split('_').flat_map(camel_case_pieces).filter(|piece| !piece.is_empty())
}

fn camel_case_pieces(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, remainder) = rest.split_at(first_case_boundary(rest));
        rest = remainder;
        Some(piece)
    })
}

/// Start of the second piece: a capital after a small letter or digit, or the last capital of a run when a small
/// letter follows it.
fn first_case_boundary(word: &str) -> usize {
    let mut characters = word.char_indices().peekable();
    let Some((_, mut previous)) = characters.next() else { return 0 };
    while let Some((position, current)) = characters.next() {
        let starts_small_word = characters.peek().is_some_and(|(_, next)| next.is_lowercase());
        if current.is_uppercase() && (!previous.is_uppercase() || starts_small_word) {
            return position;
        }
        previous = current;
    }
    word.len()
}

fn is_meaningful(piece: &str) -> bool {
    let is_number = piece.chars().all(char::is_numeric);
    let is_single_character = piece.chars().nth(1).is_none();
    !is_number && !is_single_character && !is_stop_word(piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(document: &str, expected: &[&str]) {
        let mut terms = Vec::new();
        for word in words(document) {
            for_each_term(word, |term| terms.push(term.to_owned()));
        }
        assert_eq!(terms, expected, "{document:?}");
    }

    #[test]
    fn splits_documents_into_terms() {
        check("Parse the invoices.", &["parse", "invoices"]);
        check("parse_invoice", &["parse", "invoice", "parse_invoice"]);
        check("ParseInvoice", &["parse", "invoice", "parse_invoice"]);
        check("HTTPServer", &["http", "server", "http_server"]);
        check("utf8Reader", &["utf8", "reader", "utf8_reader"]);
        check("__init__", &[]);
        check("_private", &["private"]);
        check("x = 3.14 + y", &[]);
        check("", &[]);
        check("___", &[]);
    }

    #[test]
    fn splits_words_outside_ascii() {
        check("größenÄnderung", &["größen", "änderung", "größen_änderung"]);
        check("наклад_ная", &["наклад", "ная", "наклад_ная"]);
        check("it’s “quoted”—twice", &["quoted", "twice"]);
        check("İstanbul 請求書", &["i\u{307}stanbul", "請求書"]);
    }
}
