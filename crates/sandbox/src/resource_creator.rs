//! Identity of the process that created a resource, so that other processes can tell whether it is stale.

use std::fs;

/// Unique identity of a process: machine, boot, process id and start time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResourceCreator {
    machine: String,
    boot: String,
    pid: u32,
    started: String,
}

impl ResourceCreator {
    /// This process.
    pub(crate) fn this() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let pid = std::process::id();
        Self {
            machine: text("/etc/machine-id"),
            boot: text("/proc/sys/kernel/random/boot_id"),
            pid,
            started: started(pid).unwrap_or_default(),
        }
    }

    /// Text form for labels and files.
    pub(crate) fn text(&self) -> String {
        format!("{}/{}/{}/{}", self.machine, self.boot, self.pid, self.started)
    }

    /// Parses the text form.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        let [machine, boot, pid, started] = parts.as_slice() else { return None };
        Some(Self {
            machine: (*machine).to_owned(),
            boot: (*boot).to_owned(),
            pid: pid.parse().ok()?,
            started: (*started).to_owned(),
        })
    }

    /// Whether the process has certainly ended. A process of another machine counts as alive, because it cannot be
    /// checked from here.
    pub(crate) fn is_gone(&self, this: &Self) -> bool {
        if self.machine != this.machine || self.machine.is_empty() {
            return false;
        }
        self.boot != this.boot || started(self.pid).is_none_or(|started| started != self.started)
    }
}

/// Start time of a process in clock ticks since boot, or `None` if no such process exists. A zombie counts as ended:
/// where no process reaps orphans it stays listed forever.
fn started(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in parentheses, may itself have spaces and parentheses.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let is_living = !matches!(fields.next()?, "Z" | "X");
    is_living.then(|| fields.nth(18).map(str::to_owned)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_living_process_is_not_gone_and_an_ended_one_is() {
        let this = ResourceCreator { machine: "here".into(), ..ResourceCreator::this() };
        assert!(!ResourceCreator::parse(&this.text()).unwrap().is_gone(&this));
        for gone in [
            ResourceCreator { started: "1".into(), ..this.clone() },
            ResourceCreator { boot: "earlier".into(), ..this.clone() },
        ] {
            assert!(gone.is_gone(&this), "{gone:?}");
        }
        let elsewhere = ResourceCreator { machine: "there".into(), boot: "other".into(), ..this.clone() };
        assert!(!elsewhere.is_gone(&this), "processes of another machine cannot be checked");
    }

    #[test]
    fn a_zombie_is_gone() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let author = ResourceCreator {
            machine: "here".into(),
            pid: child.id(),
            started: started(child.id()).unwrap(),
            ..ResourceCreator::this()
        };
        let this = ResourceCreator { machine: "here".into(), ..ResourceCreator::this() };
        assert!(!author.is_gone(&this));
        child.kill().unwrap();
        while !fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap().contains(") Z ") {
            std::thread::yield_now();
        }
        assert!(author.is_gone(&this));
        child.wait().unwrap();
    }
}
