//! Tests of the paths that stay invisible regardless of `PATH`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use super::super::plan::HostView;
use super::super::{HostDescription, host_view};
use super::fabricated::{FabricatedHost, own_path, toolchains};

/// Checks that a `PATH` shows exactly these paths.
fn check(host: &FabricatedHost, path: &str, shown: &[&str]) {
    assert_eq!(toolchains(&host.view(path)), shown, "PATH={path}");
}

#[test]
fn homes_and_their_parents_are_never_shown() {
    let host = FabricatedHost::new();
    host.directory("/home/ada/bin")
        .directory("/home/ada/lib")
        .directory("/home/eve/bin")
        .directory("/home/eve/share");
    host.directory("/root/bin")
        .directory("/root/lib")
        .directory("/var/home/kim/bin")
        .directory("/var/home/kim/lib");
    let path =
        "/home/ada:/home/eve:/root:/home:/:/var:/var/home:/var/home/kim:/home/ada/../ada:/home/eve/bin/..";
    check(&host, path, &[]);
    check(&host, "/home/ada/bin:/home/eve/bin", &["/home/ada/bin", "/home/eve/bin"]);
    check(&host, "/root/bin:/var/home/kim/bin", &["/root/bin", "/var/home/kim/bin"]);
}

#[test]
fn a_home_at_an_unusual_place_is_a_home() {
    let host = FabricatedHost::new();
    host.directory("/data/people/ada/bin").directory("/data/bin").directory("/data/lib");
    let path = "/data:/data/people:/data/people/ada:/data/bin:/data/people/ada/bin".into();
    let home = Some("/data/people/ada".into());
    let view = host_view(&HostDescription { path, home, ..host.host("") });
    assert_eq!(toolchains(&view), ["/data/bin", "/data/people/ada/bin"]);
}

#[test]
fn a_home_that_is_a_virtual_environment_shows_only_its_parts() {
    let host = FabricatedHost::new();
    host.file("/home/ada/pyvenv.cfg", "home = /usr/bin")
        .directory("/home/ada/bin")
        .directory("/home/ada/lib");
    host.file("/home/ada/diary.txt", "");
    check(&host, "/home/ada/bin", &["/home/ada/bin", "/home/ada/lib", "/home/ada/pyvenv.cfg"]);
}

#[test]
fn secret_directories_are_never_shown() {
    let host = FabricatedHost::new();
    for secret in
        [".ssh", ".aws", ".config", ".gnupg", ".kube", ".docker", ".mozilla", ".local/share/keyrings"]
    {
        let directory = format!("/home/ada/{secret}");
        host.program(&format!("{directory}/bin/tool")).directory(&format!("{directory}/lib"));
        check(&host, &format!("{directory}:{directory}/bin:{directory}/lib"), &[]);
    }
}

#[test]
fn directories_that_many_programs_write_to_are_never_shown_whole() {
    let host = FabricatedHost::new();
    host.directory("/home/ada/.local/bin")
        .directory("/home/ada/.local/lib")
        .directory("/home/ada/.local/share");
    host.directory("/home/ada/.cargo/lib").directory("/home/ada/.cargo/bin").directory("/home/ada/.tool");
    let path = "/home/ada/.local:/home/ada/.local/share:/home/ada/.cargo:/home/ada/.tool";
    check(&host, path, &[]);
    check(
        &host,
        "/home/ada/.local/bin:/home/ada/.cargo/bin",
        &["/home/ada/.cargo/bin", "/home/ada/.local/bin"],
    );
}

#[test]
fn a_prefix_with_secrets_in_it_shows_only_its_programs() {
    for sign in [".ssh/id_rsa", ".netrc", ".bashrc", ".git/config", ".env", "credentials.toml"] {
        let host = FabricatedHost::new();
        host.directory("/srv/old/bin").directory("/srv/old/lib").file(&format!("/srv/old/{sign}"), "");
        check(&host, "/srv/old/bin", &["/srv/old/bin"]);
        check(&host, "/srv/old", &[]);
    }
}

#[test]
fn a_manager_with_secrets_in_its_root_shows_only_its_shims() {
    let host = FabricatedHost::new();
    host.directory("/srv/old/shims").directory("/srv/old/versions").file("/srv/old/.ssh/id_rsa", "");
    check(&host, "/srv/old/shims", &["/srv/old/shims"]);
}

#[test]
fn links_to_secrets_lead_nowhere() {
    let host = FabricatedHost::new();
    host.program("/home/ada/.ssh/id_rsa").program("/home/ada/.config/token").program("/etc/shadow");
    host.link("/home/ada/bin/python3", "../.ssh/id_rsa")
        .link("/home/ada/bin/node", "/home/ada/.config/token");
    host.link("/home/ada/bin/uv", "/etc/shadow").link("/home/ada/bin/home", "/home/ada");
    host.link("/home/ada/tools", "/home/ada/.ssh");
    check(&host, "/home/ada/bin:/home/ada/tools", &["/home/ada/bin"]);
}

#[test]
fn link_loops_and_cycles_terminate() {
    let host = FabricatedHost::new();
    host.link("/home/ada/loop", "loop")
        .link("/home/ada/bin/python3", "python")
        .link("/home/ada/bin/python", "python3");
    host.file("/srv/one/pyvenv.cfg", "home = /srv/two/bin").directory("/srv/one/bin");
    host.file("/srv/two/pyvenv.cfg", "home = /srv/one/bin").directory("/srv/two/bin");
    let path = "/home/ada/loop:/home/ada/loop/bin:/home/ada/bin:/srv/one/bin";
    check(&host, path, &["/home/ada/bin", "/srv/one", "/srv/two"]);
}

#[test]
fn nonsense_on_the_path_is_left_out() {
    let host = FabricatedHost::new();
    host.directory("/srv/tools")
        .file("/srv/file", "")
        .directory("/workspace/bin")
        .directory("/usr/local/bin");
    let path = ":.:bin:../bin:/nowhere:/srv/file:/srv/tools/:/srv/./tools:/workspace/bin:/proc/self:/srv/../srv/tools:";
    let view = host.view(path);
    assert_eq!(toolchains(&view), ["/srv/tools"]);
    assert_eq!(own_path(&view), "/srv/tools");
}

#[test]
fn standard_directories_keep_their_position_in_path() {
    let host = FabricatedHost::new();
    host.directory("/srv/tools");
    let view = host.view("/usr/bin:/srv/tools:/usr/bin");
    assert_eq!(view.path, "/usr/bin:/srv/tools:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin");
}

#[test]
fn a_name_that_is_not_utf8_is_left_out_and_the_plan_can_be_serialized() {
    let host = FabricatedHost::new();
    let mut path = OsString::from_vec(b"/srv/b\xff/bin".to_vec());
    std::fs::create_dir_all(host.on_host("/srv").join(OsString::from_vec(b"b\xff/bin".to_vec()))).unwrap();
    host.directory("/srv/tools");
    path.push(":/srv/tools");
    let view = host_view(&HostDescription { path, ..host.host("") });
    assert_eq!(toolchains(&view), ["/srv/tools"]);
    let bytes = postcard::to_stdvec(&view).unwrap();
    assert_eq!(postcard::from_bytes::<HostView>(&bytes).unwrap(), view);
}
