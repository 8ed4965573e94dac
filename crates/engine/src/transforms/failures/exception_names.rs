//! Spelling of exceptions in a module: builtins, library exceptions and its own.

use super::site::{FailureSite, statements};
use crate::editable_source::{EditableSource, SourceEdits};
use crate::syntax::{Expr, Ranged, Stmt, ast};

/// Builtin exceptions that a library raises because of a value.
pub(in crate::transforms) const BUILTIN: &[&str] = &[
    "ValueError",
    "TypeError",
    "KeyError",
    "IndexError",
    "LookupError",
    "AttributeError",
    "OverflowError",
    "ZeroDivisionError",
    "ArithmeticError",
    "RecursionError",
    "UnicodeError",
    "UnicodeEncodeError",
    "UnicodeDecodeError",
    "OSError",
    "StopIteration",
    "EOFError",
    "FileNotFoundError",
    "FileExistsError",
    "IsADirectoryError",
    "NotADirectoryError",
    "PermissionError",
    "SyntaxError",
];

/// Library exceptions and their modules.
const LIBRARY: &[(&str, &str)] = &[
    ("InvalidOperation", "decimal"),
    ("DivisionByZero", "decimal"),
    ("DivisionUndefined", "decimal"),
    ("JSONDecodeError", "json"),
    ("StatisticsError", "statistics"),
    ("ZoneInfoNotFoundError", "zoneinfo"),
    ("AddressValueError", "ipaddress"),
    ("NetmaskValueError", "ipaddress"),
    ("ParseError", "xml.etree.ElementTree"),
    ("TOMLDecodeError", "tomllib"),
    ("BadZipFile", "zipfile"),
];

/// Modules whose exception is named `error` or `Error`.
const PLAIN: &[(&str, &str)] = &[
    ("error", "struct"),
    ("error", "re"),
    ("error", "zlib"),
    ("Error", "binascii"),
    ("Error", "csv"),
    ("Error", "locale"),
];

/// Spelling of an exception in the module.
pub(in crate::transforms) struct ExceptionSpelling<'a> {
    /// Expression after `except`.
    pub(in crate::transforms) name: String,
    import: Option<(&'a EditableSource, &'static str, String)>,
}

impl ExceptionSpelling<'_> {
    /// Adds the import that the name needs.
    pub(in crate::transforms) fn import(self, edits: SourceEdits<'_>) -> SourceEdits<'_> {
        let Some((source, module, name)) = self.import else { return edits };
        match import_from(source, module).and_then(|import| import.names.last()) {
            Some(last) => edits.replace(last, format!("{}, {name}", source.of(last))),
            None => edits.import_from(module, &name),
        }
    }
}

/// Spelling of an exception at a failure site; `None` if its module is unknown.
pub(in crate::transforms) fn spelled<'a>(
    site: &FailureSite<'a>,
    exception: &str,
) -> Option<ExceptionSpelling<'a>> {
    if BUILTIN.contains(&exception) {
        return Some(ExceptionSpelling { name: exception.to_owned(), import: None });
    }
    let plain = || {
        let text = site.source.of(site.statement);
        let fits = |module: &str| {
            text.contains(&format!("{module}."))
                || import_from(site.source, module).is_some_and(|import| uses(site, import))
        };
        PLAIN.iter().find(|(name, module)| *name == exception && fits(module))
    };
    let (name, module) = LIBRARY.iter().find(|(name, _)| *name == exception).or_else(plain)?;
    if let Some(local) = imported_as(site.source, module) {
        return Some(ExceptionSpelling { name: format!("{local}.{name}"), import: None });
    }
    let import = import_from(site.source, module);
    if let Some(alias) =
        import.and_then(|import| import.names.iter().find(|alias| alias.name.as_str() == *name))
    {
        let local = alias.asname.as_ref().unwrap_or(&alias.name);
        return Some(ExceptionSpelling { name: local.to_string(), import: None });
    }
    // A bare `error` is not descriptive, so it is not imported by name.
    if name.eq_ignore_ascii_case("error") {
        return None;
    }
    Some(ExceptionSpelling {
        name: (*name).to_owned(),
        import: Some((site.source, module, (*name).to_owned())),
    })
}

