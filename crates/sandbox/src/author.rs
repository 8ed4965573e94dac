//! Which process made something, so that others know whether it can still want it.

use std::fs;

/// A process, by what no other has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Author {
    machine: String,
    boot: String,
    pid: u32,
    started: String,
}

impl Author {
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

    /// As it is written down.
    pub(crate) fn text(&self) -> String {
        format!("{}/{}/{}/{}", self.machine, self.boot, self.pid, self.started)
    }

    /// The one that was written down.
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

    /// Whether it cannot be alive any more. Of another machine nobody here knows.
    pub(crate) fn is_gone(&self, this: &Self) -> bool {
        if self.machine != this.machine || self.machine.is_empty() {
            return false;
        }
        self.boot != this.boot || started(self.pid).is_none_or(|started| started != self.started)
    }
}

/// When a process was started, in ticks since the machine was; nothing if there is none of this number. One that has ended and that
/// nobody has waited for is none: where no process reaps orphans it is listed for ever.
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
    fn a_process_that_lives_is_not_gone_and_one_that_ended_is() {
        let this = Author { machine: "here".into(), ..Author::this() };
        assert!(!Author::parse(&this.text()).unwrap().is_gone(&this));
        for gone in [
            Author { started: "1".into(), ..this.clone() },
            Author { boot: "earlier".into(), ..this.clone() },
        ] {
            assert!(gone.is_gone(&this), "{gone:?}");
        }
        let elsewhere = Author { machine: "there".into(), boot: "other".into(), ..this.clone() };
        assert!(!elsewhere.is_gone(&this), "nobody here knows what lives on another machine");
    }

    #[test]
    fn one_that_nobody_has_waited_for_is_gone() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let author = Author {
            machine: "here".into(),
            pid: child.id(),
            started: started(child.id()).unwrap(),
            ..Author::this()
        };
        let this = Author { machine: "here".into(), ..Author::this() };
        assert!(!author.is_gone(&this));
        child.kill().unwrap();
        while !fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap().contains(") Z ") {
            std::thread::yield_now();
        }
        assert!(author.is_gone(&this));
        child.wait().unwrap();
    }
}
