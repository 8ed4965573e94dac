//! The words in which the host is described.

use serde::{Deserialize, Serialize};

/// One thing that isolation can use, and whether this host let us do it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is called, the same on every host.
    pub name: &'static str,
    /// What it belongs to.
    pub group: Group,
    /// The native backend cannot do without it.
    pub required: bool,
    /// It was done, not only found.
    pub present: bool,
    /// What was seen, or which step was refused and why.
    pub detail: String,
    /// What menace does with it.
    pub purpose: &'static str,
    /// How to get it, on this host where the reason is known.
    pub remedy: String,
}

/// What a finding belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Kinds of namespaces, and how processes are put into them.
    Namespaces,
    /// Controllers that limit and count.
    Cgroups,
    /// What can be mounted.
    #[serde(rename = "file systems")]
    FileSystems,
    /// What a process can take from itself.
    Restrictions,
    /// Devices and network shaping.
    Devices,
    /// Programs of others.
    Tools,
}

impl Group {
    /// The name that people and JSON see.
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

/// What the child of a probe tells its parent, as one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Answer {
    pub(super) present: bool,
    pub(super) detail: String,
    /// Where the child knows better than the catalog how to get it.
    pub(super) remedy: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_people_see_the_same_name() {
        for group in [
            Group::Namespaces,
            Group::Cgroups,
            Group::FileSystems,
            Group::Restrictions,
            Group::Devices,
            Group::Tools,
        ] {
            assert_eq!(serde_json::to_value(group).unwrap(), group.name());
        }
    }
}
