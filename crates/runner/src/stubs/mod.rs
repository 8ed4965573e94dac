//! Stubs: the arguments that sections are called with.

mod drift;
mod given;
mod hostile;
mod misuse;
mod plausible;
mod shape_guess;
mod typical;

use std::collections::HashMap;

use menace_model::calls::{ParameterShape, Recipe, SectionDescription, ValueShape};
use menace_model::inventory::Section;
use serde::{Deserialize, Serialize};

pub use self::given::GivenStub;
pub(crate) use self::plausible::value as plausible_value;
use self::shape_guess::{fields_read, guesses};
use self::typical::TypicalValueGenerator;
use crate::callable_section::CallableSection;
use crate::object_recipes::ObjectRecipes;
use crate::random_stream::RandomStream;

/// The arguments of one call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stub {
    /// Object on which a method is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Recipe>,
    /// Positional arguments.
    #[serde(rename = "args")]
    pub arguments: Vec<Recipe>,
    /// Keyword arguments.
    #[serde(rename = "kwargs")]
    pub keywords: Vec<(String, Recipe)>,
    /// Some values are guesses: an exception that rejects them is an answer, not a crash.
    #[serde(default)]
    pub is_doubtful: bool,
    /// The call is wrong on purpose.
    #[serde(default)]
    pub is_wrong: bool,
    /// Number of hostile values.
    #[serde(default)]
    pub hostile: u32,
    /// Number of fields that were renamed, dropped, added or retyped.
    #[serde(default)]
    pub drifted: u32,
}

/// Strategy by which arguments are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputStrategy {
    /// Ordinary values.
    Typical,
    /// Hostile values where the type has any, ordinary ones elsewhere.
    Hostile,
    /// Wrong calls.
    Misuse,
    /// Ordinary values with changed fields.
    Drift,
}

/// Source of ordinary values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentSource {
    /// Annotations, defaults, names, and uses in the body. The plainest values first.
    #[default]
    Smart,
    /// Annotations and defaults.
    Signature,
    /// As `Smart` for the type of a parameter, but with random values of that type.
    Random,
}

/// Number of draws after which values are no longer the plainest.
const PLAIN_DRAWS: usize = 64;

impl ArgumentSource {
    /// Whether the name of a parameter influences its value.
    fn uses_names(self) -> bool {
        self == Self::Smart
    }

    /// Whether uses in the body influence the type of a parameter.
    fn uses_evidence(self) -> bool {
        self != Self::Signature
    }

    fn draw(self, draw: usize) -> usize {
        if self == Self::Random { draw + PLAIN_DRAWS } else { draw }
    }
}

impl InputStrategy {
    /// Name of its random stream. Drifted arguments derive from ordinary ones and share their stream.
    pub(crate) fn random_stream_name(self) -> &'static str {
        match self {
            Self::Drift => Self::Typical.name(),
            other => other.name(),
        }
    }

    /// Name of the strategy.
    pub fn name(self) -> &'static str {
        match self {
            Self::Typical => "typical",
            Self::Hostile => "hostile",
            Self::Misuse => "misuse",
            Self::Drift => "drift",
        }
    }
}

