//! Objects on which methods are called, and that are passed as arguments. Each class is constructed in several ways
//! once, to find out which ones work.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use menace_model::calls::{CallSpec, Recipe, SectionDescription, ValueShape};
use menace_model::harness::{BuildRequest, HarnessReply, HarnessRequest, StagedReply};
use menace_sandbox::SandboxError;

use crate::callable_section::CallableSection;
use crate::executor::CallExecutor;
use crate::scheduler::{UNLIMITED, run_all};
use crate::stubs::{ConstructorSections, object_candidates};

/// Number of ways to construct an object that are tried.
const CANDIDATES: usize = 16;
/// Rounds of construction: objects that contain objects that contain objects.
const ROUNDS: usize = 3;
/// Timeout of all constructions of one class.
const LONGEST: Duration = Duration::from_secs(10);

/// Recipes of objects that could be constructed, by class.
#[derive(Debug, Clone, Default)]
pub struct ObjectRecipes(BTreeMap<String, Vec<Recipe>>);

impl ObjectRecipes {
    /// One of the recipes of a class. The plainest come first.
    pub fn pick(&self, class: &str, draw: usize) -> Option<&Recipe> {
        let made = self.0.get(class)?;
        made.get(draw % made.len().max(1))
    }
}

/// Tries to construct an object of every class that owns a method or is the type of a parameter.
pub async fn find_object_recipes(
    executor: &Arc<dyn CallExecutor>,
    targets: &[CallableSection],
    seed: u64,
) -> Result<ObjectRecipes, SandboxError> {
    let constructors = ConstructorSections::of(targets);
    let mut classes: BTreeMap<String, (String, ValueShape)> = BTreeMap::new();
    for target in targets {
        let Some(SectionDescription::Callable { owner, parameters, .. }) = &target.described else {
            continue;
        };
        let taken = parameters.iter().map(|parameter| &parameter.shape);
        for shape in owner.iter().chain(taken).flat_map(objects_in) {
            if let ValueShape::Object { class, .. } = shape {
                classes.entry(class.clone()).or_insert_with(|| (target.module.clone(), shape.clone()));
            }
        }
    }
    let mut owners = ObjectRecipes::default();
    // Objects that contain other objects are constructed in later rounds, when the inner recipes are known.
    for _ in 0..ROUNDS {
        classes.retain(|class, _| !owners.0.contains_key(class));
        try_all(executor, &classes, seed, &constructors, &mut owners).await?;
    }
    Ok(owners)
}

/// All objects that a shape contains, itself included.
fn objects_in(shape: &ValueShape) -> Vec<&ValueShape> {
    let inner: Vec<&ValueShape> = match shape {
        ValueShape::Object { parameters, .. } => {
            parameters.iter().map(|parameter| &parameter.shape).collect()
        }
        ValueShape::Union { of } => of.iter().collect(),
        ValueShape::List { of }
        | ValueShape::Set { of }
        | ValueShape::FrozenSet { of }
        | ValueShape::Deque { of }
        | ValueShape::Iterator { of }
        | ValueShape::AsyncIterator { of } => vec![of],
        ValueShape::Dict { value, .. } => vec![value],
        ValueShape::Tuple { items, of } => items.iter().flatten().chain(of.as_deref()).collect(),
        ValueShape::TypedDict { fields } => fields.iter().map(|field| &field.shape).collect(),
        _ => Vec::new(),
    };
    let itself = matches!(shape, ValueShape::Object { .. }).then_some(shape);
    itself.into_iter().chain(inner.into_iter().flat_map(objects_in)).collect()
}

async fn try_all(
    executor: &Arc<dyn CallExecutor>,
    classes: &BTreeMap<String, (String, ValueShape)>,
    seed: u64,
    constructors: &ConstructorSections,
    owners: &mut ObjectRecipes,
) -> Result<(), SandboxError> {
    let known = &*owners;
    let jobs = classes.iter().map(|(class, (module, shape))| {
        let candidates = object_candidates(class, shape, CANDIDATES, seed, constructors, known);
        let request = BuildRequest { module: module.clone(), recipes: candidates.clone() };
        let spec = CallSpec::new(HarnessRequest::Build(request)).timeout(LONGEST);
        let executor = Arc::clone(executor);
        let class = class.clone();
        async move { Ok::<_, SandboxError>((class, candidates, executor.execute(&spec).await?)) }
    });
    let tried = run_all(UNLIMITED, jobs, || {}).await?;
    for (class, candidates, outcome) in tried {
        let works = match outcome.reply {
            Some(HarnessReply::Build(StagedReply::Done(reply))) => reply.made,
            _ => Vec::new(),
        };
        let made: Vec<Recipe> =
            candidates.into_iter().zip(works).filter(|(_, works)| *works).map(|(recipe, _)| recipe).collect();
        if !made.is_empty() {
            owners.0.insert(class, made);
        }
    }
    Ok(())
}
