//! Hostile values of the declared type, as an attacker, a broken client or a corrupt file would send them.

use menace_model::calls::{CollectionKind, Recipe, TextValueKind, ValueShape};

use crate::random_stream::RandomStream;

/// Length of huge values: large enough to hurt quadratic algorithms, small enough to be sent.
const HUGE: u64 = 100_000;

/// A hostile value of a shape; `None` if the shape has none.
pub(super) fn hostile(shape: &ValueShape, draw: usize, random: &mut RandomStream) -> Option<Recipe> {
    let values = match shape {
        ValueShape::Str | ValueShape::Any => texts(),
        ValueShape::Int => numbers(),
        ValueShape::Float => floats(),
        ValueShape::Bytes => vec![
            Recipe::Bytes(vec![]),
            Recipe::Bytes(vec![0xff, 0xfe, 0]),
            Recipe::Bytes(vec![0x80]),
            Recipe::Repeated(Box::new(Recipe::Bytes(vec![0])), HUGE),
        ],
        ValueShape::Path => {
            paths().into_iter().map(|path| Recipe::Written(TextValueKind::Path, path.into())).collect()
        }
        ValueShape::Decimal => {
            ["NaN", "Infinity", "-Infinity", "1E+1000", "-0", "0.000000000000000000000001"]
                .map(|text| Recipe::Written(TextValueKind::Decimal, text.into()))
                .to_vec()
        }
        ValueShape::DateTime => {
            ["0001-01-01T00:00:00", "9999-12-31T23:59:59.999999", "2024-02-29T00:00:00-23:59"]
                .map(|text| Recipe::Written(TextValueKind::DateTime, text.into()))
                .to_vec()
        }
        ValueShape::Date => ["0001-01-01", "9999-12-31"]
            .map(|text| Recipe::Written(TextValueKind::Date, text.into()))
            .to_vec(),
        ValueShape::TimeDelta => {
            vec![Recipe::Seconds(-1.0), Recipe::Seconds(86_399_999_999_999.0), Recipe::Seconds(0.0)]
        }
        ValueShape::TextFile => texts()
            .into_iter()
            .filter_map(|text| plain(text).map(|text| Recipe::Written(TextValueKind::TextFile, text)))
            .collect(),
        ValueShape::BinaryFile => {
            ["", "fffe00", "80"].map(|text| Recipe::Written(TextValueKind::BinaryFile, text.into())).to_vec()
        }
        ValueShape::List { of } => many(CollectionKind::List, of, draw, random),
        ValueShape::Set { of } => many(CollectionKind::Set, of, draw, random),
        ValueShape::FrozenSet { of } => many(CollectionKind::FrozenSet, of, draw, random),
        ValueShape::Deque { of } => many(CollectionKind::Deque, of, draw, random),
        ValueShape::Iterator { of } => many(CollectionKind::Iterator, of, draw, random),
        ValueShape::Tuple { of: Some(of), .. } => many(CollectionKind::Tuple, of, draw, random),
        ValueShape::Dict { key, value, .. } => dictionaries(key, value, draw, random),
        ValueShape::Union { of } => {
            let typed: Vec<&ValueShape> = of.iter().filter(|shape| **shape != ValueShape::None).collect();
            return typed.get(draw % typed.len().max(1)).and_then(|shape| hostile(shape, draw / 2, random));
        }
        _ => return None,
    };
    let index = draw % values.len().max(1);
    values.into_iter().nth(index)
}

/// Replaces an ordinary value, or one field of a record, by a hostile value.
pub(super) fn tainted(
    value: &Recipe,
    shape: &ValueShape,
    draw: usize,
    random: &mut RandomStream,
) -> Option<Recipe> {
    match (value, shape) {
        (Recipe::Dict(class, pairs), ValueShape::TypedDict { fields }) => {
            let index = draw % fields.len().max(1);
            let field = fields.get(index)?;
            let hostile = hostile(&field.shape, draw / fields.len(), random)?;
            let mut pairs = pairs.clone();
            let place = pairs.iter_mut().find(|(key, _)| *key == Recipe::text(&field.name))?;
            place.1 = hostile;
            Some(Recipe::Dict(class.clone(), pairs))
        }
        (Recipe::New { class, arguments, keywords }, ValueShape::Object { parameters, record: true, .. }) => {
            let (mut arguments, mut keywords) = (arguments.clone(), keywords.clone());
            let count = arguments.len() + keywords.len();
            let index = draw % count.max(1);
            let place = match arguments.get_mut(index) {
                Some(place) => place,
                None => &mut keywords.get_mut(index - arguments.len())?.1,
            };
            let parameter = parameters.get(index)?;
            *place = hostile(&parameter.shape, draw / count, random)?;
            Some(Recipe::New { class: class.clone(), arguments, keywords })
        }
        _ => hostile(shape, draw, random),
    }
}

