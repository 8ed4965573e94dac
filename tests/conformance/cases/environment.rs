//! Environment of a command: variables, working directory, isolation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use menace_model::sandbox::{ExecRequest, ResourceController, SandboxIsolation, SandboxSpec};
use menace_sandbox::{Backend, Sandbox};

use crate::harness::{names, read, sandbox};

async fn environment(sandbox: &dyn Sandbox, variables: &[(&str, &str)]) -> BTreeMap<String, String> {
    let request = ExecRequest { environment: owned(variables), ..ExecRequest::new(["env"]) };
    let printed = sandbox.exec(request).await.unwrap().stdout;
    let pairs = printed.lines().map(|line| line.split_once('=').expect("env prints NAME=VALUE"));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn owned(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

pub(crate) async fn the_environment_is_the_standard_one(backend: &dyn Backend) {
    let environment = environment(&*sandbox(backend).await, &[]).await;
    // Locations of toolchains are passed on, so that `python3` on the caller's PATH is the same inside.
    let toolchains = ["ASDF_DATA_DIR", "MISE_DATA_DIR", "PYENV_ROOT", "RUSTUP_HOME"];
    let names: Vec<&str> =
        environment.keys().map(String::as_str).filter(|name| !toolchains.contains(name)).collect();
    assert_eq!(names, ["HOME", "LANG", "PATH", "TERM", "TZ"]);
    assert_eq!(environment["HOME"], "/workspace");
    assert_eq!(environment["LANG"], "C.UTF-8");
    assert_eq!(environment["TZ"], "UTC");
    assert!(environment["PATH"].split(':').any(|directory| directory == "/usr/bin"), "{environment:?}");
}

pub(crate) async fn nothing_is_inherited_from_the_caller(backend: &dyn Backend) {
    assert!(
        std::env::var_os("CARGO_MANIFEST_DIR").is_some(),
        "the test itself has variables that could leak"
    );
    let environment = environment(&*sandbox(backend).await, &[]).await;
    let leaked: Vec<&String> =
        environment.keys().filter(|name| name.starts_with("CARGO") || name.starts_with("NEXTEST")).collect();
    assert!(leaked.is_empty(), "{leaked:?}");
}

pub(crate) async fn the_environment_of_the_command_wins(backend: &dyn Backend) {
    let spec = SandboxSpec {
        environment: owned(&[("ONE", "spec"), ("TWO", "spec"), ("TZ", "Europe/Berlin")]),
        ..SandboxSpec::default()
    };
    let sandbox = backend.create(spec).await.unwrap();
    let with_request = environment(&*sandbox, &[("TWO", "request"), ("LANG", "C"), ("EMPTY", "")]).await;
    for (name, value) in
        [("ONE", "spec"), ("TWO", "request"), ("TZ", "Europe/Berlin"), ("LANG", "C"), ("EMPTY", "")]
    {
        assert_eq!(with_request.get(name).map(String::as_str), Some(value), "{name}");
    }
    let without = environment(&*sandbox, &[]).await;
    assert_eq!(without["TWO"], "spec", "variables of a command must not outlive it");
    assert!(!without.contains_key("EMPTY"));
}

pub(crate) async fn values_of_variables_arrive_unchanged(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    for value in ["two  words", "a=b=c", "$HOME", "größe ☃", "line\nline"] {
        let environment = owned(&[("VALUE", value)]);
        let request = ExecRequest { environment, ..ExecRequest::new(["sh", "-c", "echo \"<$VALUE>\""]) };
        assert_eq!(sandbox.exec(request).await.unwrap().stdout, format!("<{value}>\n"));
    }
}

pub(crate) async fn commands_start_in_the_workspace(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    assert_eq!(sandbox.exec(ExecRequest::new(["pwd"])).await.unwrap().stdout, "/workspace\n");
    read(&*sandbox, "mkdir elsewhere; cd elsewhere").await;
    assert_eq!(
        read(&*sandbox, "pwd").await,
        "/workspace\n",
        "a command must not change the directory of the next one"
    );
}

pub(crate) async fn commands_start_in_the_given_directory(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    read(&*sandbox, "mkdir -p deep/er").await;
    for directory in ["/workspace/deep/er", "/tmp", "/"] {
        let request = ExecRequest { directory: Some(PathBuf::from(directory)), ..ExecRequest::new(["pwd"]) };
        assert_eq!(sandbox.exec(request).await.unwrap().stdout, format!("{directory}\n"));
    }
}

pub(crate) async fn a_missing_directory_is_an_error(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    read(&*sandbox, "echo text > file").await;
    for directory in ["/workspace/missing", "/workspace/file"] {
        let request = ExecRequest { directory: Some(PathBuf::from(directory)), ..ExecRequest::new(["true"]) };
        names(sandbox.exec(request).await, Path::new(directory));
    }
}

pub(crate) async fn the_isolation_matches_the_claimed_capabilities(backend: &dyn Backend) {
    let found = sandbox(backend).await.isolation().await.unwrap();
    if !backend.capabilities().isolates {
        assert_eq!(found, SandboxIsolation::default(), "a backend without isolation must report none");
        return;
    }
    assert!(found.user_ns && found.mount_ns && found.pid_ns && found.net_ns && found.ipc_ns, "{found:?}");
    assert!(found.no_capabilities && found.no_new_privs && found.seccomp, "{found:?}");
    // The spec has no CPU limit, so no controller enforces one.
    assert!(!found.controllers.contains_key(&ResourceController::Cpu), "{found:?}");
    assert!(found.controllers.contains_key(&ResourceController::Pids), "{found:?}");
}
