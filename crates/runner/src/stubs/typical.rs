//! Ordinary values: small, plausible and distinct.

use menace_model::calls::{CollectionKind, ParameterShape, Recipe, TextValueKind, ValueShape};
use serde_json::Value;

use super::shape_guess::guesses;
use super::{ArgumentSource, ConstructorSections, plausible};
use crate::object_recipes::ObjectRecipes;
use crate::random_stream::RandomStream;

/// Maximum depth of nested containers. Deeper ones are empty.
const DEEPEST: u32 = 4;

/// Generator of ordinary values.
pub(super) struct TypicalValueGenerator<'a> {
    pub(super) random: &'a mut RandomStream,
    /// Number of the draw: the first ones give the plainest values.
    pub(super) draw: usize,
    /// Known constructors.
    pub(super) constructors: &'a ConstructorSections,
    /// Recipes of objects that are known to work.
    pub(super) owners: &'a ObjectRecipes,
    /// Depth up to which optional parameters are passed now and then.
    pub(super) optional_depth: u32,
    /// Source of values.
    pub(super) source: ArgumentSource,
}

/// Positional and keyword arguments.
pub(super) type CallArguments = (Vec<Recipe>, Vec<(String, Recipe)>);

/// Reason why a value cannot be constructed.
pub(super) type ConstructionFailure = String;

