//! Mocks, which answer instead of real servers: HTTP and HTTPS by rules, and plausible responses where no rule matches.

mod authority;
mod body;
mod drift;
mod plausible;
mod response;
mod rules;
mod server;

pub use authority::MockCertificateAuthority;
pub use rules::{MockError, prepare};
pub(crate) use server::{MockConnection, MockServer};

use menace_model::network::{MockFallback, MockRule, NetworkSpec};

use menace_model::pattern::matches_pattern;

/// Whether a mock answers for this host on this port.
pub(crate) fn answers(spec: &NetworkSpec, host: &str, port: u16) -> bool {
    let Some(mocks) = &spec.mocks else { return false };
    mocks.fallback == MockFallback::Plausible
        || mocks
            .rules
            .iter()
            .any(|rule| fits_host(rule, host) && rule.port.is_none_or(|expected| expected == port))
}

/// Whether a rule names this host explicitly; a rule for every host does not count.
pub(crate) fn names_host(spec: &NetworkSpec, host: &str, port: u16) -> bool {
    let names = |rule: &MockRule| rule.host.is_some() && fits_host(rule, host);
    spec.mocks.as_ref().is_some_and(|mocks| {
        mocks.rules.iter().any(|rule| names(rule) && rule.port.is_none_or(|expected| expected == port))
    })
}

/// Whether a mock answers for this name on any port.
pub(crate) fn answers_name(spec: &NetworkSpec, name: &str) -> bool {
    spec.mocks.as_ref().is_some_and(|mocks| {
        mocks.fallback == MockFallback::Plausible || mocks.rules.iter().any(|rule| fits_host(rule, name))
    })
}

fn fits_host(rule: &MockRule, host: &str) -> bool {
    rule.host.as_ref().is_none_or(|pattern| matches_pattern(&pattern.to_ascii_lowercase(), host))
}
