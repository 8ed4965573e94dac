//! Durations with units.

/// `12 ms`, `1.25 s`.
pub(crate) fn milliseconds(milliseconds: f64) -> String {
    if milliseconds < 1000.0 {
        format!("{milliseconds:.0} ms")
    } else {
        format!("{:.2} s", milliseconds / 1000.0)
    }
}

/// `1.87 ms`, `12.4 ms`, `310 ms`, `1.25 s`: three significant digits, for comparisons.
pub(crate) fn latency(milliseconds: f64) -> String {
    if milliseconds < 10.0 {
        format!("{milliseconds:.2} ms")
    } else if milliseconds < 100.0 {
        format!("{milliseconds:.1} ms")
    } else {
        self::milliseconds(milliseconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit_and_few_digits() {
        assert_eq!(milliseconds(12.4), "12 ms");
        assert_eq!(milliseconds(1250.0), "1.25 s");
        assert_eq!(latency(1.866), "1.87 ms");
        assert_eq!(latency(12.44), "12.4 ms");
        assert_eq!(latency(310.4), "310 ms");
        assert_eq!(latency(1250.0), "1.25 s");
    }
}
