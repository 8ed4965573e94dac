//! Extraction of the facts from the bytes of one file.

use crate::duplicates::fingerprint;
use crate::measures::{count_lines, halstead, maintainability_index, token_entropy};
use crate::sections::{collect, docstring_of};
use crate::syntax::{ParsedPythonSource, TokenVocabulary, decode};
use crate::{lint, security};

use super::FileFacts;
use super::legacy::legacy_marker;

/// Largest number of diagnostics kept per file: a binary file yields one per token.
const MAX_DIAGNOSTICS: usize = 20;

pub(crate) fn extract(bytes: Vec<u8>) -> FileFacts {
    let (text, decode_error) = decode(bytes);
    let source = ParsedPythonSource::parse(text);
    let vocabulary = TokenVocabulary::new(&source);
    let collected = collect(&source);
    let lines = count_lines(&source);
    let halstead = halstead(source.body());
    let maintainability =
        source.is_valid().then(|| maintainability_index(&halstead, collected.total_complexity, &lines));
    let mut diagnostics: Vec<(Option<u32>, String)> =
        decode_error.map(|error| (None, error.to_string())).into_iter().collect();
    diagnostics.extend(source.errors().into_iter().map(|(line, message)| (Some(line), message)));
    diagnostics.truncate(MAX_DIAGNOSTICS);
    FileFacts {
        legacy_marker: legacy_marker(&source, &collected.sections),
        sections: collected.sections,
        imports: collected.imports,
        lines,
        halstead,
        maintainability,
        entropy: token_entropy(&vocabulary),
        findings: security::findings(&source),
        lint: lint::findings(&source),
        fingerprint: fingerprint(&vocabulary),
        dotted_strings: collected.dotted_strings,
        has_main_guard: collected.has_main_guard,
        has_shebang: source.text().starts_with("#!"),
        has_code: source.body().len() > usize::from(docstring_of(source.body()).is_some()),
        diagnostics,
    }
}
