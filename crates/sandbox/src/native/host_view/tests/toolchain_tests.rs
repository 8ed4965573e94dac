//! Tests of toolchains on `PATH` outside the system directories.

use std::path::Path;

use super::super::plan::HostView;
use super::super::toolchain_of;
use super::fabricated::{FabricatedHost, own_path, toolchains};
use menace_isolation::root::SkeletonEntry;

/// Checks that a `PATH` shows exactly these paths, and stays unchanged.
fn check(host: &FabricatedHost, path: &str, shown: &[&str]) -> HostView {
    let view = host.view(path);
    assert_eq!(toolchains(&view), shown);
    assert_eq!(own_path(&view), path);
    view
}

fn pyenv(host: &FabricatedHost) {
    host.program("/home/ada/.pyenv/libexec/pyenv").program("/home/ada/.pyenv/shims/python3");
    host.link("/home/ada/.pyenv/bin/pyenv", "../libexec/pyenv").directory("/home/ada/.pyenv/.git");
    host.program("/home/ada/.pyenv/versions/3.12.1/bin/python3.12");
    host.directory("/home/ada/.pyenv/versions/3.12.1/lib/python3.12");
    host.program("/home/ada/.pyenv/plugins/pyenv-virtualenv/shims/activate");
}

#[test]
fn pyenv_is_shown_with_its_root() {
    let host = FabricatedHost::new();
    pyenv(&host);
    let path = "/home/ada/.pyenv/plugins/pyenv-virtualenv/shims:/home/ada/.pyenv/shims:/home/ada/.pyenv/bin";
    let view = check(&host, path, &["/home/ada/.pyenv"]);
    assert_eq!(view.environment["PYENV_ROOT"], "/home/ada/.pyenv");
    for directory in path.split(':') {
        assert_eq!(toolchains(&host.view(directory)), ["/home/ada/.pyenv"], "{directory}");
    }
}

#[test]
fn a_version_of_pyenv_that_is_a_link_is_followed() {
    let host = FabricatedHost::new();
    pyenv(&host);
    host.program("/srv/python/bin/python").directory("/srv/python/lib");
    host.link("/home/ada/.pyenv/versions/own", "/srv/python");
    let view = check(&host, "/home/ada/.pyenv/shims", &["/home/ada/.pyenv", "/srv/python"]);
    assert!(host.leads_to(&view, "/home/ada/.pyenv/versions/own/bin/python", "/srv/python/bin/python"));
}

#[test]
fn one_version_on_the_path_does_not_show_the_others() {
    let host = FabricatedHost::new();
    pyenv(&host);
    check(&host, "/home/ada/.pyenv/versions/3.12.1/bin", &["/home/ada/.pyenv/versions/3.12.1"]);
}

#[test]
fn a_virtual_environment_comes_with_its_base() {
    let host = FabricatedHost::new();
    pyenv(&host);
    host.file("/srv/job/.venv/pyvenv.cfg", "home = /home/ada/.pyenv/versions/3.12.1/bin\nversion = 3.12.1\n");
    host.directory("/srv/job/.venv/lib").link("/srv/job/.venv/bin/python", "python3");
    host.link("/srv/job/.venv/bin/python3", "/home/ada/.pyenv/versions/3.12.1/bin/python3.12");
    host.file("/srv/job/notes.txt", "");
    let view = check(&host, "/srv/job/.venv/bin", &["/home/ada/.pyenv/versions/3.12.1", "/srv/job/.venv"]);
    let python = "/home/ada/.pyenv/versions/3.12.1/bin/python3.12";
    assert!(host.leads_to(&view, "/srv/job/.venv/bin/python", python));
    assert!(!host.sees(&view, "/srv/job/notes.txt"));
}

#[test]
fn a_base_is_found_by_the_key_alone_and_by_the_link_alone() {
    let host = FabricatedHost::new();
    host.program("/srv/base/bin/python3").directory("/srv/base/lib");
    host.file("/srv/copied/pyvenv.cfg", "home=/srv/base/bin").program("/srv/copied/bin/python");
    host.file("/srv/linked/pyvenv.cfg", "version = 3\n")
        .link("/srv/linked/bin/python", "/srv/base/bin/python3");
    check(&host, "/srv/copied/bin", &["/srv/base", "/srv/copied"]);
    check(&host, "/srv/linked/bin", &["/srv/base", "/srv/linked"]);
}

#[test]
fn the_base_of_a_visible_environment_is_shown() {
    let host = FabricatedHost::new();
    host.program("/home/ada/python/bin/python3").directory("/home/ada/python/lib");
    host.file("/opt/venv/pyvenv.cfg", "home = /home/ada/python/bin").program("/opt/venv/bin/python");
    check(&host, "/opt/venv/bin", &["/home/ada/python", "/opt"]);
}

