//! Sizes, CPU shares, durations and users in requests: a number, or a string with a unit. The patterns of the `OpenAPI`
//! document must match the parsers, so both are defined here.

use std::time::Duration;

use menace_model::sandbox::SandboxUser;
use menace_model::settings::{ByteCount, SettingValue};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::json;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::schemas::schema_from_json;

/// Bytes, as a number or as text such as `2g`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ByteSize(pub u64);

/// CPU cores, as a number or as text.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CpuCores(pub f64);

/// A duration above zero, as seconds or as text such as `90s` or `10m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PositiveDuration(pub Duration);

/// `uid` or `uid:gid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserIds(pub SandboxUser);

/// Largest plain number of bytes, and largest number with a unit: more than any machine has, and small enough that no unit
/// overflows a `u64`.
const MAX_BYTES: u64 = 999_999_999_999_999;
const MAX_WITH_UNIT: u64 = 999_999;
/// Largest number of cores and of seconds, and the largest user id that every host can map.
const MAX_NUMBER: u32 = 999_999_999;

/// Pattern of a decimal number above zero, without leading zeros.
const POSITIVE: &str = r"([1-9][0-9]{0,8}(\.[0-9]{1,9})?|0\.[0-9]{0,8}[1-9])";

/// Expected values, as named in error messages.
const SIZE: &str = "a size such as 512m or 2g";
const SHARE: &str = "a number of cores above 0, such as 0.5";
const SPAN: &str = "a duration above 0, such as 30 (seconds), 500ms or 10m";
const USER: &str = "a user such as 1000 or 1000:1000";

impl ByteSize {
    fn of_text(text: &str) -> Option<Self> {
        let (number, unit) = decimal(text)?;
        let most = if matches!(unit, "" | "b" | "B") { MAX_BYTES } else { MAX_WITH_UNIT };
        let is_in_range = number.split('.').next()?.parse::<u64>().is_ok_and(|whole| whole <= most);
        // `ByteCount::parse` accepts `1 g` as well as `1g`.
        (is_in_range && has_few_decimals(number))
            .then(|| ByteCount::parse(text).map(|bytes| Self(bytes.0)))?
    }

    fn of_number(number: f64) -> Option<Self> {
        let is_whole = number.fract() == 0.0 && (0.0..=MAX_BYTES as f64).contains(&number);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the number is whole, not negative, and less than 2^53"
        )]
        is_whole.then_some(Self(number as u64))
    }
}

impl CpuCores {
    fn of_text(text: &str) -> Option<Self> {
        let (number, unit) = positive_decimal(text)?;
        unit.is_empty().then(|| number.parse().ok().map(Self))?
    }

    fn of_number(number: f64) -> Option<Self> {
        (number > 0.0 && number <= f64::from(MAX_NUMBER)).then_some(Self(number))
    }
}

/// Shortest duration; shorter ones are rounded up to it.
const SHORTEST: Duration = Duration::from_millis(1);

impl PositiveDuration {
    fn of_text(text: &str) -> Option<Self> {
        let (number, unit) = positive_decimal(text)?;
        let is_unit = matches!(unit, "" | "ms" | "s" | "m" | "h" | "d");
        (is_unit).then(|| <Duration as SettingValue>::parse(&format!("{number}{unit}")))?.map(Self::of)
    }

    fn of_number(number: f64) -> Option<Self> {
        let is_in_range = number > 0.0 && number <= f64::from(MAX_NUMBER);
        is_in_range.then(|| Duration::try_from_secs_f64(number).ok().map(Self::of))?
    }

    fn of(time: Duration) -> Self {
        Self(time.max(SHORTEST))
    }
}

impl UserIds {
    fn of_text(text: &str) -> Option<Self> {
        let (uid, gid) = text.split_once(':').unwrap_or((text, text));
        let id = |text: &str| {
            let is_id = (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
            is_id.then(|| text.parse().ok())?
        };
        Some(Self(SandboxUser { uid: id(uid)?, gid: id(gid)? }))
    }

    fn of_number(number: f64) -> Option<Self> {
        let is_id = number.fract() == 0.0 && (0.0..=f64::from(MAX_NUMBER)).contains(&number);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the number is whole, not negative, and less than 2^30"
        )]
        is_id.then_some(Self(SandboxUser { uid: number as u32, gid: number as u32 }))
    }
}

/// Splits a text into its leading number and the unit, which may be separated by one space.
fn decimal(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|one: char| !one.is_ascii_digit() && one != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.strip_prefix(' ').unwrap_or(unit);
    let is_word = unit.bytes().all(|byte| byte.is_ascii_alphabetic());
    (number.starts_with(|one: char| one.is_ascii_digit()) && is_word).then_some((number, unit))
}

