//! Numbers that have a unit or a range: sizes, rates, durations, shares.

use std::time::Duration;

use super::SettingValue;

/// A number of bytes. As in Docker and QEMU, `k`, `m`, `g` and `t` are powers of 1024, with or without `i` and `b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteCount(pub u64);

impl SettingValue for ByteCount {
    fn parse(text: &str) -> Option<Self> {
        let (number, unit) = split_unit(text);
        let bytes_per_unit = match unit.as_str() {
            "" | "b" => 1,
            "k" | "kb" | "ki" | "kib" => 1 << 10,
            "m" | "mb" | "mi" | "mib" => 1 << 20,
            "g" | "gb" | "gi" | "gib" => 1 << 30,
            "t" | "tb" | "ti" | "tib" => 1 << 40,
            _ => return None,
        };
        scaled(number, bytes_per_unit).map(Self)
    }

    fn accepted() -> String {
        "a size such as 512m, 2g or 1Gi (a plain number is bytes)".into()
    }
}

/// A rate in bits per second; `k`, `m` and `g` are powers of 1000, and `bps` means the same as `bit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitsPerSecond(pub u64);

impl SettingValue for BitsPerSecond {
    fn parse(text: &str) -> Option<Self> {
        let (number, unit) = split_unit(text);
        let bits_per_unit = match unit.as_str() {
            "" | "bit" | "bps" => 1,
            "k" | "kbit" | "kbps" => 1_000,
            "m" | "mbit" | "mbps" => 1_000_000,
            "g" | "gbit" | "gbps" => 1_000_000_000,
            _ => return None,
        };
        scaled(number, bits_per_unit).map(Self)
    }

    fn accepted() -> String {
        "a rate such as 512kbit, 10Mbps or 1Gbit (a plain number is bits per second)".into()
    }
}

impl SettingValue for Duration {
    fn parse(text: &str) -> Option<Self> {
        const SECOND: u64 = 1_000;
        let (number, unit) = split_unit(text);
        let milliseconds_per_unit = match unit.as_str() {
            "ms" => 1,
            "" | "s" => SECOND,
            "m" | "min" => 60 * SECOND,
            "h" => 3_600 * SECOND,
            "d" => 86_400 * SECOND,
            "w" => 7 * 86_400 * SECOND,
            _ => return None,
        };
        scaled(number, milliseconds_per_unit).map(Self::from_millis)
    }

    fn accepted() -> String {
        "a duration such as 90, 500ms, 15m, 12h or 7d (a plain number is seconds)".into()
    }
}

/// Splits `1.5 Gi` into `1.5` and `gi`.
fn split_unit(text: &str) -> (&str, String) {
    let text = text.trim();
    let end =
        text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim().to_ascii_lowercase())
}

/// Multiplies a decimal number without floating point, so that large sizes stay exact.
fn scaled(number: &str, factor: u64) -> Option<u64> {
    const MOST_DECIMALS: usize = 9;
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    if decimals.is_empty() || decimals.len() > MOST_DECIMALS {
        return None;
    }
    let whole_part = whole.parse::<u64>().ok()?.checked_mul(factor)?;
    let denominator = 10_u128.pow(u32::try_from(decimals.len()).ok()?);
    let decimal_part = u128::from(decimals.parse::<u64>().ok()?) * u128::from(factor) / denominator;
    whole_part.checked_add(u64::try_from(decimal_part).ok()?)
}

/// Declares number types with a range and an optional unit.
macro_rules! bounded_numbers {
    ($($(#[$meta:meta])* $name:ident: $range:expr, $unit:literal, $accepted:literal;)+) => {
        $(
            $(#[$meta])*
            #[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
            pub struct $name(f64);

            impl $name {
                /// The number.
                pub const fn get(self) -> f64 {
                    self.0
                }
            }

            impl SettingValue for $name {
                fn parse(text: &str) -> Option<Self> {
                    let text = text.trim();
                    let number = f64::parse(text.strip_suffix($unit).unwrap_or(text))?;
                    $range.contains(&number).then_some(Self(number))
                }

                fn accepted() -> String {
                    $accepted.into()
                }
            }
        )+
    };
}

bounded_numbers! {
    /// A share or a confidence, 0…1.
    Probability: (0.0..=1.0), "", "a number from 0 to 1";
    /// A share in percent.
    Percent: (0.0..=100.0), "%", "a number from 0 to 100, in percent";
    /// CPU cores, fractions allowed.
    Cores: (f64::MIN_POSITIVE..=f64::MAX), "", "a number of cores above 0, such as 0.5 or 2";
    /// A time in milliseconds.
    Milliseconds: (0.0..=f64::MAX), "ms", "a number of milliseconds of at least 0";
    /// Power in watts.
    Watts: (0.0..=f64::MAX), "W", "a number of watts of at least 0";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_binary_and_exact() {
        let cases = [
            ("0", Some(0)),
            ("512m", Some(512 << 20)),
            ("512Mi", Some(512 << 20)),
            ("2g", Some(2 << 30)),
            ("2G", Some(2 << 30)),
            (" 1 GiB ", Some(1 << 30)),
            ("1.5k", Some(1536)),
            ("16777215t", Some(16_777_215 << 40)),
            ("16777216t", None),
            ("-1", None),
            ("1.", None),
            (".5g", None),
            ("1.2.3", None),
            ("2 parsecs", None),
            ("g", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(ByteCount::parse(text), expected.map(ByteCount), "{text:?}");
        }
    }

    #[test]
    fn rates_are_decimal_bits() {
        for (text, expected) in [
            ("10Mbps", Some(10_000_000)),
            ("512kbit", Some(512_000)),
            ("1.5gbit", Some(1_500_000_000)),
            ("10MB", None),
        ] {
            assert_eq!(BitsPerSecond::parse(text), expected.map(BitsPerSecond), "{text:?}");
        }
    }

    #[test]
    fn durations_without_a_unit_are_seconds() {
        let cases = [
            ("1800", Some(Duration::from_mins(30))),
            ("7d", Some(Duration::from_hours(7 * 24))),
            ("1.5h", Some(Duration::from_mins(90))),
            ("250ms", Some(Duration::from_millis(250))),
            ("0.25", Some(Duration::from_millis(250))),
            ("-5", None),
            ("soon", None),
        ];
        for (text, expected) in cases {
            assert_eq!(Duration::parse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn numbers_outside_their_range_are_rejected() {
        assert_eq!(Probability::parse("0.95").map(Probability::get), Some(0.95));
        assert_eq!(Probability::parse("95"), None);
        assert_eq!(Percent::parse("5 %").map(Percent::get), Some(5.0));
        assert_eq!(Percent::parse("101"), None);
        assert_eq!(Milliseconds::parse("200ms").map(Milliseconds::get), Some(200.0));
        assert_eq!(Milliseconds::parse("-1"), None);
        assert_eq!(Cores::parse("0"), None);
        assert_eq!(Cores::parse("0.5").map(Cores::get), Some(0.5));
        assert_eq!(Watts::parse("inf"), None);
    }
}