fn uses(site: &FailureSite<'_>, import: &ast::StmtImportFrom) -> bool {
    import.names.iter().any(|alias| site.uses(alias.asname.as_ref().unwrap_or(&alias.name).as_str()))
}

/// Name under which the file imports a module at its top level.
pub(in crate::transforms) fn imported_as<'a>(source: &'a EditableSource, module: &str) -> Option<&'a str> {
    source.body().iter().find_map(|statement| match statement {
        Stmt::Import(import) => import
            .names
            .iter()
            .find(|alias| alias.name.as_str() == module)
            .map(|alias| alias.asname.as_ref().unwrap_or(&alias.name).as_str()),
        _ => None,
    })
}

/// `from module import …` statement for a module.
pub(in crate::transforms) fn import_from<'a>(
    source: &'a EditableSource,
    module: &str,
) -> Option<&'a ast::StmtImportFrom> {
    source.body().iter().find_map(|statement| match statement {
        Stmt::ImportFrom(import)
            if import.level == 0 && import.module.as_ref().is_some_and(|name| name.as_str() == module) =>
        {
            Some(import)
        }
        _ => None,
    })
}

/// Class at the top level of the module.
pub(in crate::transforms) fn class_of<'a>(
    source: &'a EditableSource,
    name: &str,
) -> Option<&'a ast::StmtClassDef> {
    source.body().iter().find_map(|statement| match statement {
        Stmt::ClassDef(class) if class.name.as_str() == name => Some(class),
        _ => None,
    })
}

/// Exception class of the module that the function already raises with a message, so that callers expect it.
pub(in crate::transforms) fn own_exception<'a>(
    source: &'a EditableSource,
    function: &'a ast::StmtFunctionDef,
) -> Option<&'a str> {
    statements(&function.body).into_iter().find_map(|statement| {
        let Stmt::Raise(raise) = statement else { return None };
        let Expr::Call(call) = raise.exc.as_deref()? else { return None };
        let Expr::Name(name) = &*call.func else { return None };
        let [message] = &*call.arguments.args else { return None };
        let is_text = matches!(message, Expr::StringLiteral(_) | Expr::FString(_))
            && call.arguments.keywords.is_empty();
        let class = class_of(source, name.id.as_str())?;
        // A class with its own `__init__` may take other arguments than a message.
        let is_plain = !class.body.iter().any(Stmt::is_function_def_stmt);
        (is_text && is_plain && class.range().end() < function.range().start()).then_some(name.id.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::super::Cause;
    use super::super::site::testing::crash;
    use super::*;

    fn name(text: &str, exception: &str) -> Option<String> {
        let source = EditableSource::parse(text).unwrap();
        let lines = u32::try_from(text.lines().count()).unwrap();
        let cause = Cause::Failure(crash(lines, exception, ""));
        let site = FailureSite::of(&source, &cause).unwrap();
        let spelled = spelled(&site, exception)?;
        let name = spelled.name.clone();
        Some(format!(
            "{name} {:?}",
            spelled.import(source.edit()).finish().unwrap_or_default().lines().next()
        ))
    }

    #[test]
    fn exceptions_are_spelled_as_the_module_imports_them() {
        assert_eq!(name("def f(x):\n    return int(x)\n", "ValueError").unwrap(), "ValueError None");
        let text = "from decimal import Decimal\ndef f(x):\n    return Decimal(x)\n";
        let expected = "InvalidOperation Some(\"from decimal import Decimal, InvalidOperation\")";
        assert_eq!(name(text, "InvalidOperation").unwrap(), expected);
        let text = "import decimal\ndef f(x):\n    return decimal.Decimal(x)\n";
        assert_eq!(name(text, "InvalidOperation").unwrap(), "decimal.InvalidOperation None");
        let text = "import struct\ndef f(x):\n    return struct.pack('b', x)\n";
        assert_eq!(name(text, "error").unwrap(), "struct.error None");
        assert_eq!(name("def f(x):\n    return x.pack()\n", "error"), None);
        assert_eq!(name("def f(x):\n    return x.pack()\n", "Strange"), None);
    }
}
