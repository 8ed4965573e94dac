//! Encoding errors of strings, and SQL queries built from strings.

use super::exception_names::{import_from, imported_as};
use super::site::{FailureSite, callee, expressions, robustness_rewrite, statements};
use super::{Cause, SourceRewrite, Transform};
use crate::editable_source::EditableSource;
use crate::syntax::{Expr, Ranged, Stmt, ast};

/// Adds an error policy to an `encode` or `decode` call that fails.
pub(in crate::transforms) struct EncodingErrors;

impl Transform for EncodingErrors {
    fn name(&self) -> &'static str {
        "encoding-errors"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(site) = FailureSite::of(source, cause) else { return Vec::new() };
        let method = match site.exception() {
            "UnicodeEncodeError" => "encode",
            "UnicodeDecodeError" => "decode",
            _ => return Vec::new(),
        };
        let found = site.calls().find(|(call, _)| lacks_errors(call, method));
        let Some((call, _)) = found else { return Vec::new() };
        policies(&site, call, method)
            .into_iter()
            .filter_map(|policy| with_policy(source, call, policy))
            .collect()
    }
}

fn lacks_errors(call: &ast::ExprCall, method: &str) -> bool {
    let Expr::Attribute(found) = &*call.func else { return false };
    let arguments = &call.arguments;
    found.attr.as_str() == method
        && arguments.args.len() < 2
        && arguments.find_keyword("errors").is_none()
        && arguments.args.iter().all(Expr::is_string_literal_expr)
}

fn policies(site: &FailureSite<'_>, call: &ast::ExprCall, method: &str) -> Vec<&'static str> {
    if method == "decode" {
        return vec!["replace"];
    }
    let encoding = call.arguments.args.first().map(|first| site.source.of(first).to_lowercase());
    let is_utf8 = encoding.is_none_or(|name| matches!(name.trim_matches(['"', '\'']), "utf-8" | "utf8"));
    let digests = |name: &str| {
        name.starts_with("hashlib.")
            || name.starts_with("zlib.")
            || name.contains("sha")
            || name.contains("md5")
            || name.contains("hmac")
    };
    let is_hashed = site.calls().any(|(outer, _)| {
        outer.range().contains_range(call.range()) && callee(site.source, outer).is_some_and(digests)
    });
    // `surrogatepass` maps different strings to different bytes and leaves the bytes of valid strings unchanged.
    match (is_utf8, is_hashed) {
        (true, true) => vec!["surrogatepass", "backslashreplace"],
        (true, false) => vec!["backslashreplace", "surrogatepass"],
        _ => vec!["backslashreplace"],
    }
}

fn with_policy(source: &EditableSource, call: &ast::ExprCall, policy: &str) -> Option<SourceRewrite> {
    let arguments = &call.arguments;
    let edits = match (arguments.args.first(), arguments.keywords.last()) {
        (_, Some(last)) => source.edit().replace(last, format!("{}, errors=\"{policy}\"", source.of(last))),
        (Some(first), None) => source.edit().replace(first, format!("{}, \"{policy}\"", source.of(first))),
        (None, None) => source.edit().replace(arguments, format!("(errors=\"{policy}\")")),
    };
    robustness_rewrite(
        Some(edits),
        format!("Handle encoding errors with `{policy}` instead of an exception."),
    )
}

/// Replaces values that are concatenated into a query, which allow SQL injection, by parameters.
pub(in crate::transforms) struct SqlParameters;

impl Transform for SqlParameters {
    fn name(&self) -> &'static str {
        "sql-parameters"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(site) = FailureSite::of(source, cause) else { return Vec::new() };
        if !matches!(site.exception(), "OperationalError" | "ProgrammingError" | "Warning")
            || site.is_concurrent()
        {
            return Vec::new();
        }
        let Some(mark) = placeholder(source) else { return Vec::new() };
        site.calls().find_map(|(call, _)| bound(&site, call, mark)).into_iter().collect()
    }
}

/// Placeholder syntax of the database driver that the module imports.
fn placeholder(source: &EditableSource) -> Option<&'static str> {
    let has = |module: &str| imported_as(source, module).is_some() || import_from(source, module).is_some();
    let others = ["psycopg", "psycopg2", "pymysql", "MySQLdb", "mysql.connector"];
    if has("sqlite3") { Some("?") } else { others.into_iter().any(has).then_some("%s") }
}

