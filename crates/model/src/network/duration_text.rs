//! Durations as users write them, to the microsecond.

use std::time::Duration;

/// Reads `200ms`, `1.5s`, `250us` or a plain number of seconds.
fn read(text: &str) -> Option<Duration> {
    let text = text.trim();
    let end =
        text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let seconds = match unit.trim() {
        "us" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64((number.parse::<f64>().ok()? * seconds * 1e6).round() / 1e6).ok()
}

fn write(duration: Duration) -> String {
    let micros = duration.as_micros();
    if micros.is_multiple_of(1000) { format!("{}ms", micros / 1000) } else { format!("{micros}us") }
}

/// The two forms of a duration in a file.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum DurationInput {
    Seconds(f64),
    Text(String),
}

impl DurationInput {
    fn read<E: serde::de::Error>(self) -> Result<Duration, E> {
        let text = match self {
            Self::Seconds(seconds) => seconds.to_string(),
            Self::Text(text) => text,
        };
        read(&text)
            .ok_or_else(|| E::custom(format!("invalid duration '{text}': expected e.g. 200ms or 1.5s")))
    }
}

pub(super) mod duration {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::network) fn serialize<S: Serializer>(value: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&super::write(*value))
    }

    pub(in crate::network) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        super::DurationInput::deserialize(from)?.read()
    }
}

pub(super) mod optional_duration {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::ref_option, reason = "signature required by serde")]
    pub(in crate::network) fn serialize<S: Serializer>(
        value: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => to.serialize_str(&super::write(*value)),
            None => to.serialize_none(),
        }
    }

    pub(in crate::network) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        Option::<super::DurationInput>::deserialize(from)?.map(super::DurationInput::read).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_round_trip() {
        for (text, micros) in
            [("200ms", 200_000), ("1.5s", 1_500_000), ("2", 2_000_000), ("2.5ms", 2500), ("7us", 7)]
        {
            let read = read(text).unwrap();
            assert_eq!(read, Duration::from_micros(micros));
            assert_eq!(super::read(&write(read)), Some(read));
        }
        for text in ["", "ms", "-1s", "1 parsec", "1.2.3s"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