/// Generates arguments for a section. `drifting` is the share of fields that drift, `base` the draw of ordinary
/// arguments, `draw` the draw of their modification. `None` when the strategy has no input for the section: no
/// parameter can be hostile, no record can drift.
pub fn stub(
    section: &Section,
    described: &SectionDescription,
    (strategy, drifting): (InputStrategy, f64),
    (source, base, draw): (ArgumentSource, usize, usize),
    random: &mut RandomStream,
    constructors: &ConstructorSections,
    owners: &ObjectRecipes,
) -> Result<Option<Stub>, String> {
    let base = source.draw(base);
    let SectionDescription::Callable { parameters, owner: owner_shape, .. } = described else {
        return Ok(None);
    };
    let known = TypedParameters::of(Some(section).filter(|_| source.uses_evidence()), parameters, base);
    let mut maker =
        TypicalValueGenerator { random, draw: base, constructors, owners, optional_depth: 0, source };
    let (arguments, keywords) = maker.arguments(&known.parameters, 0)?;
    let owner = match owner_shape {
        // The object is an ordinary one, independently of the strategy.
        Some(shape) => Some(if let Some(made) = constructed_object(shape, owners, base) {
            made
        } else {
            let random = maker.random;
            let mut maker = TypicalValueGenerator {
                random,
                draw: base % 4,
                constructors,
                owners,
                optional_depth: 0,
                source,
            };
            maker.value(shape, "self", 0)?
        }),
        None => None,
    };
    let is_doubtful = known.is_doubtful
        || known.parameters.iter().any(|parameter| parameter.required && has_guess(&parameter.shape))
        || owner_shape.as_ref().is_some_and(has_guess);
    let stub = Stub { owner, arguments, keywords, is_doubtful, ..Stub::default() };
    Ok(match strategy {
        InputStrategy::Typical => Some(stub),
        InputStrategy::Hostile => make_hostile(stub, &known.parameters, draw, random),
        InputStrategy::Misuse => misuse::misuse(stub, &known.shapes(), draw),
        InputStrategy::Drift => drift::drift(stub, &known.shapes(), drifting, draw, random),
    })
}

pub(crate) fn constructed_object(shape: &ValueShape, owners: &ObjectRecipes, draw: usize) -> Option<Recipe> {
    match shape {
        ValueShape::Object { class, .. } => owners.pick(class, draw).cloned(),
        _ => None,
    }
}

/// Different ways to construct an object, the plainest first.
pub(crate) fn object_candidates(
    class: &str,
    shape: &ValueShape,
    count: usize,
    seed: u64,
    constructors: &ConstructorSections,
    owners: &ObjectRecipes,
) -> Vec<Recipe> {
    let mut candidates = Vec::new();
    for draw in 0..count {
        let mut random = RandomStream::new(seed, &["owner", class, &draw.to_string()]);
        // At first only required arguments, then optional ones too.
        let optional_depth = u32::from(draw >= 4);
        let source = ArgumentSource::Smart;
        let mut maker =
            TypicalValueGenerator { random: &mut random, draw, constructors, owners, optional_depth, source };
        if let Ok(recipe) = maker.value(shape, "self", 0)
            && !candidates.contains(&recipe)
        {
            candidates.push(recipe);
        }
    }
    candidates
}

/// Constructors by `module:Class`, whose bodies show how their parameters are used.
#[derive(Debug, Clone, Default)]
pub struct ConstructorSections(HashMap<String, Section>);

impl ConstructorSections {
    /// Collects the constructors among the targets.
    pub fn of(targets: &[CallableSection]) -> Self {
        let constructor = |target: &CallableSection| {
            let class = target.section.name.strip_suffix(".__init__")?;
            Some((format!("{}:{class}", target.module), target.section.clone()))
        };
        Self(targets.iter().filter_map(constructor).collect())
    }

    /// The parameters of a constructor, with guesses where nothing is declared: the best guess first, then others in
    /// turn.
    fn with_guesses(&self, class: &str, parameters: &[ParameterShape], draw: usize) -> Vec<ParameterShape> {
        let section = self.0.get(class);
        let guessed = |parameter: &ParameterShape| {
            if parameter.shape != ValueShape::Any {
                return parameter.clone();
            }
            let written = section
                .and_then(|section| section.parameters.iter().find(|written| written.name == parameter.name));
            let mut all = guesses(written, &parameter.name, parameter.default.as_deref());
            let chosen = if draw < 2 { 0 } else { draw % all.len().clamp(1, 3) };
            let shape = if chosen < all.len() { all.swap_remove(chosen).shape } else { ValueShape::Any };
            ParameterShape { shape, ..parameter.clone() }
        };
        parameters.iter().map(guessed).collect()
    }
}

