//! A Python file and changes of it that leave everything else as it is.

use crate::syntax::visitor::{Visitor, walk_stmt};
use crate::syntax::{Expr, Ranged, Stmt, TextRange, TextSize, TokenKind, ast};

/// A file that parses.
#[derive(Debug)]
pub struct Source {
    text: String,
    module: ast::ModModule,
    /// Where lines begin.
    lines: Vec<usize>,
    /// Texts over several lines: what is in them is not indentation.
    long_strings: Vec<TextRange>,
}

/// A function, and the class that it is in.
#[derive(Debug, Clone, Copy)]
pub struct Function<'a> {
    /// The definition.
    pub node: &'a ast::StmtFunctionDef,
    /// The class around it.
    pub class: Option<&'a ast::StmtClassDef>,
}

impl Source {
    /// Nothing if it does not parse.
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

    /// All of it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The statements of the module.
    pub fn body(&self) -> &[Stmt] {
        &self.module.body
    }

    /// The text of a part.
    pub fn of(&self, part: impl Ranged) -> &str {
        &self.text[part.range()]
    }

    /// The line of a place, counted from 1.
    pub fn line(&self, place: TextSize) -> u32 {
        let place = place.to_usize();
        u32::try_from(self.lines.partition_point(|start| *start <= place)).unwrap_or(u32::MAX)
    }

    /// The first and the last line of a part.
    pub fn lines_of(&self, part: impl Ranged) -> (u32, u32) {
        (self.line(part.start()), self.line(part.end()))
    }

    /// Whether a line is in a part.
    pub fn is_in(&self, line: u32, part: impl Ranged) -> bool {
        let (first, last) = self.lines_of(part);
        (first..=last).contains(&line)
    }

    /// All functions, also those in classes and functions, in order.
    pub fn functions(&self) -> Vec<Function<'_>> {
        let mut found = Vec::new();
        collect(self.body(), None, &mut found);
        found
    }

    /// The innermost function around a line.
    pub fn function_at(&self, line: u32) -> Option<Function<'_>> {
        self.functions().into_iter().filter(|function| self.is_in(line, function.node)).last()
    }

    /// A function by its qualified name, such as `Cart.total`.
    pub fn function(&self, name: &str) -> Option<Function<'_>> {
        self.functions().into_iter().find(|function| match function.class {
            Some(class) => name == format!("{}.{}", class.name, function.node.name),
            None => name == function.node.name.as_str(),
        })
    }

    /// The innermost statement around a line.
    pub fn statement_at(&self, line: u32) -> Option<&Stmt> {
        struct Find<'a> {
            source: &'a Source,
            line: u32,
            found: Option<&'a Stmt>,
        }
        impl<'a> Visitor<'a> for Find<'a> {
            fn visit_stmt(&mut self, statement: &'a Stmt) {
                if self.source.is_in(self.line, statement) {
                    self.found = Some(statement);
                    walk_stmt(self, statement);
                }
            }
        }
        let mut find = Find { source: self, line, found: None };
        find.visit_body(self.body());
        find.found
    }

    /// What a statement is indented by.
    pub fn indentation(&self, statement: &Stmt) -> &str {
        let start = self.start_of_line(statement.start());
        let line = &self.text[start..];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    fn start_of_line(&self, place: TextSize) -> usize {
        self.lines[self.lines.partition_point(|start| *start <= place.to_usize()) - 1]
    }

    fn end_of_line(&self, place: TextSize) -> usize {
        let next = self.lines.partition_point(|start| *start <= place.to_usize());
        self.lines.get(next).copied().unwrap_or(self.text.len())
    }

    /// Changes of it.
    pub fn edit(&self) -> Edits<'_> {
        Edits { source: self, changes: Vec::new() }
    }

    /// The statements of a function after its docstring.
    pub fn after_docstring<'a>(&self, function: &'a ast::StmtFunctionDef) -> &'a [Stmt] {
        match function.body.split_first() {
            Some((Stmt::Expr(first), rest)) if matches!(*first.value, Expr::StringLiteral(_)) => rest,
            _ => &function.body,
        }
    }
}

fn collect<'a>(body: &'a [Stmt], class: Option<&'a ast::StmtClassDef>, found: &mut Vec<Function<'a>>) {
    for statement in body {
        match statement {
            Stmt::FunctionDef(node) => {
                found.push(Function { node, class });
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

/// Changes that are made at once. None of them may overlap another.
#[derive(Debug)]
pub struct Edits<'a> {
    source: &'a Source,
    changes: Vec<(usize, usize, String)>,
}

impl Edits<'_> {
    /// Something else instead of a part.
    #[must_use]
    pub fn replace(mut self, part: impl Ranged, text: impl Into<String>) -> Self {
        self.changes.push((part.start().to_usize(), part.end().to_usize(), text.into()));
        self
    }

    /// Lines before a statement, indented as it is.
    #[must_use]
    pub fn before(mut self, statement: &Stmt, lines: &[String]) -> Self {
        let start = self.source.start_of_line(statement.start());
        let indentation = self.source.indentation(statement);
        let text: String = lines.iter().map(|line| format!("{indentation}{line}\n")).collect();
        self.changes.push((start, start, text));
        self
    }

    /// Lines after a statement, indented as it is.
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

    /// Puts statements that follow each other under a line such as `try:`, and lines after them.
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

    /// `import name` at the top, unless it is there.
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

    /// `from module import name` at the top, unless it is there.
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

    /// A line among the imports: before the first that is not of the future, else after the docstring.
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
        // Several imports at one place stay in the order in which they were asked for.
        self.changes.push((at, at, text));
        self
    }

    /// The new text; nothing if changes overlap, if nothing changes, or if the result does not parse.
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
        (text != self.source.text && Source::parse(&text).is_some()).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CART: &str = "\"\"\"Carts.\"\"\"\n\nimport os\n\n\nclass Cart:\n    def total(self, prices):\n        \"\"\"All.\"\"\"\n        text = \"\"\"a\n  b\"\"\"\n        return sum(prices) / len(prices)  # mean\n";

    #[test]
    fn places_are_found_by_line_and_name() {
        let source = Source::parse(CART).unwrap();
        assert_eq!(source.function_at(11).unwrap().node.name.as_str(), "total");
        assert!(source.function("Cart.total").is_some());
        assert!(source.statement_at(11).unwrap().is_return_stmt());
        assert_eq!(source.after_docstring(source.function("Cart.total").unwrap().node).len(), 2);
    }

    #[test]
    fn statements_are_wrapped_and_texts_in_them_stay() {
        let source = Source::parse(CART).unwrap();
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
    fn what_does_not_parse_or_changes_nothing_is_no_change() {
        let source = Source::parse("x = 1\n").unwrap();
        assert_eq!(source.edit().finish(), None);
        assert_eq!(source.edit().replace(&source.body()[0], "x = = 1").finish(), None);
        let twice = source.edit().replace(&source.body()[0], "x = 2").replace(&source.body()[0], "x = 3");
        assert_eq!(twice.finish(), None);
        assert_eq!(source.edit().import("os").finish().unwrap(), "import os\n\nx = 1\n");
    }
}
