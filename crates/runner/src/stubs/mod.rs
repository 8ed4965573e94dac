//! What a section is called with.

mod drift;
mod evidence;
mod given;
mod hostile;
mod misuse;
mod plausible;
mod typical;

use std::collections::HashMap;

use menace_model::calls::{Described, ParameterShape, Recipe, Shape};
use menace_model::inventory::Section;
use serde::{Deserialize, Serialize};

use self::evidence::{fields_read, guesses};
pub use self::given::GivenStub;
pub(crate) use self::plausible::value as plausible_value;
use self::typical::Typical;
use crate::chance::Chance;
use crate::owners::Owners;
use crate::target::Target;

/// The arguments of one call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stub {
    /// The object on which a method is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Recipe>,
    /// By position.
    #[serde(rename = "args")]
    pub arguments: Vec<Recipe>,
    /// By name.
    #[serde(rename = "kwargs")]
    pub keywords: Vec<(String, Recipe)>,
    /// Some of it is a guess: an exception that says so is an answer, and no crash.
    #[serde(default)]
    pub is_doubtful: bool,
    /// It is wrong on purpose.
    #[serde(default)]
    pub is_wrong: bool,
    /// How many hostile values are in it.
    #[serde(default)]
    pub hostile: u32,
    /// How many fields were renamed, dropped, added or retyped.
    #[serde(default)]
    pub drifted: u32,
}

/// How arguments are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Ordinary values.
    Typical,
    /// Hostile ones where there are any, ordinary ones elsewhere.
    Hostile,
    /// Wrong calls.
    Misuse,
    /// Ordinary values, with fields changed.
    Drift,
}

/// What ordinary values are chosen from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// All that is known: annotations, defaults, names, and what the body does with a parameter. The plainest first.
    #[default]
    Smart,
    /// Annotations and defaults.
    Signature,
    /// As smart in what a parameter takes, but by chance among all that it takes.
    Random,
}

/// Draws after which values are no longer the plainest.
const PLAIN_DRAWS: usize = 64;

impl Source {
    /// Whether the name of a parameter says what value it gets.
    fn uses_names(self) -> bool {
        self == Self::Smart
    }

    /// Whether the body says what a parameter takes.
    fn uses_evidence(self) -> bool {
        self != Self::Signature
    }

    fn draw(self, draw: usize) -> usize {
        if self == Self::Random { draw + PLAIN_DRAWS } else { draw }
    }
}

impl Strategy {
    /// What its chance is for: what drifts is ordinary at first.
    pub(crate) fn name_of_chance(self) -> &'static str {
        match self {
            Self::Drift => Self::Typical.name(),
            other => other.name(),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Typical => "typical",
            Self::Hostile => "hostile",
            Self::Misuse => "misuse",
            Self::Drift => "drift",
        }
    }
}

/// Arguments for a section; the number beside the strategy is the share of fields that drift. The first draw is of
/// ordinary arguments, the second of what is done to them. `None` when the strategy has nothing to offer for it: no parameter can be hostile, no record
/// can drift.
pub fn stub(
    section: &Section,
    described: &Described,
    (strategy, drifting): (Strategy, f64),
    (source, base, draw): (Source, usize, usize),
    chance: &mut Chance,
    constructors: &Constructors,
    owners: &Owners,
) -> Result<Option<Stub>, String> {
    let base = source.draw(base);
    let Described::Callable { parameters, owner: owner_shape, .. } = described else { return Ok(None) };
    let known = Known::of(Some(section).filter(|_| source.uses_evidence()), parameters, base);
    let mut maker = Typical { chance, draw: base, constructors, owners, optional_depth: 0, source };
    let (arguments, keywords) = maker.arguments(&known.parameters, 0)?;
    let owner = match owner_shape {
        // The object is an ordinary one, whatever it is called with.
        Some(shape) => Some(if let Some(made) = made_before(shape, owners, base) {
            made
        } else {
            let chance = maker.chance;
            let mut maker =
                Typical { chance, draw: base % 4, constructors, owners, optional_depth: 0, source };
            maker.value(shape, "self", 0)?
        }),
        None => None,
    };
    let is_doubtful = known.is_doubtful
        || known.parameters.iter().any(|parameter| parameter.required && has_guess(&parameter.shape))
        || owner_shape.as_ref().is_some_and(has_guess);
    let stub = Stub { owner, arguments, keywords, is_doubtful, ..Stub::default() };
    Ok(match strategy {
        Strategy::Typical => Some(stub),
        Strategy::Hostile => make_hostile(stub, &known.parameters, draw, chance),
        Strategy::Misuse => misuse::misuse(stub, &known.shapes(), draw),
        Strategy::Drift => drift::drift(stub, &known.shapes(), drifting, draw, chance),
    })
}