fn bound(site: &FailureSite<'_>, call: &ast::ExprCall, mark: &str) -> Option<SourceRewrite> {
    let Expr::Attribute(method) = &*call.func else { return None };
    let [argument] = &*call.arguments.args else { return None };
    if method.attr.as_str() != "execute" || !call.arguments.keywords.is_empty() {
        return None;
    }
    let query = match argument {
        Expr::Name(name) => assigned_once(site, name.id.as_str())?,
        direct => direct,
    };
    let (sql, values) = parameterised(site.source, query, mark)?;
    let comma = if values.len() == 1 { "," } else { "" };
    let values = format!("({}{comma})", values.join(", "));
    let edits = if std::ptr::eq(query, argument) {
        site.source.edit().replace(argument, format!("{sql}, {values}"))
    } else {
        let name = site.source.of(argument);
        site.source.edit().replace(query, sql).replace(argument, format!("{name}, {values}"))
    };
    robustness_rewrite(
        Some(edits),
        "Pass values as query parameters, so that they cannot change the statement.",
    )
}

/// Value of a name that is bound once and used once.
fn assigned_once<'a>(site: &FailureSite<'a>, name: &str) -> Option<&'a Expr> {
    let body = &site.function.node.body;
    let uses = expressions(body)
        .into_iter()
        .filter(|expr| matches!(expr, Expr::Name(found) if found.id.as_str() == name));
    if uses.count() != 2 {
        return None;
    }
    statements(body).into_iter().find_map(|statement| match statement {
        Stmt::Assign(assign) if matches!(&*assign.targets, [Expr::Name(found)] if found.id.as_str() == name) => {
            Some(&*assign.value)
        }
        _ => None,
    })
}

enum QueryPiece<'a> {
    Text(String),
    Value(&'a Expr),
}

fn parameterised(source: &EditableSource, query: &Expr, mark: &str) -> Option<(String, Vec<String>)> {
    let mut pieces = Vec::new();
    flatten(query, &mut pieces)?;
    let (mut sql, mut values, mut is_open) = (String::new(), Vec::new(), false);
    for piece in pieces {
        match piece {
            QueryPiece::Text(text) => {
                let rest = if is_open { text.strip_prefix('\'')? } else { &text };
                is_open = false;
                sql.push_str(rest);
            }
            QueryPiece::Value(value) => {
                is_open = sql.ends_with('\'');
                if is_open {
                    sql.pop();
                }
                // Inside a string literal of the query, or for a table name, a placeholder is not a parameter.
                if sql.matches('\'').count() % 2 == 1 || takes_a_name(&sql) || source.of(value).contains('"')
                {
                    return None;
                }
                sql.push_str(mark);
                values.push(source.of(without_str(value)).to_owned());
            }
        }
    }
    let is_plain =
        !is_open && !sql.contains(['"', '\\', '\n']) && (mark == "?" || !sql.replace("%s", "").contains('%'));
    (is_plain && !values.is_empty()).then(|| (format!("\"{sql}\""), values))
}

fn takes_a_name(sql: &str) -> bool {
    let last = sql.split_whitespace().last().unwrap_or_default().to_uppercase();
    matches!(
        last.as_str(),
        "" | "FROM" | "INTO" | "UPDATE" | "TABLE" | "JOIN" | "BY" | "SELECT" | "ASC" | "DESC" | "SET"
    ) || !sql.ends_with([' ', '=', '(', ',', '<', '>'])
}

/// Strips `str(x)`, which is only needed for concatenation.
fn without_str(value: &Expr) -> &Expr {
    match value {
        Expr::Call(call) if matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "str") => {
            if let [only] = &*call.arguments.args { only } else { value }
        }
        _ => value,
    }
}

fn flatten<'a>(query: &'a Expr, pieces: &mut Vec<QueryPiece<'a>>) -> Option<()> {
    match query {
        Expr::StringLiteral(text) => pieces.push(QueryPiece::Text(text.value.to_str().to_owned())),
        Expr::BinOp(sum) if sum.op == ast::Operator::Add => {
            flatten(&sum.left, pieces)?;
            flatten(&sum.right, pieces)?;
        }
        Expr::BinOp(format) if format.op == ast::Operator::Mod => {
            formatted(&format.left, &format.right, pieces)?;
        }
        Expr::FString(text) => {
            for element in text.value.elements() {
                pieces.push(match element {
                    ast::InterpolatedStringElement::Literal(literal) => {
                        QueryPiece::Text(literal.value.to_string())
                    }
                    ast::InterpolatedStringElement::Interpolation(value) if value.format_spec.is_none() => {
                        QueryPiece::Value(&value.expression)
                    }
                    ast::InterpolatedStringElement::Interpolation(_) => return None,
                });
            }
        }
        Expr::Name(_) | Expr::Attribute(_) | Expr::Call(_) => pieces.push(QueryPiece::Value(query)),
        _ => return None,
    }
    Some(())
}

