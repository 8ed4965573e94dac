//! Decoding of bytes to text in Python's order: byte order mark, then the encoding comment, then UTF-8.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use thiserror::Error;

/// Failure to decode a file exactly.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum SourceDecodeError {
    #[error("unknown encoding {0:?}; the file was decoded as latin-1")]
    UnknownEncoding(String),
    #[error("not valid {0}; invalid bytes were replaced")]
    Malformed(&'static str),
}

/// Decodes a file. A text is always returned; the error states what was guessed or replaced.
pub(crate) fn decode(bytes: Vec<u8>) -> (String, Option<SourceDecodeError>) {
    if let Some((encoding, bom_length)) = Encoding::for_bom(&bytes) {
        return decode_with(encoding, &bytes[bom_length..]);
    }
    match declared_encoding(&bytes) {
        None => decode_utf8(bytes),
        Some(label) => match encoding_for_python(&label) {
            Some(encoding) if encoding == UTF_8 => decode_utf8(bytes),
            Some(encoding) => decode_with(encoding, &bytes),
            None => {
                let (text, _) = WINDOWS_1252.decode_without_bom_handling(&bytes);
                (text.into_owned(), Some(SourceDecodeError::UnknownEncoding(label)))
            }
        },
    }
}

fn decode_utf8(bytes: Vec<u8>) -> (String, Option<SourceDecodeError>) {
    match String::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => {
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            (text, Some(SourceDecodeError::Malformed("UTF-8")))
        }
    }
}

fn decode_with(encoding: &'static Encoding, bytes: &[u8]) -> (String, Option<SourceDecodeError>) {
    let (text, malformed) = encoding.decode_without_bom_handling(bytes);
    let error = malformed.then(|| SourceDecodeError::Malformed(encoding.name()));
    (Cow::into_owned(text), error)
}

/// PEP 263: a comment in one of the first two lines that matches `coding[=:]\s*([-\w.]+)`; the first line must be
/// blank or a comment for the second to count.
fn declared_encoding(bytes: &[u8]) -> Option<String> {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let first = lines.next()?.trim_ascii();
    if let Some(label) = encoding_in_comment(first) {
        return Some(label);
    }
    if !(first.is_empty() || first.starts_with(b"#")) {
        return None;
    }
    encoding_in_comment(lines.next()?.trim_ascii())
}

fn encoding_in_comment(line: &[u8]) -> Option<String> {
    let comment = std::str::from_utf8(line.strip_prefix(b"#")?).ok()?;
    let after = comment.match_indices("coding").find_map(|(index, word)| {
        let rest = &comment[index + word.len()..];
        rest.strip_prefix([':', '='])
    })?;
    let label: String = after
        .trim_start()
        .chars()
        .take_while(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.'))
        .collect();
    (!label.is_empty()).then_some(label)
}

/// Python accepts more spellings of encodings than the WHATWG labels: `latin_1`, `utf8`, `cp1251`, `euc_jp`.
fn encoding_for_python(label: &str) -> Option<&'static Encoding> {
    let normalised = label.to_ascii_lowercase().replace('_', "-");
    let stripped = ["-unix", "-dos", "-mac", "-sig"]
        .iter()
        .find_map(|suffix| normalised.strip_suffix(suffix))
        .unwrap_or(&normalised);
    let alias = match stripped {
        "utf8" | "u8" | "utf" | "cp65001" => "utf-8",
        "latin-1" | "latin" | "iso-latin-1" | "8859" => "iso-8859-1",
        "iso8859-15" => "iso-8859-15",
        "cp932" | "mskanji" | "ms-kanji" => "shift-jis",
        "cp949" | "uhc" => "euc-kr",
        "cp936" => "gbk",
        "cp950" => "big5",
        other => other,
    };
    Encoding::for_label_no_replacement(alias.as_bytes()).or_else(|| {
        alias.strip_prefix("cp").and_then(|page| Encoding::for_label(format!("windows-{page}").as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], text: &str, error: Option<SourceDecodeError>) {
        assert_eq!(decode(bytes.to_vec()), (text.to_owned(), error));
    }

    #[test]
    fn byte_order_marks_and_comments_select_the_encoding() {
        check(b"\xef\xbb\xbfx = 1", "x = 1", None);
        check(b"\xff\xfex\x00", "x", None);
        check(b"# -*- coding: latin-1 -*-\n'\xe9'", "# -*- coding: latin-1 -*-\n'é'", None);
        check(
            b"#!/bin/python\n# vim: set fileencoding=cp1251 :\n'\xe6'",
            "#!/bin/python\n# vim: set fileencoding=cp1251 :\n'ж'",
            None,
        );
        check("# coding: utf8\r\n'é'".as_bytes(), "# coding: utf8\r\n'é'", None);
    }

    #[test]
    fn declaration_after_code_is_ignored() {
        check(b"x = 1\n# coding: nonsense\n", "x = 1\n# coding: nonsense\n", None);
    }

    #[test]
    fn errors_are_reported_with_a_decoded_text() {
        check(b"'\xff'", "'\u{fffd}'", Some(SourceDecodeError::Malformed("UTF-8")));
        check(
            b"# coding: klingon\n1",
            "# coding: klingon\n1",
            Some(SourceDecodeError::UnknownEncoding("klingon".into())),
        );
    }
}