pub(crate) fn made_before(shape: &Shape, owners: &Owners, draw: usize) -> Option<Recipe> {
    match shape {
        Shape::Object { class, .. } => owners.pick(class, draw).cloned(),
        _ => None,
    }
}

/// Different ways to make an object, the plainest first.
pub(crate) fn object_candidates(
    class: &str,
    shape: &Shape,
    count: usize,
    seed: u64,
    constructors: &Constructors,
    owners: &Owners,
) -> Vec<Recipe> {
    let mut candidates = Vec::new();
    for draw in 0..count {
        let mut chance = Chance::new(seed, &["owner", class, &draw.to_string()]);
        // At first only what has to be passed, then more.
        let optional_depth = u32::from(draw >= 4);
        let source = Source::Smart;
        let mut maker = Typical { chance: &mut chance, draw, constructors, owners, optional_depth, source };
        if let Ok(recipe) = maker.value(shape, "self", 0)
            && !candidates.contains(&recipe)
        {
            candidates.push(recipe);
        }
    }
    candidates
}

/// What the bodies of constructors say about their parameters, by `module:Class`.
#[derive(Debug, Clone, Default)]
pub struct Constructors(HashMap<String, Section>);

impl Constructors {
    /// Those among the targets.
    pub fn of(targets: &[Target]) -> Self {
        let constructor = |target: &Target| {
            let class = target.section.name.strip_suffix(".__init__")?;
            Some((format!("{}:{class}", target.module), target.section.clone()))
        };
        Self(targets.iter().filter_map(constructor).collect())
    }

    /// The parameters of a constructor, with a guess where nothing is declared: the best, then others in turn.
    fn with_guesses(&self, class: &str, parameters: &[ParameterShape], draw: usize) -> Vec<ParameterShape> {
        let section = self.0.get(class);
        let guessed = |parameter: &ParameterShape| {
            if parameter.shape != Shape::Any {
                return parameter.clone();
            }
            let written = section
                .and_then(|section| section.parameters.iter().find(|written| written.name == parameter.name));
            let mut all = guesses(written, &parameter.name, parameter.default.as_deref());
            let chosen = if draw < 2 { 0 } else { draw % all.len().clamp(1, 3) };
            let shape = if chosen < all.len() { all.swap_remove(chosen).shape } else { Shape::Any };
            ParameterShape { shape, ..parameter.clone() }
        };
        parameters.iter().map(guessed).collect()
    }
}