#[test]
fn an_environment_in_a_checkout_shows_only_its_parts() {
    let host = FabricatedHost::new();
    host.file("/srv/job/pyvenv.cfg", "home = /usr/bin").link("/srv/job/bin/python", "/usr/bin/python3.11");
    host.file("/srv/job/lib/python3.11/site-packages/a.py", "").link("/srv/job/lib64", "lib");
    host.file("/srv/job/.git/config", "").file("/srv/job/.env", "TOKEN=1");
    let view = check(&host, "/srv/job/bin", &["/srv/job/bin", "/srv/job/lib", "/srv/job/pyvenv.cfg"]);
    assert!(host.leads_to(&view, "/srv/job/lib64/python3.11", "/srv/job/lib/python3.11"));
}

#[test]
fn prefixes_of_many_kinds_are_shown() {
    let kinds: [(&str, &str, &[&str]); 7] = [
        ("/home/ada/miniconda3/condabin", "/home/ada/miniconda3", &["conda-meta"]),
        ("/home/ada/miniconda3/envs/work/bin", "/home/ada/miniconda3/envs/work", &["conda-meta", "lib"]),
        ("/home/ada/.nvm/versions/node/v22.1.0/bin", "/home/ada/.nvm/versions/node/v22.1.0", &["lib"]),
        (
            "/home/ada/.local/share/uv/python/cpython-3.12.4-linux-x86_64-gnu/bin",
            "/home/ada/.local/share/uv/python/cpython-3.12.4-linux-x86_64-gnu",
            &["lib"],
        ),
        ("/home/ada/sdk/go1.24/bin", "/home/ada/sdk/go1.24", &["pkg/tool", ".git"]),
        ("/home/linuxbrew/.linuxbrew/bin", "/home/linuxbrew/.linuxbrew", &["Cellar"]),
        ("/var/lib/jenkins/tools/bin", "/var/lib/jenkins/tools", &["share"]),
    ];
    for (directory, prefix, beside) in kinds {
        let host = FabricatedHost::new();
        host.directory(directory);
        for name in beside {
            host.directory(&format!("{prefix}/{name}"));
        }
        check(&host, directory, &[prefix]);
    }
}

#[test]
fn links_on_the_way_to_a_prefix_are_repeated() {
    let host = FabricatedHost::new();
    let java = "/home/ada/.sdkman/candidates/java";
    host.program(&format!("{java}/21.0.1/bin/java")).directory(&format!("{java}/21.0.1/lib"));
    host.link(&format!("{java}/current"), "21.0.1");
    let view = check(&host, &format!("{java}/current/bin"), &[&format!("{java}/21.0.1")]);
    assert!(host.leads_to(&view, &format!("{java}/current/bin/java"), &format!("{java}/21.0.1/bin/java")));
}

#[test]
fn a_home_behind_a_link_is_found_by_both_names() {
    let host = FabricatedHost::new();
    host.link("/people", "var/people").program("/var/people/eve/go/bin/tool");
    let view = check(&host, "/people/eve/go/bin", &["/var/people/eve/go/bin"]);
    assert!(host.leads_to(&view, "/people/eve/go/bin/tool", "/var/people/eve/go/bin/tool"));
}

#[test]
fn asdf_and_mise_are_shown_with_their_roots() {
    let host = FabricatedHost::new();
    host.program("/home/ada/.asdf/shims/python").directory("/home/ada/.asdf/installs/python/3.12");
    host.directory("/home/ada/.local/share/mise/installs").program("/home/ada/.local/bin/mise");
    host.link("/home/ada/.local/share/mise/shims/node", "/home/ada/.local/bin/mise");
    let path = "/home/ada/.asdf/shims:/home/ada/.local/share/mise/shims";
    let view =
        check(&host, path, &["/home/ada/.asdf", "/home/ada/.local/bin/mise", "/home/ada/.local/share/mise"]);
    assert_eq!(view.environment["ASDF_DATA_DIR"], "/home/ada/.asdf");
    assert_eq!(view.environment["MISE_DATA_DIR"], "/home/ada/.local/share/mise");
}

#[test]
fn cargo_is_shown_without_its_token() {
    let host = FabricatedHost::new();
    host.program("/home/ada/.cargo/bin/rustup").link("/home/ada/.cargo/bin/cargo", "rustup");
    host.file("/home/ada/.cargo/credentials.toml", "token").directory("/home/ada/.cargo/lib");
    host.directory("/home/ada/.rustup/toolchains/stable").file("/home/ada/.rustup/settings.toml", "");
    host.directory("/home/ada/.rustup/downloads");
    let shown = ["/home/ada/.cargo/bin", "/home/ada/.rustup/settings.toml", "/home/ada/.rustup/toolchains"];
    let view = check(&host, "/home/ada/.cargo/bin", &shown);
    assert_eq!(view.environment["RUSTUP_HOME"], "/home/ada/.rustup");
    let hashes = SkeletonEntry::Directory { target: "/home/ada/.rustup/update-hashes".into() };
    assert!(view.entries.contains(&hashes));
}

