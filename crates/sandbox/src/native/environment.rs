//! The variables that a program in a sandbox has: five, those that say where a toolchain is, what the user names, and
//! nothing else of the caller's.

use std::collections::BTreeMap;

use super::host_view::HostView;

/// Variables of the caller that say how people read and not who they are.
#[derive(Debug, Clone)]
pub(super) struct BaseEnvironment {
    base: BTreeMap<String, String>,
}

impl BaseEnvironment {
    /// Takes language, time zone and terminal from this process.
    pub(super) fn of_this_process(view: &HostView) -> Self {
        let or = |name: &str, default: &str| {
            let value = std::env::var(name).ok().filter(|value| !value.is_empty());
            (name.to_owned(), value.unwrap_or_else(|| default.to_owned()))
        };
        let fixed = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let base = [
            fixed("PATH", &view.path),
            fixed("HOME", menace_model::sandbox::WORKSPACE),
            or("LANG", "C.UTF-8"),
            or("TZ", "UTC"),
            or("TERM", "dumb"),
        ];
        let mut all = view.environment.clone();
        all.extend(base);
        Self { base: all }
    }

    /// With further variables, the later ones first in rank.
    pub(super) fn with(
        &self,
        sandbox: &BTreeMap<String, String>,
        command: &BTreeMap<String, String>,
    ) -> Vec<(String, String)> {
        let mut all = self.base.clone();
        for (name, value) in sandbox.iter().chain(command) {
            all.insert(name.clone(), value.clone());
        }
        all.into_iter().collect()
    }
}
