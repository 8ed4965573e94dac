//! Results of capability probes.

use serde::{Deserialize, Serialize};

/// Result of probing one feature that isolation can use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CapabilityProbeResult {
    /// Name of the feature, the same on every host.
    pub name: &'static str,
    /// Group of the feature.
    pub group: CapabilityGroup,
    /// Whether the native backend requires the feature.
    pub required: bool,
    /// Whether the feature works: it was used, not only found.
    pub present: bool,
    /// Observation, or the step that failed and its error.
    pub detail: String,
    /// Use of the feature in menace.
    pub purpose: &'static str,
    /// How to enable the feature, specific to this host where the cause is known.
    pub remedy: String,
}

/// Group of capability probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CapabilityGroup {
    /// Kinds of namespaces, and the system calls that start processes in them.
    Namespaces,
    /// Controllers for limits and accounting.
    Cgroups,
    /// File systems that sandboxes mount.
    #[serde(rename = "file systems")]
    FileSystems,
    /// Restrictions that a process can impose on itself.
    Restrictions,
    /// Devices and network shaping.
    Devices,
    /// Third-party programs.
    Tools,
}

impl CapabilityGroup {
    /// Name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Cgroups => "cgroups",
            Self::FileSystems => "file systems",
            Self::Restrictions => "restrictions",
            Self::Devices => "devices",
            Self::Tools => "tools",
        }
    }
}

/// Report of a probe child to its parent, as one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ProbeChildReport {
    pub(super) present: bool,
    pub(super) detail: String,
    /// Remedy that is more specific than the catalog's.
    pub(super) remedy: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_equals_json_name() {
        for group in [
            CapabilityGroup::Namespaces,
            CapabilityGroup::Cgroups,
            CapabilityGroup::FileSystems,
            CapabilityGroup::Restrictions,
            CapabilityGroup::Devices,
            CapabilityGroup::Tools,
        ] {
            assert_eq!(serde_json::to_value(group).unwrap(), group.name());
        }
    }
}
