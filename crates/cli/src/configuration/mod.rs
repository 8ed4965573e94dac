//! Settings from flags, environment, `.env` and YAML.

mod error;
mod flags;
mod load;
mod yaml;

pub(crate) use error::ConfigurationError;
pub(crate) use flags::SettingFlags;
pub(crate) use load::Configuration;