impl TypicalValueGenerator<'_> {
    /// A value of a shape; the name helps to choose among texts.
    pub(super) fn value(
        &mut self,
        shape: &ValueShape,
        name: &str,
        depth: u32,
    ) -> Result<Recipe, ConstructionFailure> {
        Ok(match shape {
            ValueShape::Any => {
                let guess = guesses(None, name, None).into_iter().next();
                match guess {
                    Some(guess) if guess.shape != ValueShape::Any => self.value(&guess.shape, name, depth)?,
                    _ => Recipe::Int(1),
                }
            }
            ValueShape::None => Recipe::None,
            ValueShape::Bool => Recipe::Bool(self.draw.is_multiple_of(2)),
            ValueShape::Int => Recipe::Int(self.whole(name)),
            ValueShape::Float => self.float(),
            ValueShape::Complex => Recipe::Written(TextValueKind::Complex, "1+2j".into()),
            ValueShape::Str => Recipe::text(self.text(name)),
            ValueShape::Bytes => Recipe::Bytes(self.text(name).into_bytes()),
            ValueShape::ByteArray => Recipe::Written(TextValueKind::ByteArray, "6d656e616365".into()),
            ValueShape::MemoryView => Recipe::Written(TextValueKind::MemoryView, "6d656e616365".into()),
            ValueShape::Path => Recipe::Written(TextValueKind::Path, self.path()),
            ValueShape::DateTime => self.one(&DATE_TIMES, TextValueKind::DateTime),
            ValueShape::Date => self.one(&["2024-05-17", "2000-02-29", "1999-12-31"], TextValueKind::Date),
            ValueShape::Time => self.one(&["12:30:00", "00:00:00", "23:59:59"], TextValueKind::Time),
            ValueShape::TimeDelta => Recipe::Seconds([90.0, 0.0, 86_400.0, 0.5][self.draw % 4]),
            ValueShape::TimeZone => Recipe::Zone([0, 120, -330][self.draw % 3]),
            ValueShape::Decimal => {
                self.one(&["12.50", "0", "1", "-3.14", "1000000.01"], TextValueKind::Decimal)
            }
            ValueShape::Fraction => self.one(&["1/2", "3", "-7/3"], TextValueKind::Fraction),
            ValueShape::Uuid => {
                Recipe::Written(TextValueKind::Uuid, format!("12345678-1234-4678-9234-{:012x}", self.draw))
            }
            ValueShape::Pattern => self.one(&["[a-z]+", "^x", "(\\d+)"], TextValueKind::Pattern),
            ValueShape::TextFile => {
                self.one(&["first line\nsecond line\n", "", "a,b\n1,2\n"], TextValueKind::TextFile)
            }
            ValueShape::BinaryFile => self.one(&["66697273740a", ""], TextValueKind::BinaryFile),
            ValueShape::Slice => Recipe::Range(true, vec![Some(0), Some(2)]),
            ValueShape::Range => Recipe::Range(false, vec![Some(3)]),
            ValueShape::Module => Recipe::Written(TextValueKind::Module, "math".into()),
            ValueShape::Namespace => Recipe::Namespace(vec![
                ("name".into(), Recipe::text("menace")),
                ("value".into(), Recipe::Int(1)),
            ]),
            ValueShape::List { of } => Recipe::Many(CollectionKind::List, self.items(of, name, depth)?),
            ValueShape::Set { of } => {
                Recipe::Many(CollectionKind::Set, self.hashable_items(of, name, depth)?)
            }
            ValueShape::FrozenSet { of } => {
                Recipe::Many(CollectionKind::FrozenSet, self.hashable_items(of, name, depth)?)
            }
            ValueShape::Deque { of } => Recipe::Many(CollectionKind::Deque, self.items(of, name, depth)?),
            ValueShape::Iterator { of } => {
                Recipe::Many(CollectionKind::Iterator, self.items(of, name, depth)?)
            }
            ValueShape::AsyncIterator { of } => {
                Recipe::Many(CollectionKind::AsyncIterator, self.items(of, name, depth)?)
            }
            ValueShape::Tuple { items: Some(items), .. } => {
                let each = items.iter().map(|item| self.value(item, name, depth + 1));
                Recipe::Many(CollectionKind::Tuple, each.collect::<Result<_, _>>()?)
            }
            ValueShape::Tuple { of, .. } => Recipe::Many(
                CollectionKind::Tuple,
                self.items(of.as_deref().unwrap_or(&ValueShape::Any), name, depth)?,
            ),
            ValueShape::Dict { key, value, class } => self.dictionary(key, value, class.as_deref(), depth)?,
            ValueShape::TypedDict { fields } => {
                let mut pairs = Vec::new();
                for field in fields {
                    if field.required || self.draw.is_multiple_of(2) {
                        let value = self.value(&field.shape, &field.name, depth + 1)?;
                        pairs.push((Recipe::text(&field.name), value));
                    }
                }
                Recipe::Dict(None, pairs)
            }
            ValueShape::Literal { values } => self.literal(values)?,
            ValueShape::Union { of } => self.one_of(of, name, depth)?,
            ValueShape::Enum { class, members } => {
                let member = members.get(self.draw % members.len().max(1));
                Recipe::Member(class.clone(), member.ok_or("the enumeration has no members")?.clone())
            }
            ValueShape::Object { class, parameters, .. } => self.object(class, parameters, depth)?,
            ValueShape::Exception { class } => Recipe::New {
                class: class.clone(),
                arguments: vec![Recipe::text("a reason")],
                keywords: Vec::new(),
            },
            ValueShape::Callable { returns } => {
                let returns = returns.as_deref().unwrap_or(&ValueShape::Any);
                let value = self.value(returns, "value", depth + 1).unwrap_or(Recipe::Int(1));
                Recipe::Function(Box::new(value))
            }
            ValueShape::Awaitable { of } => Recipe::Awaitable(Box::new(self.value(of, name, depth + 1)?)),
            ValueShape::Type { of } => Recipe::Class(of.clone().unwrap_or_else(|| "builtins:int".into())),
            ValueShape::Opaque { class, why } => return Err(format!("cannot construct {class}: {why}")),
        })
    }

    fn whole(&mut self, name: &str) -> i128 {
        const PLAIN: [i128; 6] = [3, 1, 2, 0, 10, 7];
        if let Some(plain) = PLAIN.get(self.draw) {
            // Many functions sleep, repeat or allocate according to a number.
            return *plain;
        }
        let usual = plausible::range(name).filter(|_| self.source.uses_names());
        let (least, most) = usual.unwrap_or((-3, 100));
        i128::from(self.random.between(least, most))
    }

    fn float(&mut self) -> Recipe {
        const PLAIN: [f64; 5] = [1.5, 0.0, 2.0, -1.0, 100.25];
        match PLAIN.get(self.draw) {
            Some(plain) => Recipe::Float(*plain),
            #[expect(clippy::cast_precision_loss, reason = "it is between -10,000 and 10,000")]
            None => Recipe::Float(self.random.between(-10_000, 10_000) as f64 / 64.0),
        }
    }

    fn text(&mut self, name: &str) -> String {
        if let Some(plausible) = plausible::text(name, self.draw).filter(|_| self.source.uses_names()) {
            return plausible.to_owned();
        }
        if let Some(word) = WORDS.get(self.draw) {
            return (*word).to_owned();
        }
        let length = self.random.below(12);
        (0..length).filter_map(|_| self.random.pick(b"abcxyz019 _-.")).map(|byte| char::from(*byte)).collect()
    }

    fn path(&mut self) -> String {
        ["/tmp/menace.txt", "data.json", "/workspace", "missing/file.txt"][self.draw % 4].to_owned()
    }

    fn one(&self, among: &[&str], kind: TextValueKind) -> Recipe {
        Recipe::Written(kind, among[self.draw % among.len()].to_owned())
    }

    fn length(&mut self, depth: u32) -> usize {
        match (depth, self.draw) {
            (DEEPEST.., _) => 0,
            (0, 0) => 3,
            (0, 1) => 0,
            (0, 2) => 1,
            (0, _) => self.random.below(6),
            _ => 1 + self.random.below(2),
        }
    }

    fn items(&mut self, of: &ValueShape, name: &str, depth: u32) -> Result<Vec<Recipe>, ConstructionFailure> {
        let length = self.length(depth);
        let singular = name.strip_suffix('s').unwrap_or(name);
        let draw = self.draw;
        let mut items = Vec::new();
        for index in 0..length {
            self.draw = draw + index;
            let item = match of {
                ValueShape::Any => Ok(Recipe::Int(index as i128 + 1)),
                of => self.value(of, singular, depth + 1),
            };
            self.draw = draw;
            items.push(item?);
        }
        Ok(items)
    }

    fn hashable_items(
        &mut self,
        of: &ValueShape,
        name: &str,
        depth: u32,
    ) -> Result<Vec<Recipe>, ConstructionFailure> {
        let items = self.items(of, name, depth)?;
        Ok(if items.iter().all(is_hashable) { items } else { Vec::new() })
    }

    fn dictionary(
        &mut self,
        key: &ValueShape,
        value: &ValueShape,
        class: Option<&str>,
        depth: u32,
    ) -> Result<Recipe, ConstructionFailure> {
        let draw = self.draw;
        let mut pairs = Vec::new();
        for index in 0..self.length(depth) {
            self.draw = draw + index;
            let made = match key {
                ValueShape::Any | ValueShape::Str => {
                    Ok(Recipe::text(["a", "b", "name", "value", "id"][index % 5]))
                }
                key => self.value(key, "key", depth + 1),
            };
            let value = match value {
                ValueShape::Any => Ok(Recipe::Int(index as i128 + 1)),
                value => self.value(value, "value", depth + 1),
            };
            self.draw = draw;
            let (made, value) = (made?, value?);
            if is_hashable(&made) && pairs.iter().all(|(known, _)| *known != made) {
                pairs.push((made, value));
            }
        }
        let class =
            class.filter(|class| !class.starts_with("builtins:") && !class.starts_with("collections.abc:"));
        Ok(Recipe::Dict(class.map(str::to_owned), pairs))
    }

    fn literal(&self, values: &[Value]) -> Result<Recipe, ConstructionFailure> {
        let chosen = values.get(self.draw % values.len().max(1));
        chosen
            .and_then(Recipe::from_json)
            .ok_or_else(|| "none of its literals can be written as JSON".to_owned())
    }

    /// A value of one of several shapes in turn, skipping shapes of which no value can be constructed.
    fn one_of(
        &mut self,
        shapes: &[ValueShape],
        name: &str,
        depth: u32,
    ) -> Result<Recipe, ConstructionFailure> {
        // `None` is the least interesting one and comes last.
        let mut order: Vec<&ValueShape> = shapes.iter().filter(|shape| **shape != ValueShape::None).collect();
        order.extend(shapes.iter().filter(|shape| **shape == ValueShape::None));
        let mut reason = "no alternative can be constructed".to_owned();
        for offset in 0..order.len() {
            match self.value(order[(self.draw + offset) % order.len()], name, depth) {
                Ok(value) => return Ok(value),
                Err(why) => reason = why,
            }
        }
        Err(reason)
    }

    pub(super) fn object(
        &mut self,
        class: &str,
        parameters: &[ParameterShape],
        depth: u32,
    ) -> Result<Recipe, ConstructionFailure> {
        if let Some(made) = self.owners.pick(class, self.draw) {
            return Ok(made.clone());
        }
        let known = self.constructors.with_guesses(class, parameters, self.draw);
        let (arguments, keywords) = self.arguments(&known, depth + 1)?;
        Ok(Recipe::New { class: class.to_owned(), arguments, keywords })
    }

    /// Values for all required parameters, and for optional ones now and then.
    pub(super) fn arguments(
        &mut self,
        parameters: &[ParameterShape],
        depth: u32,
    ) -> Result<CallArguments, ConstructionFailure> {
        let (mut by_position, mut by_name) = (Vec::new(), Vec::new());
        let mut has_gap = false;
        for parameter in parameters {
            let is_passed = parameter.required
                || (depth <= self.optional_depth && self.draw > 1 && self.random.one_in(3));
            if parameter.kind == "var_positional" && depth <= self.optional_depth && self.draw > 1 && !has_gap
            {
                let shape =
                    if parameter.shape == ValueShape::Any { &ValueShape::Int } else { &parameter.shape };
                for _ in 0..self.draw % 3 {
                    by_position.push(self.value(shape, &parameter.name, depth + 1)?);
                }
            }
            if !is_passed || parameter.kind.starts_with("var_") {
                has_gap |= !parameter.kind.starts_with("var_");
                continue;
            }
            let value = match self.value(&parameter.shape, &parameter.name, depth) {
                Ok(value) => value,
                Err(why) if parameter.required => return Err(why),
                Err(_) => {
                    has_gap = true;
                    continue;
                }
            };
            if parameter.kind == "keyword_only" || (has_gap && parameter.kind != "positional_only") {
                by_name.push((parameter.name.clone(), value));
            } else if !has_gap {
                by_position.push(value);
            }
        }
        Ok((by_position, by_name))
    }
}

const WORDS: [&str; 10] =
    ["alpha", "beta", "", "Hello, World", "a", "two words", "42", "ünïcode", "snake_case", "CamelCase"];

const DATE_TIMES: [&str; 4] =
    ["2024-05-17T12:30:00", "2000-01-01T00:00:00+00:00", "1999-12-31T23:59:59.999999", "2038-01-19T03:14:08"];

pub(super) fn is_hashable(recipe: &Recipe) -> bool {
    match recipe {
        Recipe::Many(CollectionKind::List | CollectionKind::Set | CollectionKind::Deque, _)
        | Recipe::Dict(..)
        | Recipe::Nested(..) => false,
        Recipe::Many(_, items) => items.iter().all(is_hashable),
        Recipe::Written(TextValueKind::ByteArray, _) => false,
        _ => true,
    }
}
