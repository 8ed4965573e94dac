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
    fn numbers_read_well() {
        assert_eq!(milliseconds(12.4), "12 ms");
        assert_eq!(milliseconds(1250.0), "1.25 s");
    }
}
