//! report.html: one file without scripts and without external resources.

use std::fmt::Write as _;

use menace_store::{PatchRecord, PatchState};

use super::cycle_summary::ModuleCycleSummary;
use super::run_report::{AutoRunReport, share, spent, unmet_condition};

const STYLE: &str = "
:root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --bad: #b3261e; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums }
.kept { color: var(--good) } .rejected { color: var(--bad) }
pre { overflow-x: auto; padding: .6rem; border: 1px solid var(--line); border-radius: 4px; font-size: 13px }
ins { text-decoration: none; color: var(--good) } del { text-decoration: none; color: var(--bad) }
svg { max-width: 100%; height: auto } details { margin: .4rem 0 }
";

/// The page.
pub(super) fn html(finished: &AutoRunReport) -> String {
    let mut page = String::new();
    let kept = finished.kept();
    let _ = write!(
        page,
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>menace {run}</title><style>{STYLE}</style><h1>{run}</h1>\
         <p>{repository}: {proposals} proposals, <b>{kept} kept</b> on branch <code>{branch}</code>. Cost: {cost}. Stopped: {stopped}</p>",
        run = escaped(&finished.run),
        repository = escaped(&finished.repository),
        proposals = finished.patches.len(),
        branch = escaped(&finished.branch),
        cost = escaped(&spent(&finished.cost)),
        stopped = escaped(&finished.stopped),
    );
    cycles(&mut page, finished);
    modules(&mut page, finished);
    page.push_str("<h2>Patches</h2>");
    for patch in &finished.patches {
        self::patch(&mut page, patch);
    }
    page.push_str("</html>\n");
    page
}

fn cycles(page: &mut String, finished: &AutoRunReport) {
    page.push_str("<h2>Cycles</h2>");
    page.push_str(&plot(&finished.cycles.iter().filter_map(|cycle| cycle.roi).collect::<Vec<_>>()));
    page.push_str("<table><tr><th class=number>cycle<th class=number>calls<th class=number>failures<th class=number>ROI<th class=number>forecast<th class=number>time");
    for (number, cycle) in finished.cycles.iter().enumerate() {
        let roi = cycle.roi.map_or("–".to_owned(), |roi| format!("{roi:.3}"));
        let next = cycle.forecast.map_or("–".to_owned(), |(value, interval)| {
            let interval = interval.map_or(String::new(), |(low, high)| format!(" ({low:.3} … {high:.3})"));
            format!("{value:.3}{interval}")
        });
        let _ = write!(
            page,
            "<tr><td class=number>{}<td class=number>{}<td class=number>{}<td class=number>{roi}<td class=number>{next}<td class=number>{:.0} s",
            number + 1,
            cycle.calls,
            cycle.failures,
            cycle.seconds
        );
    }
    page.push_str("</table>");
}

fn modules(page: &mut String, finished: &AutoRunReport) {
    page.push_str(
        "<h2>Modules</h2><table><tr><th>module<th>robustness before (95 %)<th>robustness after (95 %)<th class=number>ROI before<th class=number>ROI after<th class=number>kept<th class=number>rejected<th>complete",
    );
    let roi = |seen: &ModuleCycleSummary| seen.roi.map_or("–".to_owned(), |roi| format!("{roi:.3}"));
    for change in &finished.modules {
        let _ = write!(
            page,
            "<tr><td>{}<td>{}<td>{}<td class=number>{}<td class=number>{}<td class=number>{}<td class=number>{}<td>{}",
            escaped(&change.module),
            share(&change.before),
            share(&change.after),
            roi(&change.before),
            roi(&change.after),
            change.kept,
            change.rejected,
            escaped(change.after.complete.as_deref().unwrap_or("no"))
        );
    }
    page.push_str("</table>");
}

fn patch(page: &mut String, patch: &PatchRecord) {
    let is_kept = patch.state == PatchState::Kept;
    let state = if is_kept { "kept" } else { "rejected" };
    let why = &patch.detail.why;
    let reason = if is_kept { String::new() } else { format!(" ({})", escaped(&unmet_condition(patch))) };
    let _ = write!(
        page,
        "<details{open}><summary><b class={state}>{state}</b> {section} · {proposer}: {why}{reason}</summary>",
        open = if is_kept { " open" } else { "" },
        section = escaped(&patch.section),
        proposer = escaped(&patch.proposer),
        why = escaped(why),
    );
    page.push_str("<table><tr><th class=number>#<th>condition<th>result<th>value");
    for condition in &patch.verdict.verdict.conditions {
        let _ = write!(
            page,
            "<tr><td class=number>{}<td>{}<td>{}<td>{}",
            condition.number,
            escaped(&condition.name),
            condition.state.name(),
            escaped(&condition.figure)
        );
    }
    page.push_str("</table><pre>");
    for line in patch.detail.diff.lines() {
        let tag = match line.as_bytes().first() {
            Some(b'+') => "ins",
            Some(b'-') => "del",
            _ => "span",
        };
        let _ = writeln!(page, "<{tag}>{}</{tag}>", escaped(line));
    }
    page.push_str("</pre></details>");
}

/// Line chart. The vertical axis covers 0 to 1, or more if the values exceed it.
fn plot(values: &[f64]) -> String {
    let (Some(low), Some(high)) =
        (values.iter().copied().reduce(f64::min), values.iter().copied().reduce(f64::max))
    else {
        return String::new();
    };
    let (low, high) = (low.min(0.0), high.max(1.0));
    let (width, height) = (640.0, 160.0);
    let at = |number: usize| 40.0 + (width - 60.0) * number as f64 / (values.len().max(2) - 1) as f64;
    let of = |value: f64| height - 20.0 - (height - 40.0) * (value - low) / (high - low);
    let points: Vec<String> = values
        .iter()
        .enumerate()
        .map(|(number, value)| format!("{:.1},{:.1}", at(number), of(*value)))
        .collect();
    let marks: String = values
        .iter()
        .enumerate()
        .map(|(number, value)| {
            format!("<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"currentColor\"><title>{value:.3}</title></circle>", at(number), of(*value))
        })
        .collect();
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"ROI by cycle\">\
         <text x=\"4\" y=\"{:.1}\" font-size=\"11\" fill=\"currentColor\">{low:.1}</text>\
         <text x=\"4\" y=\"{:.1}\" font-size=\"11\" fill=\"currentColor\">{high:.1}</text>\
         <polyline fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\" points=\"{}\"/>{marks}</svg>",
        of(low),
        of(high),
        points.join(" ")
    )
}

/// Escapes text for HTML.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_text_is_escaped() {
        assert_eq!(escaped("<script>\"a\" & 'b'"), "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;");
    }

    #[test]
    fn the_chart_covers_all_values() {
        assert_eq!(plot(&[]), "");
        let two = plot(&[0.0, 1.0]);
        assert!(two.contains("points=\"40.0,140.0 620.0,20.0\""), "{two}");
        assert!(plot(&[0.5]).contains("<circle"));
    }
}
