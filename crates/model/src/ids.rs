//! Ids of runs and calls: short and sortable by time; the id of a call contains the id of its run.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{ErrorClass, ErrorDetails};

/// Crockford's alphabet in lower case: no letter looks like a digit.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Characters of the time in milliseconds.
const TIME: usize = 10;
/// Characters of the random part.
const CHANCE: usize = 4;

/// Id of a run: `r_`, its start time and random digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

/// Id of a call: `c_`, its run and its number in the run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CallId {
    run: RunId,
    number: u64,
}

/// A text that is not an id.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IdError {
    /// Not the id of a run.
    #[error("{0:?} is not a run id such as r_01kbz7q3m9x4vt")]
    Run(String),
    /// Not the id of a call.
    #[error("{0:?} is not a call id such as c_01kbz7q3m9x4vt_3f")]
    Call(String),
}

impl ErrorDetails for IdError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Run(_) | Self::Call(_) => ErrorClass::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Run(_) => "list the runs with 'menace show'".into(),
            Self::Call(_) => "list the calls of a run with 'menace show RUN --calls'".into(),
        })
    }
}

impl RunId {
    /// Creates the id of a run. The time and the random number are arguments, so the same ones give the same id.
    pub fn new(unix_ms: u64, chance: u64) -> Self {
        Self(encoded(unix_ms, TIME) + &encoded(chance, CHANCE))
    }

    /// The id of one of its calls.
    pub fn call(&self, number: u64) -> CallId {
        CallId { run: self.clone(), number }
    }
}

impl CallId {
    /// The run.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Its number in the run.
    pub fn number(&self) -> u64 {
        self.number
    }
}

fn encoded(number: u64, length: usize) -> String {
    let digit = |place: usize| ALPHABET[usize::try_from((number >> (5 * place)) & 31).unwrap_or(0)];
    (0..length).rev().map(|place| char::from(digit(place))).collect()
}

fn is_digit(byte: u8) -> bool {
    ALPHABET.contains(&byte)
}

fn decoded(text: &str) -> Option<u64> {
    text.bytes().try_fold(0_u64, |number, byte| {
        let digit = ALPHABET.iter().position(|known| *known == byte)?;
        number.checked_mul(32)?.checked_add(digit as u64)
    })
}

impl fmt::Display for RunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "r_{}", self.0)
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = encoded(self.number, 13);
        let digits = digits.trim_start_matches('0');
        write!(formatter, "c_{}_{}", self.run.0, if digits.is_empty() { "0" } else { digits })
    }
}

impl FromStr for RunId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let id = text.strip_prefix("r_").filter(|id| id.len() == TIME + CHANCE && id.bytes().all(is_digit));
        id.map(|id| Self(id.to_owned())).ok_or_else(|| IdError::Run(text.to_owned()))
    }
}

impl FromStr for CallId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let wrong = || IdError::Call(text.to_owned());
        let (run, number) = text.strip_prefix("c_").and_then(|id| id.split_once('_')).ok_or_else(wrong)?;
        let run = format!("r_{run}").parse().map_err(|_| wrong())?;
        let number = decoded(number).filter(|_| !number.is_empty()).ok_or_else(wrong)?;
        Ok(Self { run, number })
    }
}

impl TryFrom<String> for RunId {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl TryFrom<String> for CallId {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.to_string()
    }
}

impl From<CallId> for String {
    fn from(id: CallId) -> Self {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_round_trip_and_sort_by_time() {
        let run = RunId::new(1_763_251_200_000, 77);
        assert_eq!(run.to_string().parse(), Ok(run.clone()));
        for number in [0, 1, 31, 32, 123_456_789] {
            let call = run.call(number);
            assert_eq!(call.to_string().parse::<CallId>(), Ok(call.clone()), "{call}");
            assert_eq!((call.run(), call.number()), (&run, number));
        }
        assert!(RunId::new(1_763_251_200_001, 0) > run);
    }

    #[test]
    fn malformed_ids_are_rejected() {
        for wrong in ["", "r_", "r_01kbz7q3m9x4v", "r_01kbz7q3m9x4vu", "c_01kbz7q3m9x4vt_3f", "42"] {
            wrong.parse::<RunId>().unwrap_err();
        }
        for wrong in
            ["", "c_", "c_01kbz7q3m9x4vt", "c_01kbz7q3m9x4vt_", "c_01kbz7q3m9x4vt_u", "r_01kbz7q3m9x4vt"]
        {
            wrong.parse::<CallId>().unwrap_err();
        }
    }
}
