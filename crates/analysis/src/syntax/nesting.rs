//! Upper bound on the depth of a file's tree, computed before recursive code runs on it.
//!
//! The parser grows its stack on the heap, but walking and dropping a tree recurse on the thread's stack. A file of
//! 10 MB of `-` is a tree of ten million levels. Since no tree is deeper than its file has bytes, only large files are
//! checked.

/// Largest nesting that is parsed.
pub(crate) const MAX_NESTING: usize = 150_000;

/// Stack that a thread needs to walk a tree of [`MAX_NESTING`] levels, 7 KiB per level. A test with the deepest
/// possible trees checks that it is enough in a debug build; unused pages cost nothing.
pub(crate) const STACK_BYTES: usize = 1024 * 1024 * 1024;

pub(crate) fn is_too_deep(text: &str) -> bool {
    text.len() > MAX_NESTING && bound(text.as_bytes()) > MAX_NESTING
}

/// Counts the tokens that can deepen a tree: each operator, dot, bracket and word of the current element of every open
/// bracket, and the indentation. A comma or a new statement starts a new element, so long flat lists stay shallow.
fn bound(bytes: &[u8]) -> usize {
    let mut open_elements: Vec<usize> = Vec::new();
    let mut element = 0;
    let mut outer: usize = 0;
    let mut deepest = 0;
    let mut index = 0;
    while index < bytes.len() {
        let byte = bytes[index];
        match byte {
            b'#' => index = end_of_comment(bytes, index),
            b'"' | b'\'' => {
                // Strings in a row are one node, but an f-string can nest; its braces are counted as one level each.
                let end = end_of_string(bytes, index);
                element += 1 + bytes[index..end].split(|byte| *byte == b'{').count().min(MAX_NESTING / 10);
                index = end;
                deepest = deepest.max(outer + element);
                continue;
            }
            b'(' | b'[' | b'{' => {
                outer += element + 1;
                open_elements.push(element + 1);
                element = 0;
            }
            b')' | b']' | b'}' => {
                if let Some(before) = open_elements.pop() {
                    outer -= before;
                    // The bracketed group may be the left end of a chain such as `f()()()`: it keeps one level.
                    element = before;
                }
            }
            b',' | b';' => element = 0,
            b'\n' | b'\r' if open_elements.is_empty() => element = indentation(&bytes[index + 1..]),
            b' ' | b'\t' | b'\n' | b'\r' | b'\\' => {}
            _ => {
                let end = end_of_word(bytes, index);
                element += 1;
                index = end;
                deepest = deepest.max(outer + element);
                continue;
            }
        }
        deepest = deepest.max(outer + element);
        index += 1;
    }
    deepest
}

fn indentation(rest: &[u8]) -> usize {
    rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

fn end_of_comment(bytes: &[u8], start: usize) -> usize {
    let length = bytes[start..].iter().position(|byte| matches!(byte, b'\n' | b'\r'));
    length.map_or(bytes.len(), |length| start + length - 1)
}

fn end_of_word(bytes: &[u8], start: usize) -> usize {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    let length = bytes[start..].iter().take_while(|byte| is_word(byte)).count();
    start + length.max(1)
}

fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let quote = bytes[start];
    let is_triple = bytes[start..].starts_with(&[quote; 3]);
    let mut index = start + if is_triple { 3 } else { 1 };
    while index < bytes.len() {
        match bytes[index] {
            b'\\' => index += 1,
            b'\n' if !is_triple => return index,
            byte if byte == quote && !is_triple => return index + 1,
            byte if byte == quote && bytes[index..].starts_with(&[quote; 3]) => return index + 3,
            _ => {}
        }
        index += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_flat_files_are_shallow() {
        let list = format!("x = [{}]", "(1, 'a(((', \"\"\"b'[\"\"\"),\n".repeat(20_000));
        assert!(bound(list.as_bytes()) < 20);
        assert!(bound("def f():\n    return a.b(c)\n".repeat(20_000).as_bytes()) < 20);
    }

    #[test]
    fn chains_of_every_kind_count_their_links() {
        for link in
            ["-", "not ", "(", "[", "f(x)(", "a.", "a+", "lambda:", "a if b else ", "()", "[0]", "{1:"]
        {
            let chain = format!("x = a{}", link.repeat(160_000));
            assert!(bound(chain.as_bytes()) >= 160_000, "{link:?} gives {}", bound(chain.as_bytes()));
        }
    }

    #[test]
    fn extreme_nesting_is_rejected_without_a_crash() {
        let source = super::super::ParsedPythonSource::parse("-".repeat(10_000_000));
        assert!(!source.is_valid());
        assert_eq!(source.errors().len(), 1);
    }
}
