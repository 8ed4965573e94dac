//! A host with a public address, without the internet: two network namespaces with a cable between them.
//!
//! Menace runs in the one that is near. What it may reach is in the other one, because it refuses to reach itself.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// The host that is far.
pub(crate) const FAR: &str = "93.184.216.34";
/// The host on which menace runs.
pub(crate) const NEAR: &str = "93.184.216.1";

/// Two hosts that know nobody else.
pub(crate) struct TwoHosts {
    near: Namespace,
    far: Namespace,
}

impl TwoHosts {
    /// Connects them. Where that is not possible, says so and makes none.
    pub(crate) fn connected() -> Option<Self> {
        let hosts = Namespace::new().zip(Namespace::new()).map(|(near, far)| Self { near, far });
        if hosts.is_none() || Command::new("ip").arg("-Version").output().is_err() {
            leave_out();
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

    /// Does something on the host that is near.
    pub(crate) fn on_near<T: Send>(&self, action: impl FnOnce() -> T + Send) -> T {
        self.near.inside(action)
    }

    /// Does something on the host that is far. A socket that is made there stays there.
    pub(crate) fn on_far<T: Send>(&self, action: impl FnOnce() -> T + Send) -> T {
        self.far.inside(action)
    }
}

/// A network namespace that lives as long as this.
struct Namespace {
    /// A process that does nothing but to be in it. It ends with its stdin, so that it does not outlive the test.
    holder: Child,
}

impl Namespace {
    /// A new one; nothing where this user may not make one.
    fn new() -> Option<Self> {
        let mut command = Command::new("unshare");
        command.args(["--net", "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut holder = command.spawn().ok()?;
        // What comes back is said by whoever is inside. If nobody is, this fails or nothing comes.
        let _ = holder.stdin.as_mut()?.write_all(b"?");
        let is_inside = holder.stdout.as_mut()?.read_exact(&mut [0]).is_ok();
        let namespace = Self { holder };
        is_inside.then_some(namespace)
    }

    /// Runs something on a thread that is in it, as are the processes that it starts.
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

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        // It has nothing to do but to end, and whoever drops this may be panicking.
        let _ = self.holder.wait();
    }
}

fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

#[expect(clippy::print_stderr, reason = "a test says what it does not test")]
fn leave_out() {
    eprintln!("left out: a second host needs root, unshare and ip");
}
