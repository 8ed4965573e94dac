//! Recipes as short Python source for display.

use std::fmt::{self, Display, Formatter};

use super::recipe::{CollectionKind, Recipe, TextValueKind, float_text};

/// Number of characters after which a text is shortened for display.
const LONGEST_SHOWN: usize = 200;

impl Display for Recipe {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => formatter.write_str("None"),
            Self::Bool(value) => formatter.write_str(if *value { "True" } else { "False" }),
            Self::Int(value) => write!(formatter, "{value}"),
            Self::Float(value) if value.is_finite() => write!(formatter, "{value:?}"),
            Self::Float(value) => write!(formatter, "float('{}')", float_text(*value)),
            Self::Text(text) => formatter.write_str(&literal(text)),
            Self::Escaped(text) => write!(formatter, "'{text}'"),
            Self::Bytes(bytes) => write!(formatter, "b'{}'", bytes.escape_ascii()),
            Self::Many(kind, items) => many(*kind, items, formatter),
            Self::Dict(class, pairs) => dictionary(class.as_deref(), pairs, formatter),
            Self::Written(kind, text) => written(*kind, text, formatter),
            Self::Seconds(seconds) => write!(formatter, "timedelta(seconds={seconds})"),
            Self::Zone(minutes) => write!(formatter, "timezone(timedelta(minutes={minutes}))"),
            Self::Range(is_slice, ends) => {
                let ends: Vec<_> =
                    ends.iter().map(|end| end.map_or("None".to_owned(), |end| end.to_string())).collect();
                write!(formatter, "{}({})", if *is_slice { "slice" } else { "range" }, ends.join(", "))
            }
            Self::Namespace(fields) => write!(formatter, "SimpleNamespace({})", keywords(fields)),
            Self::Member(class, name) => write!(formatter, "{}.{name}", short(class)),
            Self::Class(class) => formatter.write_str(short(class)),
            Self::New { class, arguments, keywords: named } => {
                let mut all: Vec<String> = arguments.iter().map(ToString::to_string).collect();
                if !named.is_empty() {
                    all.push(keywords(named));
                }
                write!(formatter, "{}({})", short(class), all.join(", "))
            }
            Self::Function(value) | Self::AsyncFunction(value) => {
                write!(formatter, "lambda *args, **kwargs: {value}")
            }
            Self::Awaitable(value) => write!(formatter, "awaitable({value})"),
            Self::Repeated(value, count) => write!(formatter, "{value} * {count}"),
            Self::Nested(value, depth) => write!(formatter, "nested({value}, {depth})"),
            Self::Source(_, text) => formatter.write_str(text),
        }
    }
}

fn many(kind: CollectionKind, items: &[Recipe], formatter: &mut Formatter<'_>) -> fmt::Result {
    let inside = items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match (kind, items.len()) {
        (CollectionKind::List, _) => write!(formatter, "[{inside}]"),
        (CollectionKind::Tuple, 1) => write!(formatter, "({inside},)"),
        (CollectionKind::Tuple, _) => write!(formatter, "({inside})"),
        (CollectionKind::Set, 0) => formatter.write_str("set()"),
        (CollectionKind::Set, _) => write!(formatter, "{{{inside}}}"),
        (CollectionKind::FrozenSet, _) => write!(formatter, "frozenset([{inside}])"),
        (CollectionKind::Deque, _) => write!(formatter, "deque([{inside}])"),
        (CollectionKind::Iterator, _) => write!(formatter, "iter([{inside}])"),
        (CollectionKind::AsyncIterator, _) => write!(formatter, "aiter([{inside}])"),
    }
}

fn dictionary(class: Option<&str>, pairs: &[(Recipe, Recipe)], formatter: &mut Formatter<'_>) -> fmt::Result {
    let inside: Vec<_> = pairs.iter().map(|(key, value)| format!("{key}: {value}")).collect();
    let text = format!("{{{}}}", inside.join(", "));
    match class {
        None => formatter.write_str(&text),
        Some(class) => write!(formatter, "{}({text})", short(class)),
    }
}

fn written(kind: TextValueKind, text: &str, formatter: &mut Formatter<'_>) -> fmt::Result {
    let text = literal(text);
    match kind {
        TextValueKind::Complex => write!(formatter, "complex({text})"),
        TextValueKind::Path => write!(formatter, "Path({text})"),
        TextValueKind::DateTime => write!(formatter, "datetime.fromisoformat({text})"),
        TextValueKind::Date => write!(formatter, "date.fromisoformat({text})"),
        TextValueKind::Time => write!(formatter, "time.fromisoformat({text})"),
        TextValueKind::Decimal => write!(formatter, "Decimal({text})"),
        TextValueKind::Fraction => write!(formatter, "Fraction({text})"),
        TextValueKind::Uuid => write!(formatter, "UUID({text})"),
        TextValueKind::Pattern => write!(formatter, "re.compile({text})"),
        TextValueKind::TextFile => write!(formatter, "StringIO({text})"),
        TextValueKind::BinaryFile => write!(formatter, "BytesIO(bytes.fromhex({text}))"),
        TextValueKind::ByteArray => write!(formatter, "bytearray.fromhex({text})"),
        TextValueKind::MemoryView => write!(formatter, "memoryview(bytes.fromhex({text}))"),
        TextValueKind::Module => write!(formatter, "__import__({text})"),
    }
}

fn keywords(fields: &[(String, Recipe)]) -> String {
    fields.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
}

/// Name of a class without its module.
fn short(class: &str) -> &str {
    class.rsplit_once(':').map_or(class, |(_, name)| name)
}

/// A text as a Python literal, shortened if it is long.
fn literal(text: &str) -> String {
    let mut shown = String::from("'");
    for (count, character) in text.chars().enumerate() {
        if count == LONGEST_SHOWN {
            return format!("{shown}…' + {} more", text.chars().count() - LONGEST_SHOWN);
        }
        match character {
            '\'' => shown.push_str("\\'"),
            '\\' => shown.push_str("\\\\"),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            character if character.is_control() => {
                shown.push_str(&format!("\\x{:02x}", u32::from(character)));
            }
            character => shown.push(character),
        }
    }
    shown.push('\'');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_read_like_python() {
        let object = Recipe::New {
            class: "shop.cart:Cart".into(),
            arguments: vec![Recipe::text("it's")],
            keywords: vec![("items".into(), Recipe::Many(CollectionKind::Tuple, vec![Recipe::Int(1)]))],
        };
        assert_eq!(object.to_string(), "Cart('it\\'s', items=(1,))");
        assert_eq!(Recipe::Float(f64::NAN).to_string(), "float('nan')");
        assert_eq!(Recipe::record([("a".to_owned(), Recipe::Float(2.0))]).to_string(), "{'a': 2.0}");
        assert_eq!(Recipe::text("a\0b\n").to_string(), "'a\\x00b\\n'");
        assert_eq!(Recipe::text("x".repeat(300)).to_string(), format!("'{}…' + 100 more", "x".repeat(200)));
    }
}
