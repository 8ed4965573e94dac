//! Guarantees of the module map, for every algorithm.

use proptest::prelude::*;

use super::*;
use crate::map::map_input::ModuleEdge;

const ALGORITHMS: [GroupingAlgorithm; 4] = [
    GroupingAlgorithm::Louvain,
    GroupingAlgorithm::Greedy,
    GroupingAlgorithm::Label,
    GroupingAlgorithm::Hdbscan,
];

fn edge(from: usize, to: usize, weight: f64) -> ModuleEdge {
    ModuleEdge { from, to, weight }
}

fn options(algorithm: GroupingAlgorithm) -> MapOptions {
    MapOptions { algorithm, ..MapOptions::default() }
}

/// Billing, networking, and a script related to neither.
fn shop() -> MapInput<'static> {
    let billing = "invoice tax customer payment amount";
    let network = "socket packet router connection latency";
    MapInput {
        paths: vec![
            "shop/billing/invoice.py",
            "shop/net/socket.py",
            "shop/billing/tax.py",
            "shop/net/router.py",
            "shop/billing/payment.py",
            "shop/net/packet.py",
            "scripts/release.py",
        ],
        edges: vec![
            edge(0, 2, 4.0),
            edge(0, 4, 3.0),
            edge(4, 2, 2.0),
            edge(1, 3, 2.0),
            edge(3, 5, 5.0),
            edge(5, 1, 2.0),
            edge(4, 1, 1.0),
        ],
        documents: vec![
            format!("{billing} number"),
            format!("{network} listen"),
            format!("{billing} rate"),
            format!("{network} route"),
            format!("{billing} card"),
            format!("{network} header"),
            "changelog upload".to_owned(),
        ],
    }
}

#[test]
fn every_algorithm_separates_billing_from_networking() {
    for algorithm in ALGORITHMS {
        let map = group(&shop(), &options(algorithm));
        let groups: Vec<(&str, usize)> =
            map.groups.iter().map(|group| (group.name.as_str(), group.modules.len())).collect();
        assert_eq!(groups, [("shop/billing", 3), ("shop/net", 3), ("scripts/release", 1)], "{algorithm}");
        assert_eq!(map.group_of("shop/net/packet.py").unwrap().id, 1);
        let expected_noise: &[&str] =
            if algorithm == GroupingAlgorithm::Hdbscan { &["scripts/release.py"] } else { &[] };
        assert_eq!(map.noise, expected_noise);
    }
}

#[test]
fn groups_have_a_centre_and_cohesion() {
    let map = group(&shop(), &options(GroupingAlgorithm::Louvain));
    assert_eq!(map.groups[0].central, "shop/billing/invoice.py");
    assert!((map.groups[0].cohesion - 9.0 / 10.0).abs() < 1e-12);
    assert_eq!(map.groups[2].central, "scripts/release.py");
    assert!(map.groups[2].cohesion.abs() < 1e-12);
}

#[test]
fn wording_relates_modules_without_imports() {
    let input = MapInput { edges: Vec::new(), ..shop() };
    let apart = group(&input, &options(GroupingAlgorithm::Louvain));
    assert_eq!(apart.groups.len(), 7);
    let together = group(&input, &MapOptions { semantic: true, ..options(GroupingAlgorithm::Louvain) });
    assert_eq!(together.groups.len(), 3);
    assert!(together.modularity > 0.4);
}

#[test]
fn an_empty_repository_has_an_empty_map() {
    for algorithm in ALGORITHMS {
        let map = group(&MapInput::default(), &MapOptions { semantic: true, ..options(algorithm) });
        assert!(map.groups.is_empty() && map.modules.is_empty() && map.modularity.abs() < 1e-12);
    }
}

#[test]
fn files_of_the_same_name_in_two_directories_stay_distinct() {
    let input = MapInput { paths: vec!["pkg_a/common.py", "pkg_b/common.py"], ..MapInput::default() };
    let map = group(&input, &MapOptions::default());
    assert_eq!(map.modules.keys().collect::<Vec<_>>(), ["pkg_a/common.py", "pkg_b/common.py"]);
    assert_eq!(map.groups[0].name, "pkg_a/common");
}

#[test]
fn survives_serialisation() {
    let map = group(&shop(), &MapOptions { threshold: f64::NAN, ..options(GroupingAlgorithm::Hdbscan) });
    let text = serde_json::to_string_pretty(&map).unwrap();
    assert_eq!(serde_json::from_str::<ModuleMap>(&text).unwrap(), map);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["version"], 1);
    assert_eq!(value["modules"]["shop/net/socket.py"], 1);
}

fn any_input() -> impl Strategy<Value = MapInput<'static>> {
    const PATHS: [&str; 9] =
        ["a.py", "a/b.py", "a/__init__.py", "c/d/e.py", "", "/", "ü.py", "a/c.py", "c/d/f.py"];
    let weight = prop_oneof![
        8 => 0.5..9.0_f64,
        1 => Just(f64::NAN),
        1 => Just(f64::MAX),
        1 => Just(-1.0),
    ];
    let edges = proptest::collection::vec((0_usize..14, 0_usize..14, weight), 0..30);
    let paths = proptest::collection::vec(proptest::sample::select(&PATHS[..]), 0..14);
    let documents = proptest::collection::vec("[a-c]{2}( [a-c]{2}){0,4}", 0..14);
    (paths, edges, documents).prop_map(|(paths, edges, documents)| MapInput {
        paths,
        edges: edges.into_iter().map(|(from, to, weight)| edge(from, to, weight)).collect(),
        documents,
    })
}

proptest! {
    #[test]
    fn every_module_is_in_exactly_one_group(
        input in any_input(),
        algorithm in proptest::sample::select(&ALGORITHMS[..]),
        threshold in prop_oneof![Just(f64::NAN), Just(-1.0), Just(7.0), 0.0..1.0_f64],
        semantic: bool,
        seed: u64,
    ) {
        let map = group(&input, &MapOptions { algorithm, threshold, semantic, seed });
        let mut listed: Vec<&str> =
            map.groups.iter().flat_map(|group| group.modules.iter().map(String::as_str)).collect();
        listed.sort_unstable();
        let mut given = input.paths.clone();
        given.sort_unstable();
        given.dedup();
        prop_assert_eq!(&listed, &given);
        prop_assert_eq!(&listed, &map.modules.keys().map(String::as_str).collect::<Vec<_>>());
        prop_assert!(map.modularity.is_finite());
        prop_assert!(map.groups.iter().all(|group| (0.0..=1.0).contains(&group.cohesion)));
        prop_assert!(map.groups.iter().all(|group| group.cohesion.is_sign_positive()));
        prop_assert!(map.groups.windows(2).all(|pair| pair[0].modules.len() >= pair[1].modules.len()));
    }

    #[test]
    fn scan_order_does_not_affect_the_map(
        rotation in 0_usize..7,
        algorithm in proptest::sample::select(&ALGORITHMS[..]),
        semantic: bool,
    ) {
        let original = shop();
        let mut shuffled = shop();
        shuffled.paths.rotate_left(rotation);
        shuffled.documents.rotate_left(rotation);
        shuffled.edges.reverse();
        for edge in &mut shuffled.edges {
            edge.from = (edge.from + 7 - rotation) % 7;
            edge.to = (edge.to + 7 - rotation) % 7;
        }
        let options = MapOptions { semantic, ..options(algorithm) };
        prop_assert_eq!(group(&original, &options), group(&shuffled, &options));
    }
}
