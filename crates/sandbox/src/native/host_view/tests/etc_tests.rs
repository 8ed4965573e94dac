//! Tests of the visible part of `/etc`.

use menace_model::sandbox::SandboxUser;

use super::super::{HostDescription, host_view};
use super::fabricated::FabricatedHost;
use menace_isolation::root::SkeletonEntry;

#[test]
fn public_entries_are_bound() {
    let host = FabricatedHost::new();
    let public = [
        "/etc/alternatives/java",
        "/etc/ca-certificates.conf",
        "/etc/java-17-openjdk/net.properties",
        "/etc/ld.so.cache",
        "/etc/python3.11/sitecustomize.py",
        "/etc/services",
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/ssl/openssl.cnf",
    ];
    for path in public {
        host.file(path, "");
    }
    let view = host.view("");
    for path in public {
        assert!(host.sees(&view, path), "{path} is not visible");
    }
}

#[test]
fn other_entries_are_invisible_even_when_they_are_on_the_path() {
    let host = FabricatedHost::new();
    let private = [
        "/etc/NetworkManager/system-connections/wifi",
        "/etc/cron.d/job",
        "/etc/docker/key.json",
        "/etc/environment",
        "/etc/gshadow",
        "/etc/krb5.keytab",
        "/etc/machine-id",
        "/etc/pip.conf",
        "/etc/pki/tls/private/key.pem",
        "/etc/shadow",
        "/etc/ssh/ssh_host_rsa_key",
        "/etc/ssl/private/key.pem",
        "/etc/sudoers",
        "/etc/systemd/system/a.service",
    ];
    for path in private {
        host.file(path, "");
    }
    let view = host.view("/etc:/etc/ssh:/etc/ssl/private:/etc/systemd/system:/etc/cron.d");
    for path in private {
        assert!(!host.sees(&view, path), "{path} is visible");
    }
}

#[test]
fn a_directory_that_is_closed_to_others_is_not_public() {
    let host = FabricatedHost::new();
    host.file("/etc/ssl/certs/a.pem", "").mode("/etc/ssl/certs", 0o710);
    host.file("/etc/fonts/fonts.conf", "").mode("/etc/fonts", 0o750);
    let view = host.view("");
    assert!(!host.sees(&view, "/etc/ssl/certs/a.pem"));
    assert!(!host.sees(&view, "/etc/fonts/fonts.conf"));
}

#[test]
fn links_with_visible_targets_are_repeated_unchanged() {
    let host = FabricatedHost::new();
    host.file("/usr/share/zoneinfo/Europe/Vienna", "").file("/usr/lib/os-release", "");
    host.link("/etc/localtime", "/usr/share/zoneinfo/Europe/Vienna");
    host.link("/etc/os-release", "../usr/lib/os-release");
    host.file("/etc/pki/tls/certs/ca.crt", "").link("/etc/ssl/certs", "../pki/tls/certs");
    let view = host.view("");
    let zone = SkeletonEntry::Link {
        target: "/etc/localtime".into(),
        to: "/usr/share/zoneinfo/Europe/Vienna".into(),
    };
    assert!(view.entries.contains(&zone));
    assert!(host.leads_to(&view, "/etc/os-release", "/usr/lib/os-release"));
    assert!(host.leads_to(&view, "/etc/ssl/certs/ca.crt", "/etc/pki/tls/certs/ca.crt"));
}

#[test]
fn a_link_over_an_invisible_link_is_shortened() {
    let host = FabricatedHost::new();
    host.file("/usr/share/zoneinfo/UTC", "").link("/var/zone", "/usr/share/zoneinfo/UTC");
    host.link("/etc/localtime", "/var/zone");
    assert!(host.leads_to(&host.view(""), "/etc/localtime", "/usr/share/zoneinfo/UTC"));
}

#[test]
fn links_with_invisible_targets_are_left_out() {
    let host = FabricatedHost::new();
    host.file("/var/lib/hidden", "").link("/etc/services", "/var/lib/hidden");
    host.link("/etc/rpc", "rpc").link("/etc/fonts", "/etc/shadow").file("/etc/shadow", "");
    let view = host.view("");
    for name in ["services", "rpc", "fonts"] {
        assert!(!view.entries.iter().any(|entry| entry.target().ends_with(name)), "{name} is visible");
    }
}

#[test]
fn identity_files_are_generated() {
    let host = FabricatedHost::new();
    host.file("/etc/passwd", "ada:x:1:1::/home/ada:/bin/sh").link("/etc/resolv.conf", "/usr/bin/python3.11");
    let view = host.view("");
    assert_eq!(
        content(&view.entries, "/etc/passwd"),
        "root:x:0:0:root:/root:/bin/sh\n\
         sandbox:x:1000:1000:sandbox:/workspace:/bin/sh\n\
         nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
    );
    assert_eq!(content(&view.entries, "/etc/group"), "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n");
    assert_eq!(content(&view.entries, "/etc/hostname"), "sandbox-7\n");
    assert!(content(&view.entries, "/etc/hosts").contains("127.0.1.1 sandbox-7\n"));
    assert!(content(&view.entries, "/etc/hosts").contains("::1 localhost"));
    assert!(content(&view.entries, "/etc/nsswitch.conf").contains("passwd: files\n"));
    assert!(content(&view.entries, "/etc/resolv.conf").contains("\nnameserver 198.18.0.1\n"));
}

#[test]
fn no_uid_has_two_names() {
    for (number, names) in [(0, ["root", "nobody"]), (65534, ["root", "sandbox"])] {
        let host = FabricatedHost::new();
        let view =
            host_view(&HostDescription { user: SandboxUser { uid: number, gid: number }, ..host.host("") });
        let passwd = content(&view.entries, "/etc/passwd");
        let found: Vec<&str> = passwd.lines().filter_map(|line| line.split(':').next()).collect();
        assert_eq!(found, names);
        let user = passwd.lines().find(|line| line.split(':').nth(2) == Some(&number.to_string())).unwrap();
        assert_eq!(user.split(':').nth(5), Some("/workspace"));
    }
}

fn content<'entries>(entries: &'entries [SkeletonEntry], path: &str) -> &'entries str {
    let mut contents = entries.iter().filter_map(|entry| match entry {
        SkeletonEntry::File { target, content } if target.to_str() == Some(path) => Some(content.as_str()),
        other => {
            assert_ne!(other.target().to_str(), Some(path), "{path} is not generated");
            None
        }
    });
    contents.next().unwrap()
}
