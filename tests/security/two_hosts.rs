//! Hosts with public addresses without the internet: two network namespaces that are connected by a veth pair.
//!
//! Menace runs on the near host. Its allowed destinations are on the far host, because it refuses connections to itself.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Address of the far host.
pub(crate) const FAR: &str = "93.184.216.34";
/// Address of the near host, on which menace runs.
pub(crate) const NEAR: &str = "93.184.216.1";

/// Two hosts that are connected only to each other.
pub(crate) struct TwoHosts {
    near: NetworkNamespace,
    far: NetworkNamespace,
}

impl TwoHosts {
    /// Creates and connects the hosts. Reports the skip and returns `None` if that is not possible.
    pub(crate) fn connected() -> Option<Self> {
        let hosts =
            NetworkNamespace::new().zip(NetworkNamespace::new()).map(|(near, far)| Self { near, far });
        if hosts.is_none() || Command::new("ip").arg("-Version").output().is_err() {
            report_skip();
            return None;
        }
        let hosts = hosts?;
        let far = hosts.far.holder.id().to_string();
        hosts.on_near(|| {
            ip("link set lo up");
            ip(&format!("link add near type veth peer name far netns {far}"));
            ip(&format!("address add {NEAR}/24 dev near"));
            ip("link set near up");
        });
        hosts.on_far(|| {
            ip(&format!("address add {FAR}/24 dev far"));
            ip("link set far up");
        });
        Some(hosts)
    }

    /// Runs `action` on the near host.
    pub(crate) fn on_near<T: Send>(&self, action: impl FnOnce() -> T + Send) -> T {
        self.near.inside(action)
    }

    /// Runs `action` on the far host. A socket that is created there stays there.
    pub(crate) fn on_far<T: Send>(&self, action: impl FnOnce() -> T + Send) -> T {
        self.far.inside(action)
    }
}

/// A network namespace that lives as long as this value.
struct NetworkNamespace {
    /// Process that keeps the namespace alive. It exits when its stdin closes, so that it does not outlive the test.
    holder: Child,
}

impl NetworkNamespace {
    /// Creates a namespace; `None` if this user may not create one.
    fn new() -> Option<Self> {
        let mut command = Command::new("unshare");
        command.args(["--net", "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut holder = command.spawn().ok()?;
        // `cat` echoes the byte once it runs inside. If `unshare` failed, the write fails or nothing is echoed.
        let _ = holder.stdin.as_mut()?.write_all(b"?");
        let is_inside = holder.stdout.as_mut()?.read_exact(&mut [0]).is_ok();
        let namespace = Self { holder };
        is_inside.then_some(namespace)
    }

    /// Runs `action` on a thread in the namespace, which child processes inherit.
    fn inside<T: Send>(&self, action: impl FnOnce() -> T + Send) -> T {
        let place = File::open(format!("/proc/{}/ns/net", self.holder.id())).unwrap();
        std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                move_into_link_name_space(place.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
                action()
            });
            inside.join().unwrap()
        })
    }
}

impl Drop for NetworkNamespace {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        // It exits by itself. The result is ignored because this may run during a panic.
        let _ = self.holder.wait();
    }
}

fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

#[expect(clippy::print_stderr, reason = "a test reports what it does not test")]
fn report_skip() {
    eprintln!("skipped: a second host needs root, unshare and ip");
}
