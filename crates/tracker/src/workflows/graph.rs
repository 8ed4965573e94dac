//! Dependency graph of workflows.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use menace_model::{ErrorClass, ErrorDetails};
use serde::Serialize;
use thiserror::Error;

/// Workflows and the strength of their dependencies.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkflowGraph {
    /// Edges from a workflow to its dependents, with the share of the dependent that is affected.
    edges: BTreeMap<String, BTreeMap<String, f64>>,
    nodes: BTreeSet<String>,
}

/// Impact of a change on a workflow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct WorkflowImpact {
    /// Change of its ROI.
    pub roi: f64,
    /// Change of its synergy.
    pub synergy: f64,
    /// Number of edges from the changed workflow.
    pub distance: usize,
}

/// An invalid query.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WorkflowGraphError {
    /// An unknown workflow.
    #[error("no workflow named '{0}'")]
    Unknown(String),
    /// A change that is not a finite number.
    #[error("a change must be a finite number")]
    NotFinite,
}

impl ErrorDetails for WorkflowGraphError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Unknown(_) => ErrorClass::NotFound,
            Self::NotFinite => ErrorClass::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown(_) => Some("list them with 'menace workflows list'".into()),
            Self::NotFinite => None,
        }
    }
}

impl WorkflowGraph {
    /// Builds the graph from workflows and the modules of their steps. A later workflow depends on an earlier one by the
    /// share of its modules that both have in common, so the graph is acyclic. `imports` are the dependencies of modules;
    /// they count as modules of the dependent workflow.
    pub fn new(
        workflows: &[(String, BTreeSet<String>)],
        imports: &BTreeMap<String, BTreeSet<String>>,
    ) -> Self {
        let mut graph =
            Self { nodes: workflows.iter().map(|(name, _)| name.clone()).collect(), ..Self::default() };
        let needed: Vec<BTreeSet<String>> =
            workflows.iter().map(|(_, modules)| with_imports(modules, imports)).collect();
        for (at, (name, modules)) in workflows.iter().enumerate() {
            for (later, (dependent, _)) in workflows.iter().enumerate().skip(at + 1) {
                let common = modules.intersection(&needed[later]).count();
                if common > 0 && !needed[later].is_empty() {
                    let share = common as f64 / needed[later].len() as f64;
                    graph.edges.entry(name.clone()).or_default().insert(dependent.clone(), share);
                }
            }
        }
        graph
    }

    /// Names of the workflows.
    pub fn workflows(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(String::as_str)
    }

    /// Propagates a change of a workflow to all its direct and indirect dependents. Impacts over several paths add up.
    pub fn simulate_impact_wave(
        &self,
        workflow: &str,
        roi: f64,
        synergy: f64,
    ) -> Result<BTreeMap<String, WorkflowImpact>, WorkflowGraphError> {
        if !self.nodes.contains(workflow) {
            return Err(WorkflowGraphError::Unknown(workflow.to_owned()));
        }
        if !(roi.is_finite() && synergy.is_finite()) {
            return Err(WorkflowGraphError::NotFinite);
        }
        let mut impacts =
            BTreeMap::from([(workflow.to_owned(), WorkflowImpact { roi, synergy, distance: 0 })]);
        for name in self.in_order(workflow) {
            let Some(impact) = impacts.get(&name).copied() else { continue };
            for (dependent, share) in self.edges.get(&name).into_iter().flatten() {
                let first = WorkflowImpact { distance: impact.distance + 1, ..WorkflowImpact::default() };
                let reached = impacts.entry(dependent.clone()).or_insert(first);
                reached.roi += share * impact.roi;
                reached.synergy += share * impact.synergy;
                reached.distance = reached.distance.min(impact.distance + 1);
            }
        }
        Ok(impacts)
    }

    /// Reachable workflows in topological order.
    fn in_order(&self, from: &str) -> Vec<String> {
        let mut waits: BTreeMap<&str, usize> = BTreeMap::new();
        let mut ahead = vec![from];
        let mut reached = BTreeSet::from([from]);
        while let Some(name) = ahead.pop() {
            for dependent in self.edges.get(name).into_iter().flatten().map(|(name, _)| name.as_str()) {
                *waits.entry(dependent).or_default() += 1;
                if reached.insert(dependent) {
                    ahead.push(dependent);
                }
            }
        }
        let mut ready = VecDeque::from([from]);
        let mut order = Vec::new();
        while let Some(name) = ready.pop_front() {
            order.push(name.to_owned());
            for dependent in self.edges.get(name).into_iter().flatten().map(|(name, _)| name.as_str()) {
                if let Some(left) = waits.get_mut(dependent) {
                    *left -= 1;
                    if *left == 0 {
                        ready.push_back(dependent);
                    }
                }
            }
        }
        order
    }
}

/// Modules with all their transitive imports.
fn with_imports(
    modules: &BTreeSet<String>,
    imports: &BTreeMap<String, BTreeSet<String>>,
) -> BTreeSet<String> {
    let mut all = modules.clone();
    let mut ahead: Vec<&String> = modules.iter().collect();
    while let Some(module) = ahead.pop() {
        for needed in imports.get(module).into_iter().flatten() {
            if all.insert(needed.clone()) {
                ahead.push(needed);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workflow(name: &str, modules: &[&str]) -> (String, BTreeSet<String>) {
        (name.to_owned(), modules.iter().map(|module| (*module).to_owned()).collect())
    }

    #[test]
    fn impacts_shrink_with_distance_and_add_up_over_paths() {
        let workflows = [
            workflow("a", &["m"]),
            workflow("b", &["m", "n"]),
            workflow("c", &["n", "m"]),
            workflow("d", &["z"]),
        ];
        let graph = WorkflowGraph::new(&workflows, &BTreeMap::new());
        let wave = graph.simulate_impact_wave("a", 1.0, -0.5).unwrap();
        assert_eq!(wave.keys().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert!((wave["b"].roi - 0.5).abs() < 1e-12 && wave["b"].distance == 1);
        // Half directly, and all of the impact on b.
        assert!((wave["c"].roi - 1.0).abs() < 1e-12 && (wave["c"].synergy + 0.5).abs() < 1e-12, "{wave:?}");
    }

    #[test]
    fn imports_are_dependencies() {
        let workflows = [workflow("base", &["core"]), workflow("shop", &["cart"])];
        let imports = BTreeMap::from([("cart".to_owned(), BTreeSet::from(["core".to_owned()]))]);
        let graph = WorkflowGraph::new(&workflows, &imports);
        assert!((graph.simulate_impact_wave("base", 1.0, 0.0).unwrap()["shop"].roi - 0.5).abs() < 1e-12);
    }

    #[test]
    fn unknown_workflows_and_infinite_changes_are_rejected() {
        let graph = WorkflowGraph::new(&[workflow("a", &["m"])], &BTreeMap::new());
        assert_eq!(graph.simulate_impact_wave("x", 1.0, 0.0), Err(WorkflowGraphError::Unknown("x".into())));
        assert_eq!(graph.simulate_impact_wave("a", f64::NAN, 0.0), Err(WorkflowGraphError::NotFinite));
    }
}
