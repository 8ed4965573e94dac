//! Recipes as complete Python source that builds exactly the value, for emitted tests.

use std::collections::BTreeSet;

use super::recipe::{CollectionKind, Recipe, TextValueKind, float_text};

/// Imports and helper functions that emitted source requires.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceRequirements {
    /// Modules to import.
    pub imports: BTreeSet<String>,
    /// Names of functions of [`HELPERS`].
    pub helpers: BTreeSet<&'static str>,
}

/// Helper functions that some values require, by name.
pub const HELPERS: [(&str, &str); 5] = [
    ("awaitable", "async def awaitable(value):\n    return value\n"),
    (
        "async_function",
        "def async_function(value):\n    async def function(*args, **kwargs):\n        return value\n\n    \
         return function\n",
    ),
    ("async_iterator", "async def async_iterator(values):\n    for value in values:\n        yield value\n"),
    (
        "nested",
        "def nested(value, depth):\n    for _ in range(depth):\n        value = [value]\n    return value\n",
    ),
    ("evaluated", "def evaluated(source, module):\n    return eval(source, vars(module))\n"),
];

impl Recipe {
    /// Source of an expression that builds the value.
    pub fn source(&self, needs: &mut SourceRequirements) -> String {
        let mut import = |module: &str| {
            needs.imports.insert(module.to_owned());
        };
        match self {
            Self::Text(text) => python_literal(text),
            Self::Many(kind, items) => many(*kind, items, needs),
            Self::Dict(class, pairs) => {
                let inside: Vec<_> = pairs
                    .iter()
                    .map(|(key, value)| format!("{}: {}", key.source(needs), value.source(needs)))
                    .collect();
                let text = format!("{{{}}}", inside.join(", "));
                match class {
                    None => text,
                    Some(class) => format!("{}({text})", qualified_source(class, needs)),
                }
            }
            Self::Written(kind, text) => written(*kind, text, needs),
            Self::Seconds(seconds) => {
                import("datetime");
                format!("datetime.timedelta(seconds={seconds:?})")
            }
            Self::Zone(minutes) => {
                import("datetime");
                format!("datetime.timezone(datetime.timedelta(minutes={minutes}))")
            }
            Self::Namespace(fields) => {
                import("types");
                format!("types.SimpleNamespace({})", named(fields, needs).join(", "))
            }
            Self::Member(class, name) => format!("{}.{name}", qualified_source(class, needs)),
            Self::Class(class) => qualified_source(class, needs),
            Self::New { class, arguments, keywords } => {
                let mut all: Vec<String> = arguments.iter().map(|value| value.source(needs)).collect();
                all.extend(named(keywords, needs));
                format!("{}({})", qualified_source(class, needs), all.join(", "))
            }
            Self::Function(value) => format!("(lambda *args, **kwargs: {})", value.source(needs)),
            Self::AsyncFunction(value) => helper("async_function", &[value], "", needs),
            Self::Awaitable(value) => helper("awaitable", &[value], "", needs),
            Self::Repeated(value, count) => format!("{} * {count}", value.source(needs)),
            Self::Nested(value, depth) => helper("nested", &[value], &format!(", {depth}"), needs),
            Self::Source(module, text) => {
                import(module);
                needs.helpers.insert("evaluated");
                format!("evaluated({}, {module})", python_literal(text))
            }
            // The display form of these is already exact.
            Self::None
            | Self::Bool(_)
            | Self::Int(_)
            | Self::Escaped(_)
            | Self::Bytes(_)
            | Self::Range(..) => self.to_string(),
            Self::Float(value) if value.is_finite() => format!("{value:?}"),
            Self::Float(value) => format!("float('{}')", float_text(*value)),
        }
    }
}

fn helper(name: &'static str, values: &[&Recipe], rest: &str, needs: &mut SourceRequirements) -> String {
    needs.helpers.insert(name);
    let values: Vec<_> = values.iter().map(|value| value.source(needs)).collect();
    format!("{name}({}{rest})", values.join(", "))
}

fn named(fields: &[(String, Recipe)], needs: &mut SourceRequirements) -> Vec<String> {
    fields.iter().map(|(name, value)| format!("{name}={}", value.source(needs))).collect()
}

/// `package.module:Class.Inner` as an expression.
pub fn qualified_source(class: &str, needs: &mut SourceRequirements) -> String {
    let (module, name) = class.split_once(':').unwrap_or(("builtins", class));
    needs.imports.insert(module.to_owned());
    format!("{module}.{name}")
}

