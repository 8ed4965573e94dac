//! Files of `/etc` that identify user and host. They describe the sandbox and not the host, so they are generated and
//! not shown.

use menace_model::sandbox::{SandboxUser, WORKSPACE};

use menace_netstack::GATEWAY_V4;

use super::HostDescription;
use super::plan::HostViewPlan;

const NOBODY: u32 = 65534;
const NOBODY_LINE: &str = "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n";
const ROOT_LINE: &str = "root:x:0:0:root:/root:/bin/sh\n";

/// Name services without `systemd`, `sss` or `ldap`, whose libraries would ask daemons that the sandbox lacks.
const NAME_SERVICES: &str = "\
passwd: files
group: files
shadow: files
hosts: files dns
networks: files
protocols: files
services: files
ethers: files
rpc: files
";

/// Adds the generated files.
pub(super) fn write_identity(plan: &mut HostViewPlan, host: &HostDescription) {
    plan.file("/etc/passwd", passwd(host.user));
    plan.file("/etc/group", group(host.user));
    plan.file("/etc/hostname", format!("{}\n", host.hostname));
    plan.file("/etc/hosts", hosts(&host.hostname));
    plan.file("/etc/nsswitch.conf", NAME_SERVICES.to_owned());
    plan.file(
        "/etc/resolv.conf",
        format!("# Unreachable without a network.\nnameserver {GATEWAY_V4}\noptions timeout:1 attempts:5\n"),
    );
}

/// Content of `/etc/passwd`. No two lines have the same uid, so that the user's name is unambiguous.
fn passwd(user: SandboxUser) -> String {
    let SandboxUser { uid, gid } = user;
    match uid {
        0 => format!("root:x:0:0:root:{WORKSPACE}:/bin/sh\n{NOBODY_LINE}"),
        NOBODY => format!("{ROOT_LINE}sandbox:x:{uid}:{gid}:sandbox:{WORKSPACE}:/bin/sh\n"),
        _ => format!("{ROOT_LINE}sandbox:x:{uid}:{gid}:sandbox:{WORKSPACE}:/bin/sh\n{NOBODY_LINE}"),
    }
}

fn group(user: SandboxUser) -> String {
    match user.gid {
        0 => format!("root:x:0:\nnogroup:x:{NOBODY}:\n"),
        NOBODY => format!("root:x:0:\nsandbox:x:{NOBODY}:\n"),
        gid => format!("root:x:0:\nsandbox:x:{gid}:\nnogroup:x:{NOBODY}:\n"),
    }
}

fn hosts(hostname: &str) -> String {
    format!("127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 {hostname}\n")
}
