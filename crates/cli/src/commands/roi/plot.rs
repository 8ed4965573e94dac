//! Bar charts in the terminal and as SVG.

use std::fmt::Write as _;

use menace_tracker::history::SynergySummary;

/// Length of the longest bar in characters.
const LONGEST: usize = 40;
/// Eighths of a character, fullest last.
const PARTS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// One bar per metric: to the right for positive values, to the left for negative ones.
pub(super) fn bars(rows: &[SynergySummary]) -> String {
    let most = rows.iter().map(|row| row.average.abs()).fold(0.0, f64::max);
    let name = rows.iter().map(|row| row.metric.chars().count()).max().unwrap_or(0);
    let half = LONGEST / 2;
    rows.iter()
        .map(|row| {
            let share = if most > 0.0 { row.average.abs() / most } else { 0.0 };
            let bar = bar(share, half);
            let (left, right) = if row.average < 0.0 {
                // Whole characters only: no block character is empty on its left side.
                ("█".repeat(bar.chars().count()), String::new())
            } else {
                (String::new(), bar)
            };
            format!("{:<name$}  {left:>half$}│{right:<half$}  {:+.3}\n", row.metric, row.average)
        })
        .collect()
}

fn bar(share: f64, width: usize) -> String {
    let parts = PARTS.len();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a few characters"
    )]
    let eighths = (share.clamp(0.0, 1.0) * (width * parts) as f64).round() as usize;
    let mut text = "█".repeat(eighths / parts);
    if let Some(part) = (eighths % parts).checked_sub(1) {
        text.push(PARTS[part]);
    }
    text
}

/// The same chart as SVG.
pub(super) fn svg(rows: &[SynergySummary]) -> String {
    const ROW: usize = 24;
    let most = rows.iter().map(|row| row.average.abs()).fold(f64::MIN_POSITIVE, f64::max);
    let height = rows.len() * ROW + 16;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 {height}\" font-family=\"sans-serif\" \
         font-size=\"12\" role=\"img\" aria-label=\"synergy\">\n\
         <line x1=\"420\" y1=\"4\" x2=\"420\" y2=\"{}\" stroke=\"#888\"/>\n",
        height - 4
    );
    for (at, row) in rows.iter().enumerate() {
        let (y, width) = (8 + at * ROW, row.average.abs() / most * 160.0);
        let (x, colour) = if row.average < 0.0 { (420.0 - width, "#c0392b") } else { (420.0, "#27ae60") };
        let _ = writeln!(
            text,
            "<text x=\"8\" y=\"{}\">{}</text><rect x=\"{x:.1}\" y=\"{}\" width=\"{width:.1}\" height=\"16\" \
             fill=\"{colour}\"><title>{:+.4}</title></rect><text x=\"590\" y=\"{}\">{:+.3}</text>",
            y + 12,
            escaped(&row.metric),
            y,
            row.average,
            y + 12,
            row.average
        );
    }
    text + "</svg>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(metric: &str, average: f64) -> SynergySummary {
        SynergySummary { metric: metric.into(), last: average, average, count: 3 }
    }

    #[test]
    fn bars_have_the_length_and_side_of_their_values() {
        let drawn = bars(&[row("synergy_roi", 0.5), row("synergy_x", -0.25), row("y", 0.0)]);
        let lines: Vec<&str> = drawn.lines().collect();
        let filled = |line: &str| line.matches('█').count();
        assert_eq!((filled(lines[0]), filled(lines[1]), filled(lines[2])), (20, 10, 0));
        assert!(
            lines[0].find('│') < lines[0].find('█') && lines[1].find('█') < lines[1].find('│'),
            "{drawn}"
        );
        assert_eq!(bar(0.5, 1), "▌");
    }

    #[test]
    fn an_svg_has_a_bar_per_metric_and_escapes_names() {
        let picture = svg(&[row("a<b", 1.0), row("c", -1.0)]);
        assert_eq!(picture.matches("<rect").count(), 2);
        assert!(picture.contains("a&lt;b") && !picture.contains("a<b"));
    }
}
