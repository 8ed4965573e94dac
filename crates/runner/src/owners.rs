//! Objects on which methods are called, and that are passed as arguments. Each class is constructed in several ways
//! once, to find out which ones work.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use menace_model::calls::{Described, Recipe, Shape};
use menace_sandbox::SandboxError;
use menace_sandbox::native::CallSpec;
use serde_json::json;
use tokio::task::JoinSet;

use crate::execute::Execute;
use crate::stubs::{Constructors, object_candidates};
use crate::target::Target;

/// Number of ways to construct an object that are tried.
const CANDIDATES: usize = 16;
/// Rounds of construction: objects that contain objects that contain objects.
const ROUNDS: usize = 3;
/// Timeout of all constructions of one class.
const LONGEST: Duration = Duration::from_secs(10);

/// Recipes of objects that could be constructed, by class.
#[derive(Debug, Clone, Default)]
pub struct Owners(BTreeMap<String, Vec<Recipe>>);

impl Owners {
    /// One of the recipes of a class. The plainest come first.
    pub fn pick(&self, class: &str, draw: usize) -> Option<&Recipe> {
        let made = self.0.get(class)?;
        made.get(draw % made.len().max(1))
    }
}

/// Tries to construct an object of every class that owns a method or is the type of a parameter.
pub async fn find_owners(
    executor: &Arc<dyn Execute>,
    targets: &[Target],
    seed: u64,
) -> Result<Owners, SandboxError> {
    let constructors = Constructors::of(targets);
    let mut classes: BTreeMap<String, (String, Shape)> = BTreeMap::new();
    for target in targets {
        let Some(Described::Callable { owner, parameters, .. }) = &target.described else { continue };
        let taken = parameters.iter().map(|parameter| &parameter.shape);
        for shape in owner.iter().chain(taken).flat_map(objects_in) {
            if let Shape::Object { class, .. } = shape {
                classes.entry(class.clone()).or_insert_with(|| (target.module.clone(), shape.clone()));
            }
        }
    }
    let mut owners = Owners::default();
    // Objects that contain other objects are constructed in later rounds, when the inner recipes are known.
    for _ in 0..ROUNDS {
        classes.retain(|class, _| !owners.0.contains_key(class));
        try_all(executor, &classes, seed, &constructors, &mut owners).await?;
    }
    Ok(owners)
}

/// All objects that a shape contains, itself included.
fn objects_in(shape: &Shape) -> Vec<&Shape> {
    let inner: Vec<&Shape> = match shape {
        Shape::Object { parameters, .. } => parameters.iter().map(|parameter| &parameter.shape).collect(),
        Shape::Union { of } => of.iter().collect(),
        Shape::List { of }
        | Shape::Set { of }
        | Shape::FrozenSet { of }
        | Shape::Deque { of }
        | Shape::Iterator { of }
        | Shape::AsyncIterator { of } => vec![of],
        Shape::Dict { value, .. } => vec![value],
        Shape::Tuple { items, of } => items.iter().flatten().chain(of.as_deref()).collect(),
        Shape::TypedDict { fields } => fields.iter().map(|field| &field.shape).collect(),
        _ => Vec::new(),
    };
    let itself = matches!(shape, Shape::Object { .. }).then_some(shape);
    itself.into_iter().chain(inner.into_iter().flat_map(objects_in)).collect()
}

async fn try_all(
    executor: &Arc<dyn Execute>,
    classes: &BTreeMap<String, (String, Shape)>,
    seed: u64,
    constructors: &Constructors,
    owners: &mut Owners,
) -> Result<(), SandboxError> {
    let mut tried = JoinSet::new();
    for (class, (module, shape)) in classes {
        let candidates = object_candidates(class, shape, CANDIDATES, seed, constructors, owners);
        let recipes: Vec<_> = candidates.iter().map(Recipe::to_json).collect();
        let spec =
            CallSpec::new(json!({"kind": "build", "module": module, "recipes": recipes})).timeout(LONGEST);
        let executor = Arc::clone(executor);
        let class = class.clone();
        tried.spawn(async move { (class, candidates, executor.execute(&spec).await) });
    }
    while let Some(finished) = tried.join_next().await {
        let (class, candidates, outcome) = finished
            .map_err(|error| SandboxError::Protocol(format!("a construction task failed: {error}")))?;
        let answer = outcome?.returned.unwrap_or_default();
        let works =
            |index: usize| answer["made"].get(index).and_then(serde_json::Value::as_bool).unwrap_or(false);
        let made: Vec<Recipe> = candidates
            .into_iter()
            .enumerate()
            .filter(|(index, _)| works(*index))
            .map(|(_, recipe)| recipe)
            .collect();
        if !made.is_empty() {
            owners.0.insert(class, made);
        }
    }
    Ok(())
}