/// Splits `"… %s …" % value` into pieces, also with several values.
fn formatted<'a>(text: &Expr, values: &'a Expr, pieces: &mut Vec<QueryPiece<'a>>) -> Option<()> {
    let Expr::StringLiteral(text) = text else { return None };
    let values: Vec<&Expr> = match values {
        Expr::Tuple(tuple) => tuple.elts.iter().collect(),
        one => vec![one],
    };
    let texts: Vec<&str> = text.value.to_str().split("%s").collect();
    if texts.len() != values.len() + 1 || texts.iter().any(|text| text.contains('%')) {
        return None;
    }
    for (at, text) in texts.iter().enumerate() {
        pieces.push(QueryPiece::Text((*text).to_owned()));
        pieces.extend(values.get(at).map(|value| QueryPiece::Value(value)));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::site::testing::{crash, rewritten};
    use super::*;

    #[test]
    fn encoding_calls_get_an_error_policy() {
        let line = |value: &str| format!("def f(text):\n    return {value}\n");
        let check = |before: &str, exception: &str, after: &str| {
            let found = rewritten(&EncodingErrors, &line(before), crash(2, exception, ""));
            assert_eq!(found[0], line(after));
        };
        check(
            "text.encode(\"latin-1\")",
            "UnicodeEncodeError",
            "text.encode(\"latin-1\", \"backslashreplace\")",
        );
        check("text.encode()", "UnicodeEncodeError", "text.encode(errors=\"backslashreplace\")");
        check(
            "hashlib.sha256(text.encode(\"utf-8\")).hexdigest()",
            "UnicodeEncodeError",
            "hashlib.sha256(text.encode(\"utf-8\", \"surrogatepass\")).hexdigest()",
        );
        check(
            "text.decode(encoding=\"utf-8\")",
            "UnicodeDecodeError",
            "text.decode(encoding=\"utf-8\", errors=\"replace\")",
        );
        let strict = line("text.encode(\"utf-8\", \"strict\")");
        assert!(rewritten(&EncodingErrors, &strict, crash(2, "UnicodeEncodeError", "")).is_empty());
    }

    #[test]
    fn values_of_a_query_become_parameters() {
        let text = "import sqlite3\ndef f(base, name):\n    query = \"SELECT id FROM c WHERE (name = '\" + name + \"') AND on = 1\"\n    return base.execute(query).fetchall()\n";
        let found = rewritten(&SqlParameters, text, crash(4, "OperationalError", "near x"));
        let expected = "import sqlite3\ndef f(base, name):\n    query = \"SELECT id FROM c WHERE (name = ?) AND on = 1\"\n    return base.execute(query, (name,)).fetchall()\n";
        assert_eq!(found, [expected]);
        let text = "import sqlite3\ndef f(base, a, b):\n    base.execute(f\"SELECT 1 FROM c WHERE a = '{a}' AND b = {b}\")\n";
        let found = rewritten(&SqlParameters, text, crash(3, "OperationalError", ""));
        let expected = "import sqlite3\ndef f(base, a, b):\n    base.execute(\"SELECT 1 FROM c WHERE a = ? AND b = ?\", (a, b))\n";
        assert_eq!(found, [expected]);
        let text =
            "import sqlite3\ndef f(base, a):\n    base.execute(\"SELECT 1 FROM c WHERE a = '%s'\" % a)\n";
        let found = rewritten(&SqlParameters, text, crash(3, "OperationalError", ""));
        assert_eq!(
            found,
            ["import sqlite3\ndef f(base, a):\n    base.execute(\"SELECT 1 FROM c WHERE a = ?\", (a,))\n"]
        );
    }

    #[test]
    fn table_names_and_parts_of_literals_are_not_parameters() {
        for query in [
            "f\"SELECT 1 FROM {a}\"",
            "f\"SELECT 1 FROM c WHERE a LIKE '%{a}%'\"",
            "\"SELECT 1\"",
            "f\"SELECT 1 FROM c{a}\"",
        ] {
            let text = format!("import sqlite3\ndef f(base, a):\n    base.execute({query})\n");
            assert!(rewritten(&SqlParameters, &text, crash(3, "OperationalError", "")).is_empty(), "{query}");
        }
    }
}
