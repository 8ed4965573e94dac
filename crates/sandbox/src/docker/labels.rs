//! What is written on everything that is made, so that it can be found again, and nothing else is ever removed.

use std::collections::HashMap;
use std::fs;

use menace_model::sandbox::SandboxSpec;

use crate::SandboxError;

/// Whose it is.
pub(super) const OWNER: &str = "menace.owner";
/// Which sandbox it belongs to.
pub(super) const SANDBOX: &str = "menace.sandbox";
/// Which process made it.
const PROCESS: &str = "menace.process";
/// What all of ours begin with.
const PREFIX: &str = "menace.";

/// The labels of everything that belongs to a sandbox.
pub(super) fn labels(
    owner: &str,
    id: &str,
    spec: &SandboxSpec,
) -> Result<HashMap<String, String>, SandboxError> {
    if let Some(name) = spec.labels.keys().find(|name| name.starts_with(PREFIX)) {
        return Err(SandboxError::Refused {
            problem: format!("the label {name} is one of menace's own"),
            hint: format!("choose a name that does not begin with {PREFIX}"),
        });
    }
    let mut labels: HashMap<String, String> = spec.labels.clone().into_iter().collect();
    labels.insert(OWNER.to_owned(), owner.to_owned());
    labels.insert(SANDBOX.to_owned(), id.to_owned());
    labels.insert(PROCESS.to_owned(), Maker::this().text());
    Ok(labels)
}

/// Filters of the engine for what has a label with this value.
pub(super) fn filter(label: &str, value: &str) -> HashMap<String, Vec<String>> {
    HashMap::from([("label".to_owned(), vec![format!("{label}={value}")])])
}

/// Whether the process that made something cannot be alive any more. Of another machine nobody here knows.
pub(super) fn maker_is_gone(labels: &HashMap<String, String>) -> bool {
    let this = Maker::this();
    labels.get(PROCESS).and_then(|text| Maker::parse(text)).is_some_and(|maker| maker.is_gone(&this))
}

/// A process, by what no other has.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Maker {
    machine: String,
    boot: String,
    pid: u32,
    started: String,
}

impl Maker {
    fn this() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let pid = std::process::id();
        Self {
            machine: text("/etc/machine-id"),
            boot: text("/proc/sys/kernel/random/boot_id"),
            pid,
            started: started(pid).unwrap_or_default(),
        }
    }

    fn text(&self) -> String {
        format!("{}/{}/{}/{}", self.machine, self.boot, self.pid, self.started)
    }

    fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        let [machine, boot, pid, started] = parts.as_slice() else { return None };
        Some(Self {
            machine: (*machine).to_owned(),
            boot: (*boot).to_owned(),
            pid: pid.parse().ok()?,
            started: (*started).to_owned(),
        })
    }

    fn is_gone(&self, this: &Self) -> bool {
        if self.machine != this.machine || self.machine.is_empty() {
            return false;
        }
        self.boot != this.boot || started(self.pid).is_none_or(|started| started != self.started)
    }
}

/// When a process was started, in ticks since the machine was; nothing if there is none of this number.
fn started(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in parentheses, may itself have spaces and parentheses.
    Some(stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_lives_is_not_gone_and_one_that_ended_is() {
        let this = Maker { machine: "here".into(), ..Maker::this() };
        assert!(!Maker::parse(&this.text()).unwrap().is_gone(&this));
        for gone in
            [Maker { started: "1".into(), ..this.clone() }, Maker { boot: "earlier".into(), ..this.clone() }]
        {
            assert!(gone.is_gone(&this), "{gone:?}");
        }
        let elsewhere = Maker { machine: "there".into(), boot: "other".into(), ..this.clone() };
        assert!(!elsewhere.is_gone(&this), "nobody here knows what lives on another machine");
    }
}
