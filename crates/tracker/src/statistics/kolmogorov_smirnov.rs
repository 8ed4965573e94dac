//! Two-sample Kolmogorov-Smirnov test.

/// Result of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KolmogorovSmirnov {
    /// Greatest distance between the two empirical distributions.
    pub statistic: f64,
    /// Exact p-value.
    pub p_value: f64,
}

/// Compares two samples; `None` if one of them is empty.
pub fn kolmogorov_smirnov(a: &[f64], b: &[f64]) -> Option<KolmogorovSmirnov> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let sorted = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        values
    };
    let (a, b) = (sorted(a), sorted(b));
    let unit = greatest_common_divisor(a.len(), b.len());
    let (step_a, step_b) = (b.len() / unit, a.len() / unit);
    // Distances as integers in units of 1 / least common multiple, so that equal distances compare equal.
    let (mut at_a, mut at_b, mut greatest) = (0, 0, 0);
    while at_a < a.len() && at_b < b.len() {
        let value = a[at_a].min(b[at_b]);
        at_a += a[at_a..].iter().take_while(|next| **next <= value).count();
        at_b += b[at_b..].iter().take_while(|next| **next <= value).count();
        greatest = greatest.max((at_a * step_a).abs_diff(at_b * step_b));
    }
    let statistic = greatest as f64 / (a.len() * step_a) as f64;
    let p_value = exact_p_value(a.len(), b.len(), (step_a, step_b), greatest);
    Some(KolmogorovSmirnov { statistic, p_value })
}

/// Share of all orderings of two samples whose distributions are at least this far apart somewhere. Each ordering is a
/// lattice path from corner to corner; the shares of paths that leave the band are added up from the end.
fn exact_p_value(n: usize, m: usize, (step_n, step_m): (usize, usize), distance: usize) -> f64 {
    if distance == 0 {
        return 1.0;
    }
    let mut below = vec![0.0; m + 1];
    for i in (0..=n).rev() {
        let mut row = vec![0.0; m + 1];
        for j in (0..=m).rev() {
            row[j] = if (i * step_n).abs_diff(j * step_m) >= distance {
                1.0
            } else {
                let left = (n - i + m - j) as f64;
                let of_first = if i < n { (n - i) as f64 / left * below[j] } else { 0.0 };
                let of_second = if j < m { (m - j) as f64 / left * row[j + 1] } else { 0.0 };
                of_first + of_second
            };
        }
        below = row;
    }
    below[0]
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
