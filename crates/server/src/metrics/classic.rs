//! The text that every version of Prometheus reads. What our library writes is `OpenMetrics`, in which a counter is declared under
//! a name without its `_total`, which `promtool` and older readers do not know.

use std::collections::BTreeSet;

/// What the text is, for those who ask.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Endings that a reader takes for something else than a plain value. Names of the first editions have them all the same, so
/// nothing is said about what they are.
const RESERVED: [&str; 4] = ["_total", "_count", "_sum", "_bucket"];

/// The same values as `OpenMetrics` has them.
pub(crate) fn classic(open_metrics: &str) -> String {
    let counters: BTreeSet<&str> = open_metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"))
        .collect();
    let named = |name: &str| {
        if counters.contains(name) { format!("{name}_total") } else { name.to_owned() }
    };
    let mut text = String::with_capacity(open_metrics.len());
    for line in open_metrics.lines() {
        let said = if let Some((name, help)) = declared(line, "# HELP ") {
            format!("# HELP {} {help}", named(name))
        } else if let Some((name, kind)) = declared(line, "# TYPE ") {
            let is_odd = kind == "gauge" && RESERVED.iter().any(|ending| name.ends_with(ending));
            let kind = if is_odd || kind == "unknown" { "untyped" } else { kind };
            format!("# TYPE {} {kind}", named(name))
        } else if line.starts_with('#') {
            continue;
        } else {
            line.to_owned()
        };
        text.push_str(&said);
        text.push('\n');
    }
    text
}

fn declared<'a>(line: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    line.strip_prefix(word)?.split_once(' ')
}

#[cfg(test)]
mod tests {
    use super::classic;

    #[test]
    fn counters_have_their_whole_name_and_odd_names_no_kind() {
        let open = "# HELP made Things made.\n# TYPE made counter\nmade_total{a=\"b\"} 2\n# HELP took_seconds Time.\n\
            # TYPE took_seconds histogram\n# UNIT took_seconds seconds\ntook_seconds_sum 1\n\
            # HELP active_container_count There.\n# TYPE active_container_count gauge\nactive_container_count 1\n# EOF\n";
        let expected = "# HELP made_total Things made.\n# TYPE made_total counter\nmade_total{a=\"b\"} 2\n\
            # HELP took_seconds Time.\n# TYPE took_seconds histogram\ntook_seconds_sum 1\n\
            # HELP active_container_count There.\n# TYPE active_container_count untyped\nactive_container_count 1\n";
        assert_eq!(classic(open), expected);
    }
}