#[test]
fn links_of_pipx_and_uv_are_followed_to_their_environments() {
    let host = FabricatedHost::new();
    let share = "/home/ada/.local/share";
    let uv = format!("{share}/uv/python/cpython-3.12.4-linux");
    host.program(&format!("{uv}/bin/python3.12")).directory(&format!("{uv}/lib"));
    host.link(&format!("{share}/uv/python/cpython-3.12-linux"), "cpython-3.12.4-linux");
    host.link(
        "/home/ada/.local/bin/python3.12",
        &format!("{share}/uv/python/cpython-3.12-linux/bin/python3.12"),
    );
    let black = format!("{share}/pipx/venvs/black");
    host.file(&format!("{black}/pyvenv.cfg"), "home = /usr/bin").program(&format!("{black}/bin/black"));
    host.link("/home/ada/.local/bin/black", &format!("{black}/bin/black"));
    host.file(&format!("{share}/keyrings/login.keyring"), "").directory("/home/ada/.local/lib");
    let view = check(&host, "/home/ada/.local/bin", &["/home/ada/.local/bin", &black, &uv]);
    let python = format!("{uv}/bin/python3.12");
    assert!(host.leads_to(&view, "/home/ada/.local/bin/python3.12", &python));
    assert!(host.leads_to(&view, "/home/ada/.local/bin/black", &format!("{black}/bin/black")));
}

#[test]
fn a_link_to_a_program_alone_shows_the_program_alone() {
    let host = FabricatedHost::new();
    host.program("/home/ada/work/tool.sh").file("/home/ada/work/diary.txt", "").directory("/home/ada/bin");
    host.link("/home/ada/bin/tool", "../work/tool.sh").link("/home/ada/bin/diary", "../work/diary.txt");
    check(&host, "/home/ada/bin", &["/home/ada/bin", "/home/ada/work/tool.sh"]);
}

#[test]
fn the_number_of_followed_links_is_limited() {
    let host = FabricatedHost::new();
    for number in 0..100 {
        host.program(&format!("/home/ada/work/{number}.sh"));
        host.link(&format!("/home/ada/bin/{number}"), &format!("../work/{number}.sh"));
    }
    assert_eq!(toolchains(&host.view("/home/ada/bin")).len(), 33);
}

#[test]
fn an_interpreter_linked_from_a_system_directory_is_shown() {
    let host = FabricatedHost::new();
    host.program("/srv/python/bin/python3.13").directory("/srv/python/lib");
    host.link("/usr/local/bin/python3", "/srv/python/bin/python3.13");
    let view = host.view("/usr/local/bin:/usr/bin");
    assert!(host.leads_to(&view, "/usr/local/bin/python3", "/srv/python/bin/python3.13"));
}

#[test]
fn a_prefix_in_a_prefix_is_shown_once() {
    let host = FabricatedHost::new();
    host.directory("/srv/conda/conda-meta").directory("/srv/conda/bin");
    host.directory("/srv/conda/envs/a/conda-meta")
        .directory("/srv/conda/envs/a/bin")
        .directory("/srv/conda-b/bin");
    let path = "/srv/conda/envs/a/bin:/srv/conda-b/bin:/srv/conda/bin";
    check(&host, path, &["/srv/conda", "/srv/conda-b/bin"]);
}

#[test]
fn the_toolchain_of_a_program_holds_only_entries_missing_in_the_view() {
    let host = FabricatedHost::new();
    pyenv(&host);
    host.file("/srv/job/.venv/pyvenv.cfg", "home = /home/ada/.pyenv/versions/3.12.1/bin\n");
    host.link("/srv/job/.venv/bin/python", "/home/ada/.pyenv/versions/3.12.1/bin/python3.12");
    let python = Path::new("/srv/job/.venv/bin/python");
    let mut view = host.view("/usr/bin");
    let added = toolchain_of(python, &host.host(""), &view);
    view.entries.extend(added);
    assert_eq!(toolchains(&view), ["/home/ada/.pyenv/versions/3.12.1", "/srv/job/.venv"]);
    assert!(host.leads_to(
        &view,
        "/srv/job/.venv/bin/python",
        "/home/ada/.pyenv/versions/3.12.1/bin/python3.12"
    ));

    assert_eq!(toolchain_of(python, &host.host(""), &view), []);
    for nothing in ["/usr/bin/python3.11", "/nowhere/python", "python", "/etc/shadow", "/home/ada"] {
        assert_eq!(toolchain_of(Path::new(nothing), &host.host(""), &view), [], "{nothing}");
    }
}

#[test]
fn the_toolchain_of_a_program_may_contain_entries_of_the_view() {
    let host = FabricatedHost::new();
    pyenv(&host);
    let view = host.view("/home/ada/.pyenv/versions/3.12.1/bin");
    let added = toolchain_of(Path::new("/home/ada/.pyenv/shims/python3"), &host.host(""), &view);
    let target = "/home/ada/.pyenv";
    assert_eq!(added, [SkeletonEntry::Bind { source: host.on_host(target), target: target.into() }]);
}
