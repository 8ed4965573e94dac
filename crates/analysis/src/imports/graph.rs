//! Queries on the import graph: cycles and dependencies.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

/// Strongly connected components of more than one module: each sorted by name, largest first.
pub(crate) fn cycles(names: &[String], edges: impl Iterator<Item = (usize, usize)>) -> Vec<Vec<String>> {
    let mut targets = vec![Vec::new(); names.len()];
    for (from, to) in edges {
        targets[from].push(to);
    }
    let mut cycles: Vec<Vec<String>> = strongly_connected_components(&targets)
        .into_iter()
        .filter(|component| component.len() > 1)
        .map(|component| {
            let mut cycle: Vec<String> = component.iter().map(|module| names[*module].clone()).collect();
            cycle.sort_unstable();
            cycle
        })
        .collect();
    cycles.sort_by(|left, right| right.len().cmp(&left.len()).then_with(|| left.cmp(right)));
    cycles
}

/// Tarjan's algorithm with its own stack: the longest chain of imports must not be limited by that of the thread.
fn strongly_connected_components(targets: &[Vec<usize>]) -> Vec<Vec<usize>> {
    /// Number of a module that was not visited yet.
    const UNVISITED: usize = usize::MAX;
    let mut numbers = vec![UNVISITED; targets.len()];
    // Smallest number that a module reaches among those whose component is still open.
    let mut lowest = numbers.clone();
    let mut is_open = vec![false; targets.len()];
    let (mut open, mut path, mut components) = (Vec::new(), Vec::new(), Vec::new());
    let mut visited = 0;
    for root in 0..targets.len() {
        if numbers[root] == UNVISITED {
            path.push((root, 0));
        }
        while let Some((module, next)) = path.pop() {
            if next == 0 {
                (numbers[module], lowest[module]) = (visited, visited);
                visited += 1;
                open.push(module);
                is_open[module] = true;
            } else {
                // Back from the target before this one, whose visit has ended, or which was visited already.
                let target = targets[module][next - 1];
                if is_open[target] {
                    lowest[module] = lowest[module].min(lowest[target]);
                }
            }
            if let Some(target) = targets[module].get(next) {
                path.push((module, next + 1));
                if numbers[*target] == UNVISITED {
                    path.push((*target, 0));
                }
            } else if lowest[module] == numbers[module] {
                let start = open.iter().rposition(|one| *one == module).expect("the module is still open");
                let component = open.split_off(start);
                for member in &component {
                    is_open[*member] = false;
                }
                components.push(component);
            }
        }
    }
    components
}

/// The modules that `start` needs, at most `depth` imports away, without `start` itself, nearest first.
pub(crate) fn local_dependencies(
    start: usize,
    depth: Option<usize>,
    targets_of: impl Fn(usize) -> Vec<usize>,
) -> Vec<usize> {
    let mut found = Vec::new();
    let mut seen = FxHashSet::from_iter([start]);
    let mut queue = VecDeque::from([(start, 0)]);
    while let Some((module, distance)) = queue.pop_front() {
        if depth.is_some_and(|limit| distance >= limit) {
            continue;
        }
        for target in targets_of(module) {
            if seen.insert(target) {
                found.push(target);
                queue.push_back((target, distance + 1));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_sorted_and_exclude_single_modules() {
        let names: Vec<String> = ["d", "c", "b", "a", "e"].map(str::to_owned).to_vec();
        let edges = [(0, 1), (1, 0), (1, 2), (2, 3), (3, 4), (4, 2)];
        let expected = [vec!["a", "b", "e"], vec!["c", "d"]];
        assert_eq!(cycles(&names, edges.into_iter()), expected);
    }

    #[test]
    fn components_are_the_modules_that_reach_each_other() {
        // Every graph of four modules.
        for edges in 0_u32..1 << 16 {
            let has = |from: usize, to: usize| edges >> (from * 4 + to) & 1 == 1;
            let targets: Vec<Vec<usize>> =
                (0..4).map(|from| (0..4).filter(|to| has(from, *to)).collect()).collect();
            let mut reaches: Vec<Vec<bool>> =
                (0..4).map(|from| (0..4).map(|to| from == to || has(from, to)).collect()).collect();
            for (between, from, to) in (0..64).map(|at| (at / 16, at / 4 % 4, at % 4)) {
                reaches[from][to] |= reaches[from][between] && reaches[between][to];
            }
            let mut component_of = [usize::MAX; 4];
            for (number, component) in strongly_connected_components(&targets).iter().enumerate() {
                for module in component {
                    assert_eq!(component_of[*module], usize::MAX, "{edges:b}: {module} is in two components");
                    component_of[*module] = number;
                }
            }
            for (from, to) in (0..16).map(|at| (at / 4, at % 4)) {
                let is_same = reaches[from][to] && reaches[to][from];
                assert_eq!(component_of[from] == component_of[to], is_same, "{edges:b}: {from}, {to}");
            }
        }
    }

    #[test]
    fn a_cycle_may_be_longer_than_the_stack_of_a_thread() {
        let names: Vec<String> = (0..200_000).map(|module| module.to_string()).collect();
        let edges = (0..names.len()).map(|module| (module, (module + 1) % names.len()));
        assert_eq!(cycles(&names, edges)[0].len(), names.len());
    }

    #[test]
    fn dependencies_stop_at_the_depth_and_survive_cycles() {
        let targets = |module: usize| vec![(module + 1) % 4];
        assert_eq!(local_dependencies(0, None, targets), [1, 2, 3]);
        assert_eq!(local_dependencies(0, Some(2), targets), [1, 2]);
        assert_eq!(local_dependencies(0, Some(0), targets), [0_usize; 0]);
    }
}