/// Whether an object can only be made with arguments that nothing is known about.
fn has_guess(shape: &Shape) -> bool {
    match shape {
        Shape::Object { parameters, .. } => parameters.iter().any(|parameter| {
            parameter.required && (parameter.shape == Shape::Any || has_guess(&parameter.shape))
        }),
        Shape::Union { of } => of.iter().any(has_guess),
        Shape::List { of }
        | Shape::Set { of }
        | Shape::FrozenSet { of }
        | Shape::Deque { of }
        | Shape::Iterator { of }
        | Shape::AsyncIterator { of } => **of == Shape::Any || has_guess(of),
        Shape::Dict { value, .. } => **value == Shape::Any || has_guess(value),
        Shape::Tuple { items, of } => {
            items.iter().flatten().any(|item| *item == Shape::Any || has_guess(item))
                || of.as_deref().is_some_and(|of| *of == Shape::Any || has_guess(of))
        }
        Shape::TypedDict { fields } => {
            fields.iter().any(|field| field.shape == Shape::Any || has_guess(&field.shape))
        }
        // Of what cannot be made, the function returns something else.
        Shape::Callable { returns } => returns
            .as_deref()
            .is_none_or(|returns| matches!(returns, Shape::Any | Shape::Opaque { .. }) || has_guess(returns)),
        Shape::Namespace | Shape::Type { .. } => true,
        _ => false,
    }
}

/// Parameters with a shape for each, where nothing was declared a guessed one.
struct Known {
    parameters: Vec<ParameterShape>,
    is_doubtful: bool,
}

impl Known {
    fn of(section: Option<&Section>, parameters: &[ParameterShape], draw: usize) -> Self {
        let mut is_doubtful = false;
        let parameters = parameters
            .iter()
            .map(|parameter| {
                let written = section.and_then(|section| {
                    section.parameters.iter().find(|written| written.name == parameter.name)
                });
                if let (Shape::Dict { value, .. }, Some(written)) = (&parameter.shape, written) {
                    // A mapping is declared by the types of its keys and values; which keys there are, the body says.
                    let fields = fields_read(written, value);
                    if !fields.is_empty() {
                        return ParameterShape { shape: Shape::TypedDict { fields }, ..parameter.clone() };
                    }
                }
                if parameter.shape != Shape::Any {
                    return parameter.clone();
                }
                let name = section.map_or("", |_| &parameter.name);
                let all = guesses(written, name, parameter.default.as_deref());
                // The best guess first, then the others in turn.
                let likely = all.len().clamp(1, 3);
                let chosen = all.get(if draw < 2 { 0 } else { draw % likely });
                // Nobody has to pass what goes into `*args`, but calls do.
                let is_passed = parameter.required || parameter.kind.starts_with("var_");
                is_doubtful |= is_passed && chosen.is_none_or(|guess| !guess.is_plain);
                let shape = chosen.map_or(Shape::Any, |guess| guess.shape.clone());
                ParameterShape { shape, ..parameter.clone() }
            })
            .collect();
        Self { parameters, is_doubtful }
    }

    fn shapes(&self) -> Vec<Shape> {
        self.parameters.iter().map(|parameter| parameter.shape.clone()).collect()
    }
}

/// One parameter after the other is hostile, each with one value after the other, and now and then all of them.
fn make_hostile(
    mut stub: Stub,
    parameters: &[ParameterShape],
    draw: usize,
    chance: &mut Chance,
) -> Option<Stub> {
    let given = stub.arguments.len() + stub.keywords.len();
    let values = stub.arguments.iter_mut().enumerate().map(|(index, value)| (parameters.get(index), value));
    let named = stub
        .keywords
        .iter_mut()
        .map(|(name, value)| (parameters.iter().find(|parameter| parameter.name == *name), value));
    let mut places: Vec<(Option<&ParameterShape>, &mut Recipe)> = values.chain(named).collect();
    let everything = draw % 7 == 6;
    // Where the one whose turn it is cannot be hostile, it is the turn of the next.
    for turn in 0..given {
        let index = (draw + turn) % given;
        let (parameter, value) = &mut places[index];
        let shape = parameter.map_or(&Shape::Any, |parameter| &parameter.shape);
        if let Some(hostile) = hostile::tainted(value, shape, draw / given, chance) {
            **value = hostile;
            stub.hostile += 1;
            if !everything {
                break;
            }
        }
    }
    (stub.hostile > 0).then_some(stub)
}
