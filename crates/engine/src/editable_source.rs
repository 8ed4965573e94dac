//! A parsed Python file, and edits of it that preserve all other text.

use crate::syntax::visitor::{Visitor, walk_stmt};
use crate::syntax::{Expr, Ranged, Stmt, TextRange, TextSize, TokenKind, ast};

/// A parsed Python file.
#[derive(Debug)]
pub struct EditableSource {
    text: String,
    module: ast::ModModule,
    /// Offsets of the starts of lines.
    lines: Vec<usize>,
    /// Multi-line string literals: white space in them is not indentation.
    long_strings: Vec<TextRange>,
}

/// A function with its enclosing class.
#[derive(Debug, Clone, Copy)]
pub struct PythonFunction<'a> {
    /// The definition.
    pub node: &'a ast::StmtFunctionDef,
    /// The enclosing class.
    pub class: Option<&'a ast::StmtClassDef>,
}

impl EditableSource {
    /// Parses a text; `None` on a syntax error.
    pub fn parse(text: &str) -> Option<Self> {
        let parsed = crate::syntax::parse(text)?;
        let starts = text.char_indices().filter(|(_, letter)| *letter == '\n').map(|(at, _)| at + 1);
        let lines: Vec<usize> = std::iter::once(0).chain(starts).collect();
        let is_string = |kind: TokenKind| matches!(kind, TokenKind::String | TokenKind::FStringMiddle);
        let long_strings = parsed
            .tokens()
            .iter()
            .filter(|token| is_string(token.kind()))
            .map(Ranged::range)
            .filter(|range| text[*range].contains('\n'))
            .collect();
        Some(Self { text: text.to_owned(), module: parsed.into_syntax(), lines, long_strings })
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The statements of the module.
    pub fn body(&self) -> &[Stmt] {
        &self.module.body
    }

    /// The text of a node or range.
    pub fn of(&self, part: impl Ranged) -> &str {
        &self.text[part.range()]
    }

    /// Line number of an offset, counted from 1.
    pub fn line(&self, offset: TextSize) -> u32 {
        let offset = offset.to_usize();
        u32::try_from(self.lines.partition_point(|start| *start <= offset)).unwrap_or(u32::MAX)
    }

    /// First and last line of a node or range.
    pub fn lines_of(&self, part: impl Ranged) -> (u32, u32) {
        (self.line(part.start()), self.line(part.end()))
    }

    /// Whether a line is inside a node or range.
    pub fn is_in(&self, line: u32, part: impl Ranged) -> bool {
        let (first, last) = self.lines_of(part);
        (first..=last).contains(&line)
    }

    /// All functions, including methods and nested functions, in order.
    pub fn functions(&self) -> Vec<PythonFunction<'_>> {
        let mut found = Vec::new();
        collect(self.body(), None, &mut found);
        found
    }

    /// The innermost function around a line.
    pub fn function_at(&self, line: u32) -> Option<PythonFunction<'_>> {
        self.functions().into_iter().filter(|function| self.is_in(line, function.node)).last()
    }

    /// A function by its qualified name, such as `Cart.total`.
    pub fn function(&self, name: &str) -> Option<PythonFunction<'_>> {
        self.functions().into_iter().find(|function| match function.class {
            Some(class) => name == format!("{}.{}", class.name, function.node.name),
            None => name == function.node.name.as_str(),
        })
    }

    /// The innermost statement around a line.
    pub fn statement_at(&self, line: u32) -> Option<&Stmt> {
        struct StatementFinder<'a> {
            source: &'a EditableSource,
            line: u32,
            found: Option<&'a Stmt>,
        }
        impl<'a> Visitor<'a> for StatementFinder<'a> {
            fn visit_stmt(&mut self, statement: &'a Stmt) {
                if self.source.is_in(self.line, statement) {
                    self.found = Some(statement);
                    walk_stmt(self, statement);
                }
            }
        }
        let mut find = StatementFinder { source: self, line, found: None };
        find.visit_body(self.body());
        find.found
    }

    /// Indentation of a statement.
    pub fn indentation(&self, statement: &Stmt) -> &str {
        let start = self.start_of_line(statement.start());
        let line = &self.text[start..];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    fn start_of_line(&self, offset: TextSize) -> usize {
        self.lines[self.lines.partition_point(|start| *start <= offset.to_usize()) - 1]
    }

    fn end_of_line(&self, offset: TextSize) -> usize {
        let next = self.lines.partition_point(|start| *start <= offset.to_usize());
        self.lines.get(next).copied().unwrap_or(self.text.len())
    }

    /// Starts a set of edits.
    pub fn edit(&self) -> SourceEdits<'_> {
        SourceEdits { source: self, changes: Vec::new() }
    }

    /// The statements of a function after its docstring.
    pub fn after_docstring<'a>(&self, function: &'a ast::StmtFunctionDef) -> &'a [Stmt] {
        match function.body.split_first() {
            Some((Stmt::Expr(first), rest)) if matches!(*first.value, Expr::StringLiteral(_)) => rest,
            _ => &function.body,
        }
    }
}

