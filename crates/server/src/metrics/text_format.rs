//! Prometheus text format 0.0.4. `prometheus-client` writes `OpenMetrics`, which declares counters without their `_total`
//! suffix; `promtool` and older versions of Prometheus do not accept that.

use std::collections::BTreeSet;

/// Content type of the text.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Suffixes reserved for counters, histograms and summaries. Some gauges of the first edition have them; those are declared
/// as untyped.
const RESERVED: [&str; 4] = ["_total", "_count", "_sum", "_bucket"];

/// Converts `OpenMetrics` text to the classic format.
pub(crate) fn classic(open_metrics: &str) -> String {
    let counters: BTreeSet<&str> = open_metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"))
        .collect();
    let full_name = |name: &str| {
        if counters.contains(name) { format!("{name}_total") } else { name.to_owned() }
    };
    let mut text = String::with_capacity(open_metrics.len());
    for line in open_metrics.lines() {
        let converted = if let Some((name, help)) = declaration(line, "# HELP ") {
            format!("# HELP {} {help}", full_name(name))
        } else if let Some((name, kind)) = declaration(line, "# TYPE ") {
            let is_misnamed = kind == "gauge" && RESERVED.iter().any(|ending| name.ends_with(ending));
            let kind = if is_misnamed || kind == "unknown" { "untyped" } else { kind };
            format!("# TYPE {} {kind}", full_name(name))
        } else if line.starts_with('#') {
            continue;
        } else {
            line.to_owned()
        };
        text.push_str(&converted);
        text.push('\n');
    }
    text
}

fn declaration<'a>(line: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    line.strip_prefix(word)?.split_once(' ')
}

#[cfg(test)]
mod tests {
    use super::classic;

    #[test]
    fn counters_keep_their_suffix_and_misnamed_gauges_are_untyped() {
        let open = "# HELP made Things made.\n# TYPE made counter\nmade_total{a=\"b\"} 2\n# HELP took_seconds Time.\n\
            # TYPE took_seconds histogram\n# UNIT took_seconds seconds\ntook_seconds_sum 1\n\
            # HELP active_container_count There.\n# TYPE active_container_count gauge\nactive_container_count 1\n# EOF\n";
        let expected = "# HELP made_total Things made.\n# TYPE made_total counter\nmade_total{a=\"b\"} 2\n\
            # HELP took_seconds Time.\n# TYPE took_seconds histogram\ntook_seconds_sum 1\n\
            # HELP active_container_count There.\n# TYPE active_container_count untyped\nactive_container_count 1\n";
        assert_eq!(classic(open), expected);
    }
}
