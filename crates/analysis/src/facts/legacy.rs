//! Markers by which a module declares itself obsolete.

use menace_model::inventory::{Section, SectionKind};

use crate::sections::docstring_of;
use crate::syntax::{Expr, ParsedPythonSource, Stmt};

/// Evidence that the module is obsolete, as the reason shown to the user.
pub(super) fn legacy_marker(source: &ParsedPythonSource, sections: &[Section]) -> Option<String> {
    marked_by_docstring(source)
        .or_else(|| marked_by_warning(source))
        .or_else(|| marked_by_decorators(sections))
}

fn marked_by_docstring(source: &ParsedPythonSource) -> Option<String> {
    let docstring = docstring_of(source.body())?.to_ascii_lowercase();
    let phrases = [
        "this module is deprecated",
        "deprecated module",
        ".. deprecated::",
        "deprecated:",
        "this module is obsolete",
        "obsolete module",
        "no longer used",
        "no longer maintained",
        "legacy module",
        "kept for backward",
    ];
    let phrase = phrases.iter().find(|phrase| docstring.contains(**phrase))?;
    Some(format!("its docstring says \"{}\"", phrase.trim_start_matches(".. ").trim_end_matches(':')))
}

/// `warnings.warn("…", DeprecationWarning)` at the top level of the module.
fn marked_by_warning(source: &ParsedPythonSource) -> Option<String> {
    let warns = |statement: &Stmt| {
        let Stmt::Expr(statement) = statement else { return false };
        let Expr::Call(call) = &*statement.value else { return false };
        let callee = source.slice(&*call.func);
        matches!(callee, "warnings.warn" | "warn" | "warn_deprecated" | "warnings._deprecated")
            && source.slice(&call.arguments).contains("Deprecat")
    };
    let statement = source.body().iter().find(|statement| warns(statement))?;
    Some(format!("emits a deprecation warning when imported (line {})", source.first_line(statement)))
}

fn marked_by_decorators(sections: &[Section]) -> Option<String> {
    let mut functions = sections.iter().filter(|section| section.kind == SectionKind::Function).peekable();
    functions.peek()?;
    let is_deprecated = |section: &Section| {
        section.decorators.iter().any(|decorator| {
            let name = decorator.split('(').next().unwrap_or(decorator);
            name.rsplit('.').next().is_some_and(|last| last.to_ascii_lowercase().starts_with("deprecated"))
        })
    };
    functions.all(is_deprecated).then(|| "all its functions are decorated as deprecated".to_owned())
}