fn collect<'a>(body: &'a [Stmt], class: Option<&'a ast::StmtClassDef>, found: &mut Vec<PythonFunction<'a>>) {
    for statement in body {
        match statement {
            Stmt::FunctionDef(node) => {
                found.push(PythonFunction { node, class });
                collect(&node.body, None, found);
            }
            Stmt::ClassDef(class) => collect(&class.body, Some(class), found),
            Stmt::If(branch) => {
                collect(&branch.body, class, found);
                for clause in &branch.elif_else_clauses {
                    collect(&clause.body, class, found);
                }
            }
            Stmt::Try(attempt) => {
                collect(&attempt.body, class, found);
                collect(&attempt.orelse, class, found);
                collect(&attempt.finalbody, class, found);
            }
            Stmt::With(with) => collect(&with.body, class, found),
            _ => {}
        }
    }
}

/// Edits that are applied together and must not overlap.
#[derive(Debug)]
pub struct SourceEdits<'a> {
    source: &'a EditableSource,
    changes: Vec<(usize, usize, String)>,
}

impl SourceEdits<'_> {
    /// Replaces a node or range.
    #[must_use]
    pub fn replace(mut self, part: impl Ranged, text: impl Into<String>) -> Self {
        self.changes.push((part.start().to_usize(), part.end().to_usize(), text.into()));
        self
    }

    /// Inserts lines before a statement, with its indentation.
    #[must_use]
    pub fn before(mut self, statement: &Stmt, lines: &[String]) -> Self {
        let start = self.source.start_of_line(statement.start());
        let indentation = self.source.indentation(statement);
        let text: String = lines.iter().map(|line| format!("{indentation}{line}\n")).collect();
        self.changes.push((start, start, text));
        self
    }

    /// Inserts lines after a statement, with its indentation.
    #[must_use]
    pub fn after(mut self, statement: &Stmt, lines: &[String]) -> Self {
        let end = self.source.end_of_line(statement.end());
        let indentation = self.source.indentation(statement);
        let mut text: String = lines.iter().map(|line| format!("{indentation}{line}\n")).collect();
        if !self.source.text[..end].ends_with('\n') {
            text.insert(0, '\n');
        }
        self.changes.push((end, end, text));
        self
    }

    /// Indents consecutive statements under a header such as `try:` and appends the lines of `tail`.
    #[must_use]
    pub fn wrap(mut self, statements: &[Stmt], header: &str, tail: &[String]) -> Self {
        let (Some(first), Some(last)) = (statements.first(), statements.last()) else { return self };
        let source = self.source;
        let (start, end) = (source.start_of_line(first.start()), source.end_of_line(last.end()));
        let indentation = source.indentation(first);
        let mut text = format!("{indentation}{header}\n");
        let mut at = start;
        for line in source.text[start..end].split_inclusive('\n') {
            let is_string = source.long_strings.iter().any(|range| {
                let (from, to) = (range.start().to_usize(), range.end().to_usize());
                from < at && at < to
            });
            if !is_string && !line.trim().is_empty() {
                text.push_str("    ");
            }
            text.push_str(line);
            at += line.len();
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.extend(tail.iter().map(|line| format!("{indentation}{line}\n")));
        self.changes.push((start, end, text));
        self
    }

    /// Adds `import name` at the top unless it exists.
    #[must_use]
    pub fn import(self, name: &str) -> Self {
        let is_there = self.source.body().iter().any(|statement| match statement {
            Stmt::Import(import) => {
                import.names.iter().any(|alias| alias.name.as_str() == name && alias.asname.is_none())
            }
            _ => false,
        });
        if is_there { self } else { self.at_top(&format!("import {name}\n")) }
    }

    /// Adds `from module import name` at the top unless it exists.
    #[must_use]
    pub fn import_from(self, module: &str, name: &str) -> Self {
        let is_there = self.source.body().iter().any(|statement| match statement {
            Stmt::ImportFrom(import) => {
                import.module.as_ref().is_some_and(|found| found.as_str() == module)
                    && import.names.iter().any(|alias| alias.name.as_str() == name && alias.asname.is_none())
            }
            _ => false,
        });
        if is_there { self } else { self.at_top(&format!("from {module} import {name}\n")) }
    }

    /// Inserts a line before the first import that is not from `__future__`, or after the docstring.
    fn at_top(mut self, line: &str) -> Self {
        let body = self.source.body();
        let is_future = |statement: &Stmt| matches!(statement, Stmt::ImportFrom(import) if import.module.as_ref().is_some_and(|name| name.as_str() == "__future__"));
        let is_docstring = |statement: &Stmt| matches!(statement, Stmt::Expr(first) if matches!(*first.value, Expr::StringLiteral(_)));
        let first_import = body.iter().find(|statement| {
            matches!(statement, Stmt::Import(_) | Stmt::ImportFrom(_)) && !is_future(statement)
        });
        let (at, text) = match first_import {
            Some(import) => (self.source.start_of_line(import.start()), line.to_owned()),
            None => match body
                .iter()
                .take_while(|statement| is_docstring(statement) || is_future(statement))
                .last()
            {
                Some(last) => (self.source.end_of_line(last.end()), format!("\n{line}")),
                None => (0, format!("{line}\n")),
            },
        };
        // Several imports at one offset keep the order in which they were added.
        self.changes.push((at, at, text));
        self
    }

    /// Applies the edits; `None` if they overlap, change nothing, or produce a syntax error.
    pub fn finish(mut self) -> Option<String> {
        self.changes.sort_by_key(|(start, end, _)| (*start, *end));
        let mut text = String::with_capacity(self.source.text.len() + 256);
        let mut at = 0;
        for (start, end, new) in &self.changes {
            if *start < at {
                return None;
            }
            text.push_str(&self.source.text[at..*start]);
            text.push_str(new);
            at = *end;
        }
        text.push_str(&self.source.text[at..]);
        (text != self.source.text && EditableSource::parse(&text).is_some()).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CART: &str = "\"\"\"Carts.\"\"\"\n\nimport os\n\n\nclass Cart:\n    def total(self, prices):\n        \"\"\"All.\"\"\"\n        text = \"\"\"a\n  b\"\"\"\n        return sum(prices) / len(prices)  # mean\n";

    #[test]
    fn functions_and_statements_are_found_by_line_and_name() {
        let source = EditableSource::parse(CART).unwrap();
        assert_eq!(source.function_at(11).unwrap().node.name.as_str(), "total");
        assert!(source.function("Cart.total").is_some());
        assert!(source.statement_at(11).unwrap().is_return_stmt());
        assert_eq!(source.after_docstring(source.function("Cart.total").unwrap().node).len(), 2);
    }

    #[test]
    fn statements_are_wrapped_and_multi_line_strings_keep_their_text() {
        let source = EditableSource::parse(CART).unwrap();
        let function = source.function("Cart.total").unwrap();
        let body = source.after_docstring(function.node);
        let tail = ["except ZeroDivisionError:".to_owned(), "    raise".to_owned()];
        let text = source.edit().wrap(body, "try:", &tail).import("math").finish().unwrap();
        assert_eq!(
            text,
            "\"\"\"Carts.\"\"\"\n\nimport math\nimport os\n\n\nclass Cart:\n    def total(self, prices):\n        \"\"\"All.\"\"\"\n        try:\n            text = \"\"\"a\n  b\"\"\"\n            return sum(prices) / len(prices)  # mean\n        except ZeroDivisionError:\n            raise\n"
        );
    }

    #[test]
    fn overlapping_empty_and_invalid_edits_are_refused() {
        let source = EditableSource::parse("x = 1\n").unwrap();
        assert_eq!(source.edit().finish(), None);
        assert_eq!(source.edit().replace(&source.body()[0], "x = = 1").finish(), None);
        let twice = source.edit().replace(&source.body()[0], "x = 2").replace(&source.body()[0], "x = 3");
        assert_eq!(twice.finish(), None);
        assert_eq!(source.edit().import("os").finish().unwrap(), "import os\n\nx = 1\n");
    }
}
