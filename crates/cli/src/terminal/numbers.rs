//! Durations with units.

/// `12 ms`, `1.25 s`.
pub(crate) fn milliseconds(milliseconds: f64) -> String {
    if milliseconds < 1000.0 {
        format!("{milliseconds:.0} ms")
    } else {
        format!("{:.2} s", milliseconds / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit_and_few_digits() {
        assert_eq!(milliseconds(12.4), "12 ms");
        assert_eq!(milliseconds(1250.0), "1.25 s");
    }
}