fn has_few_decimals(number: &str) -> bool {
    number.split_once('.').is_none_or(|(_, decimals)| {
        (1..=9).contains(&decimals.len()) && decimals.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Splits a text like [`decimal`], for numbers that match [`POSITIVE`] with the unit directly after them.
fn positive_decimal(text: &str) -> Option<(&str, &str)> {
    let (number, unit) = decimal(text).filter(|_| !text.contains(' '))?;
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let is_above = match whole {
        "0" => decimals.ends_with(|one: char| one != '0'),
        _ => !whole.starts_with('0') && whole.len() <= 9,
    };
    (is_above && has_few_decimals(number)).then_some((number, unit))
}

/// JSON value of an amount.
#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(f64),
    Text(String),
}

fn read<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    accepted: &str,
    of_number: impl FnOnce(f64) -> Option<T>,
    of_text: impl FnOnce(&str) -> Option<T>,
) -> Result<T, D::Error> {
    let value = NumberOrText::deserialize(deserializer)
        .map_err(|_| serde::de::Error::custom(format!("expected {accepted}")))?;
    let (read, text) = match value {
        NumberOrText::Number(number) => (of_number(number), number.to_string()),
        NumberOrText::Text(text) => (of_text(&text), text),
    };
    read.ok_or_else(|| serde::de::Error::custom(format!("{text:?} is not {accepted}")))
}

/// Schema of an amount for the `OpenAPI` document.
fn amount_schema(number: &serde_json::Value, pattern: &str, description: &str) -> RefOr<Schema> {
    let text = json!({ "type": "string", "pattern": format!("^{pattern}$") });
    let either = json!({ "oneOf": [number, text], "description": description });
    schema_from_json(&either)
}

macro_rules! parsed_and_described {
    ($($type:ident: $accepted:ident, $number:expr, $pattern:expr;)+) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                read(deserializer, $accepted, Self::of_number, Self::of_text)
            }
        }

        impl PartialSchema for $type {
            fn schema() -> RefOr<Schema> {
                amount_schema(&$number, &$pattern, $accepted)
            }
        }

        impl ToSchema for $type {}
    )+};
}

parsed_and_described! {
    ByteSize: SIZE, json!({ "type": "integer", "minimum": 0, "maximum": MAX_BYTES }),
        format!("({}|{})", r"[0-9]{1,15}(\.[0-9]{1,9})?( ?[bB])?", r"[0-9]{1,6}(\.[0-9]{1,9})? ?[kKmMgGtT][iI]?[bB]?");
    CpuCores: SHARE, json!({ "type": "number", "exclusiveMinimum": 0, "maximum": MAX_NUMBER }), POSITIVE;
    PositiveDuration: SPAN, json!({ "type": "number", "exclusiveMinimum": 0, "maximum": MAX_NUMBER }),
        format!("{POSITIVE}(ms|s|m|h|d)?");
    UserIds: USER, json!({ "type": "integer", "minimum": 0, "maximum": MAX_NUMBER }), "[0-9]{1,9}(:[0-9]{1,9})?";
}

impl Serialize for PositiveDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0.as_secs_f64())
    }
}

impl Serialize for UserIds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}:{}", self.0.uid, self.0.gid))
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    fn of<T: DeserializeOwned>(value: Value) -> Option<T> {
        serde_json::from_value(value).ok()
    }

    #[test]
    fn sizes_are_numbers_or_have_a_unit() {
        for (value, bytes) in [
            (json!("2g"), Some(2 << 30)),
            (json!("512m"), Some(512 << 20)),
            (json!("1.5 GiB"), Some(3 << 29)),
            (json!(4096), Some(4096)),
            (json!("0"), Some(0)),
            (json!("999999t"), Some(999_999 << 40)),
            (json!("1000000t"), None),
            (json!("1000000000000000"), None),
            (json!("-1"), None),
            (json!(1.5), None),
            (json!("1.5.5m"), None),
            (json!("1."), None),
            (json!(" 1g"), None),
            (json!("g"), None),
            (json!(true), None),
        ] {
            assert_eq!(of::<ByteSize>(value.clone()).map(|size| size.0), bytes, "{value}");
        }
    }

    #[test]
    fn zero_is_neither_a_share_nor_a_duration() {
        for zero in [json!("0"), json!("0.0"), json!(0), json!(-1), json!("-1"), json!("01"), json!("1e3")] {
            assert_eq!(of::<CpuCores>(zero.clone()), None, "{zero}");
            assert_eq!(of::<PositiveDuration>(zero.clone()), None, "{zero}");
        }
        assert_eq!(of::<CpuCores>(json!("0.5")), Some(CpuCores(0.5)));
        assert_eq!(of::<CpuCores>(json!(1.25)), Some(CpuCores(1.25)));
        for (value, milliseconds) in
            [(json!(90), 90_000), (json!("10m"), 600_000), (json!("0.25"), 250), (json!("0.0001ms"), 1)]
        {
            let time = of::<PositiveDuration>(value.clone()).map(|span| span.0);
            assert_eq!(time, Some(Duration::from_millis(milliseconds)), "{value}");
        }
    }

    #[test]
    fn users_are_ids() {
        let user = |value: Value| of::<UserIds>(value).map(|name| (name.0.uid, name.0.gid));
        assert_eq!(user(json!("1000")), Some((1000, 1000)));
        assert_eq!(user(json!("7:8")), Some((7, 8)));
        assert_eq!(user(json!(5)), Some((5, 5)));
        for wrong in [json!("root"), json!("+1"), json!("1:"), json!(-1), json!("1234567890"), json!(null)] {
            assert_eq!(user(wrong.clone()), None, "{wrong}");
        }
    }
}
