//! The graph of workflows: which use what others change.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::Serialize;
use thiserror::Error;

/// Workflows, and how much each depends on others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkflowGraph {
    /// From a workflow to those that depend on it, with the share of them that does.
    edges: BTreeMap<String, BTreeMap<String, f64>>,
    nodes: BTreeSet<String>,
}

/// What a change does to a workflow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Impact {
    /// The change of its ROI.
    pub roi: f64,
    /// The change of its synergy.
    pub synergy: f64,
    /// How many workflows are between.
    pub distance: usize,
}

/// What is wrong with a question.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GraphError {
    /// There is no such workflow.
    #[error("there is no workflow '{0}'")]
    Unknown(String),
    /// A change that is no number.
    #[error("a change is a finite number")]
    NotFinite,
}

impl WorkflowGraph {
    /// The graph of workflows and the modules of their steps. Those that share modules depend on each other, the later on the
    /// earlier, by the share of its modules that it has in common; so there are no circles. `imports` are the modules that a
    /// module needs, whose change it feels, too.
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

    /// The workflows.
    pub fn workflows(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(String::as_str)
    }

    /// What a change of a workflow does to all that depend on it, directly or through others. What arrives on several ways
    /// is added.
    pub fn simulate_impact_wave(
        &self,
        workflow: &str,
        roi: f64,
        synergy: f64,
    ) -> Result<BTreeMap<String, Impact>, GraphError> {
        if !self.nodes.contains(workflow) {
            return Err(GraphError::Unknown(workflow.to_owned()));
        }
        if !(roi.is_finite() && synergy.is_finite()) {
            return Err(GraphError::NotFinite);
        }
        let mut impacts = BTreeMap::from([(workflow.to_owned(), Impact { roi, synergy, distance: 0 })]);
        for name in self.in_order(workflow) {
            let Some(impact) = impacts.get(&name).copied() else { continue };
            for (dependent, share) in self.edges.get(&name).into_iter().flatten() {
                let first = Impact { distance: impact.distance + 1, ..Impact::default() };
                let reached = impacts.entry(dependent.clone()).or_insert(first);
                reached.roi += share * impact.roi;
                reached.synergy += share * impact.synergy;
                reached.distance = reached.distance.min(impact.distance + 1);
            }
        }
        Ok(impacts)
    }

    /// What can be reached, each after all that it depends on.
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

/// Modules and all that they need.
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
    fn a_wave_gets_smaller_and_adds_up() {
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
        // Half directly, and all of what b lost.
        assert!((wave["c"].roi - 1.0).abs() < 1e-12 && (wave["c"].synergy + 0.5).abs() < 1e-12, "{wave:?}");
    }

    #[test]
    fn what_is_imported_is_felt() {
        let workflows = [workflow("base", &["core"]), workflow("shop", &["cart"])];
        let imports = BTreeMap::from([("cart".to_owned(), BTreeSet::from(["core".to_owned()]))]);
        let graph = WorkflowGraph::new(&workflows, &imports);
        assert!((graph.simulate_impact_wave("base", 1.0, 0.0).unwrap()["shop"].roi - 0.5).abs() < 1e-12);
    }

    #[test]
    fn what_is_not_there_is_named() {
        let graph = WorkflowGraph::new(&[workflow("a", &["m"])], &BTreeMap::new());
        assert_eq!(graph.simulate_impact_wave("x", 1.0, 0.0), Err(GraphError::Unknown("x".into())));
        assert_eq!(graph.simulate_impact_wave("a", f64::NAN, 0.0), Err(GraphError::NotFinite));
    }
}
