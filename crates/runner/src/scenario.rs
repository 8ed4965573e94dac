//! Under which circumstances a section is called.

use serde::{Deserialize, Serialize};

use crate::stubs::Strategy;

/// A scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scenario {
    /// Nothing is done to the call.
    Normal,
    /// Hostile values of the declared types.
    HostileInput,
    /// Wrong calls.
    UserMisuse,
    /// Many calls of the section at once.
    ConcurrencySpike,
    /// Fields of records are not what they were.
    SchemaDrift,
}

impl Scenario {
    /// Those that need no network.
    pub const ALL: [Self; 5] =
        [Self::Normal, Self::HostileInput, Self::UserMisuse, Self::ConcurrencySpike, Self::SchemaDrift];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::HostileInput => "hostile_input",
            Self::UserMisuse => "user_misuse",
            Self::ConcurrencySpike => "concurrency_spike",
            Self::SchemaDrift => "schema_drift",
        }
    }

    /// How its arguments are chosen.
    pub fn strategy(self) -> Strategy {
        match self {
            Self::Normal | Self::ConcurrencySpike => Strategy::Typical,
            Self::HostileInput => Strategy::Hostile,
            Self::UserMisuse => Strategy::Misuse,
            Self::SchemaDrift => Strategy::Drift,
        }
    }

    /// Why a section has no calls under it, when its strategy has nothing to offer.
    pub fn void_reason(self) -> &'static str {
        match self {
            Self::HostileInput => "no parameter takes a value that can be hostile",
            Self::UserMisuse => "nothing can be called wrongly",
            Self::SchemaDrift => "no parameter takes a record",
            Self::Normal | Self::ConcurrencySpike => "no arguments can be made",
        }
    }
}