fn plain(recipe: Recipe) -> Option<String> {
    match recipe {
        Recipe::Text(text) => Some(text),
        _ => None,
    }
}

/// Hostile texts, those that break the most first.
fn texts() -> Vec<Recipe> {
    let many = |text: &str, count| Recipe::Repeated(Box::new(Recipe::text(text)), count);
    let plain = |texts: &[&str]| texts.iter().copied().map(Recipe::text).collect::<Vec<_>>();
    let mut all = plain(&["", "'; DROP TABLE users; --", "\0", "../../../../etc/passwd", "²"]);
    all.extend([
        Recipe::Escaped("\\ud800".into()),
        many("A", HUGE),
        // Makes an ambiguous regular expression backtrack: the text matches up to its last character.
        Recipe::text("a".repeat(40) + "!"),
        many("9", 5_000),
        many("[", HUGE),
        many("(", 5_000),
    ]);
    all.extend(plain(&[
        "{\"a\": [1, 2",
        "%s%s%n%x",
        "{0.__class__}",
        "-1",
        "NaN",
        "99999999999999999999",
        " \t\r\n",
        "<script>alert(1)</script>",
        "${7*7}{{7*7}}",
        "аdmin",
        "\u{202e}txt.exe",
        "0x41",
        "١٢٣",
        "𝟙𝟚",
        "a\u{301}\u{301}\u{301}",
        "\u{feff}text",
        "None",
        "=1+1",
        "A:\\nul",
    ]));
    all
}

fn numbers() -> Vec<Recipe> {
    [0, -1, 1 << 31, -(1 << 31) - 1, 1 << 63, 1 << 64, -(1 << 63), 10_i128.pow(30), 255, 256]
        .map(Recipe::Int)
        .to_vec()
}

fn floats() -> Vec<Recipe> {
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::MAX, f64::MIN_POSITIVE, 5e-324, -1e308, 0.1 + 0.2]
        .map(Recipe::Float)
        .to_vec()
}

fn paths() -> Vec<&'static str> {
    vec![
        "",
        "../../../../etc/passwd",
        "/dev/zero",
        "/proc/self/mem",
        "a/../../b",
        "/nonexistent/\u{202e}x",
        ".",
    ]
}

fn many(kind: CollectionKind, of: &ValueShape, draw: usize, random: &mut RandomStream) -> Vec<Recipe> {
    let mut all = vec![Recipe::Many(kind, Vec::new())];
    if let Some(first) = hostile(of, draw, random) {
        let second = hostile(of, draw + 1, random).unwrap_or_else(|| first.clone());
        all.push(Recipe::Many(kind, vec![first.clone(), second]));
        all.push(Recipe::Many(kind, vec![first.clone()]));
        if kind == CollectionKind::List
            && matches!(of, ValueShape::Int | ValueShape::Str | ValueShape::Float | ValueShape::Any)
        {
            all.push(Recipe::Repeated(Box::new(Recipe::list([first])), 10_000));
        }
    }
    if kind == CollectionKind::List && *of == ValueShape::Any {
        all.push(Recipe::Nested(Box::new(Recipe::list([])), 500));
    }
    all
}

fn dictionaries(key: &ValueShape, value: &ValueShape, draw: usize, random: &mut RandomStream) -> Vec<Recipe> {
    let mut all = vec![Recipe::Dict(None, Vec::new())];
    let hostile_key = hostile(key, draw, random).filter(super::typical::is_hashable);
    if let (Some(key), Some(value)) = (hostile_key, hostile(value, draw, random)) {
        all.push(Recipe::Dict(None, vec![(key, value)]));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_values_are_of_the_declared_type() {
        let mut random = RandomStream::new(1, &[]);
        for draw in 0..60 {
            let text = hostile(&ValueShape::Str, draw, &mut random).unwrap();
            let is_text = match &text {
                Recipe::Repeated(inner, _) => matches!(**inner, Recipe::Text(_)),
                text => matches!(text, Recipe::Text(_) | Recipe::Escaped(_)),
            };
            assert!(is_text, "{text:?}");
            assert!(matches!(hostile(&ValueShape::Int, draw, &mut random), Some(Recipe::Int(_))));
            assert!(matches!(hostile(&ValueShape::Float, draw, &mut random), Some(Recipe::Float(_))));
        }
        assert_eq!(hostile(&ValueShape::Bool, 0, &mut random), None);
    }
}
