//! Tests of the system directories.

use std::path::PathBuf;

use super::super::{HostDescription, host_view};
use super::fabricated::{FabricatedHost, toolchains};
use menace_isolation::root::SkeletonEntry;

#[test]
fn merged_directories_stay_relative_links() {
    let host = FabricatedHost::new();
    host.link("/bin", "usr/bin").link("/lib64", "usr/lib64").directory("/usr/lib64");
    let view = host.view("/bin");
    for (at, to) in [("/bin", "usr/bin"), ("/lib64", "usr/lib64")] {
        assert!(
            view.entries.contains(&SkeletonEntry::Link { target: at.into(), to: to.into() }),
            "{view:#?}"
        );
    }
    assert!(host.leads_to(&view, "/bin/python3.11", "/usr/bin/python3.11"));
    assert_eq!(toolchains(&view), [""; 0]);
}

#[test]
fn unmerged_directories_are_bound() {
    let host = FabricatedHost::new();
    host.program("/bin/sh").directory("/lib").directory("/lib64").directory("/opt").directory("/nix/store");
    assert_eq!(toolchains(&host.view("")), ["/bin", "/lib", "/lib64", "/nix/store", "/opt"]);
}

#[test]
fn a_link_with_an_invisible_target_is_replaced_by_the_target() {
    let host = FabricatedHost::new();
    host.directory("/data/lib64").link("/lib64", "/data/lib64").link("/opt", "/nowhere");
    let view = host.view("");
    assert!(host.leads_to(&view, "/lib64", "/data/lib64"));
    assert!(!view.entries.iter().any(|entry| entry.target() == "/opt"));
}

#[test]
fn a_link_that_leads_to_a_home_is_left_out() {
    for target in ["/home/ada", "/home/ada/.config/opt", "/home"] {
        let host = FabricatedHost::new();
        host.directory(target).link("/opt", target);
        assert!(!host.leads_to(&host.view("/opt"), "/opt", target), "{target} is visible");
    }
}

#[test]
fn other_top_level_directories_are_invisible() {
    let host = FabricatedHost::new();
    let others =
        ["/root", "/var/lib", "/run", "/srv", "/mnt", "/media", "/boot", "/tmp", "/sys", "/snap/bin"];
    for other in others {
        host.file(&format!("{other}/file"), "");
    }
    let view = host.view(&others.join(":"));
    for other in others {
        assert!(!host.sees(&view, &format!("{other}/file")), "{other} is visible");
    }
}

#[test]
fn a_home_in_a_system_directory_is_left_out_but_its_neighbours_are_shown() {
    let host = FabricatedHost::new();
    host.file("/opt/app/src/.netrc", "").file("/opt/app/lib/module.py", "").file("/opt/other/file", "");
    let view = host_view(&HostDescription { home: Some(PathBuf::from("/opt/app/src")), ..host.host("") });
    assert!(!host.sees(&view, "/opt/app/src/.netrc"));
    assert!(host.sees(&view, "/opt/app/lib/module.py"));
    assert!(host.sees(&view, "/opt/other/file"));
}

#[test]
fn a_system_directory_as_home_is_still_shown() {
    let host = FabricatedHost::new();
    host.link("/bin", "usr/bin");
    let view = host_view(&HostDescription { home: Some(PathBuf::from("/bin")), ..host.host("") });
    assert!(host.leads_to(&view, "/bin/python3.11", "/usr/bin/python3.11"));
}