/// Whether an object can only be constructed with guessed arguments.
fn has_guess(shape: &ValueShape) -> bool {
    match shape {
        ValueShape::Object { parameters, .. } => parameters.iter().any(|parameter| {
            parameter.required && (parameter.shape == ValueShape::Any || has_guess(&parameter.shape))
        }),
        ValueShape::Union { of } => of.iter().any(has_guess),
        ValueShape::List { of }
        | ValueShape::Set { of }
        | ValueShape::FrozenSet { of }
        | ValueShape::Deque { of }
        | ValueShape::Iterator { of }
        | ValueShape::AsyncIterator { of } => **of == ValueShape::Any || has_guess(of),
        ValueShape::Dict { value, .. } => **value == ValueShape::Any || has_guess(value),
        ValueShape::Tuple { items, of } => {
            items.iter().flatten().any(|item| *item == ValueShape::Any || has_guess(item))
                || of.as_deref().is_some_and(|of| *of == ValueShape::Any || has_guess(of))
        }
        ValueShape::TypedDict { fields } => {
            fields.iter().any(|field| field.shape == ValueShape::Any || has_guess(&field.shape))
        }
        // A function whose return type cannot be constructed returns a placeholder.
        ValueShape::Callable { returns } => returns.as_deref().is_none_or(|returns| {
            matches!(returns, ValueShape::Any | ValueShape::Opaque { .. }) || has_guess(returns)
        }),
        ValueShape::Namespace | ValueShape::Type { .. } => true,
        _ => false,
    }
}

/// Parameters with a shape for each; guessed where nothing is declared.
struct TypedParameters {
    parameters: Vec<ParameterShape>,
    is_doubtful: bool,
}

impl TypedParameters {
    fn of(section: Option<&Section>, parameters: &[ParameterShape], draw: usize) -> Self {
        let mut is_doubtful = false;
        let parameters = parameters
            .iter()
            .map(|parameter| {
                let written = section.and_then(|section| {
                    section.parameters.iter().find(|written| written.name == parameter.name)
                });
                if let (ValueShape::Dict { value, .. }, Some(written)) = (&parameter.shape, written) {
                    // The declaration of a mapping has the types of its keys and values; the body shows which keys
                    // are read.
                    let fields = fields_read(written, value);
                    if !fields.is_empty() {
                        return ParameterShape {
                            shape: ValueShape::TypedDict { fields },
                            ..parameter.clone()
                        };
                    }
                }
                if parameter.shape != ValueShape::Any {
                    return parameter.clone();
                }
                let name = section.map_or("", |_| &parameter.name);
                let all = guesses(written, name, parameter.default.as_deref());
                // The best guess first, then the others in turn.
                let likely = all.len().clamp(1, 3);
                let chosen = all.get(if draw < 2 { 0 } else { draw % likely });
                // `*args` is not required, but calls pass values for it.
                let is_passed = parameter.required || parameter.kind.starts_with("var_");
                is_doubtful |= is_passed && chosen.is_none_or(|guess| !guess.is_plain);
                let shape = chosen.map_or(ValueShape::Any, |guess| guess.shape.clone());
                ParameterShape { shape, ..parameter.clone() }
            })
            .collect();
        Self { parameters, is_doubtful }
    }

    fn shapes(&self) -> Vec<ValueShape> {
        self.parameters.iter().map(|parameter| parameter.shape.clone()).collect()
    }
}

/// Replaces one parameter after the other by hostile values in turn, and every seventh time all of them.
fn make_hostile(
    mut stub: Stub,
    parameters: &[ParameterShape],
    draw: usize,
    random: &mut RandomStream,
) -> Option<Stub> {
    let given = stub.arguments.len() + stub.keywords.len();
    let values = stub.arguments.iter_mut().enumerate().map(|(index, value)| (parameters.get(index), value));
    let named = stub
        .keywords
        .iter_mut()
        .map(|(name, value)| (parameters.iter().find(|parameter| parameter.name == *name), value));
    let mut places: Vec<(Option<&ParameterShape>, &mut Recipe)> = values.chain(named).collect();
    let everything = draw % 7 == 6;
    // If the parameter in turn cannot be hostile, the next one is.
    for turn in 0..given {
        let index = (draw + turn) % given;
        let (parameter, value) = &mut places[index];
        let shape = parameter.map_or(&ValueShape::Any, |parameter| &parameter.shape);
        if let Some(hostile) = hostile::tainted(value, shape, draw / given, random) {
            **value = hostile;
            stub.hostile += 1;
            if !everything {
                break;
            }
        }
    }
    (stub.hostile > 0).then_some(stub)
}