fn many(kind: CollectionKind, items: &[Recipe], needs: &mut SourceRequirements) -> String {
    let inside = items.iter().map(|item| item.source(needs)).collect::<Vec<_>>().join(", ");
    match (kind, items.len()) {
        (CollectionKind::List, _) => format!("[{inside}]"),
        (CollectionKind::Tuple, 1) => format!("({inside},)"),
        (CollectionKind::Tuple, _) => format!("({inside})"),
        (CollectionKind::Set, 0) => "set()".to_owned(),
        (CollectionKind::Set, _) => format!("{{{inside}}}"),
        (CollectionKind::FrozenSet, _) => format!("frozenset([{inside}])"),
        (CollectionKind::Deque, _) => {
            needs.imports.insert("collections".into());
            format!("collections.deque([{inside}])")
        }
        (CollectionKind::Iterator, _) => format!("iter([{inside}])"),
        (CollectionKind::AsyncIterator, _) => {
            needs.helpers.insert("async_iterator");
            format!("async_iterator([{inside}])")
        }
    }
}

fn written(kind: TextValueKind, text: &str, needs: &mut SourceRequirements) -> String {
    let text = python_literal(text);
    let (module, source) = match kind {
        TextValueKind::Complex => ("builtins", format!("complex({text})")),
        TextValueKind::Path => ("pathlib", format!("pathlib.Path({text})")),
        TextValueKind::DateTime => ("datetime", format!("datetime.datetime.fromisoformat({text})")),
        TextValueKind::Date => ("datetime", format!("datetime.date.fromisoformat({text})")),
        TextValueKind::Time => ("datetime", format!("datetime.time.fromisoformat({text})")),
        TextValueKind::Decimal => ("decimal", format!("decimal.Decimal({text})")),
        TextValueKind::Fraction => ("fractions", format!("fractions.Fraction({text})")),
        TextValueKind::Uuid => ("uuid", format!("uuid.UUID({text})")),
        TextValueKind::Pattern => ("re", format!("re.compile({text})")),
        TextValueKind::TextFile => ("io", format!("io.StringIO({text})")),
        TextValueKind::BinaryFile => ("io", format!("io.BytesIO(bytes.fromhex({text}))")),
        TextValueKind::ByteArray => ("builtins", format!("bytearray.fromhex({text})")),
        TextValueKind::MemoryView => ("builtins", format!("memoryview(bytes.fromhex({text}))")),
        TextValueKind::Module => ("importlib", format!("importlib.import_module({text})")),
    };
    if module != "builtins" {
        needs.imports.insert(module.into());
    }
    source
}

/// A text as a Python literal, in ASCII.
pub fn python_literal(text: &str) -> String {
    let mut source = String::from("'");
    for character in text.chars() {
        match character {
            '\'' => source.push_str("\\'"),
            '\\' => source.push_str("\\\\"),
            '\n' => source.push_str("\\n"),
            character if character.is_ascii_graphic() || character == ' ' => source.push(character),
            character if u32::from(character) < 0x100 => {
                source.push_str(&format!("\\x{:02x}", u32::from(character)));
            }
            character if u32::from(character) < 0x1_0000 => {
                source.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            character => source.push_str(&format!("\\U{:08x}", u32::from(character))),
        }
    }
    source.push('\'');
    source
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_is_complete_and_names_its_requirements() {
        let mut needs = SourceRequirements::default();
        let object = Recipe::New {
            class: "shop.cart:Cart".into(),
            arguments: vec![Recipe::text("é\u{1f600}'\n")],
            keywords: vec![("when".into(), Recipe::Written(TextValueKind::Date, "2026-01-01".into()))],
        };
        assert_eq!(
            object.source(&mut needs),
            "shop.cart.Cart('\\xe9\\U0001f600\\'\\n', when=datetime.date.fromisoformat('2026-01-01'))"
        );
        assert_eq!(needs.imports, BTreeSet::from(["datetime".to_owned(), "shop.cart".to_owned()]));
        let long = Recipe::text("x".repeat(300)).source(&mut needs);
        assert_eq!(long.len(), 302);
        let nested = Recipe::Nested(Box::new(Recipe::Int(1)), 9).source(&mut needs);
        assert_eq!((nested.as_str(), needs.helpers.contains("nested")), ("nested(1, 9)", true));
    }
}
