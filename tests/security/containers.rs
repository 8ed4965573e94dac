//! Containers and volumes of one test, queried from the engine directly and not through the code under test.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use menace_sandbox::docker::DockerOptions;
use menace_tests::docker_options;
use serde_json::Value;

use crate::host::control_groups;

/// Containers of this process's owner.
pub(crate) struct TestContainers {
    pub(crate) options: DockerOptions,
}

impl TestContainers {
    pub(crate) fn of_this_test() -> Self {
        Self { options: docker_options().expect("with_docker checked that an engine is available") }
    }

    /// Names of the existing containers and volumes.
    pub(crate) fn all(&self) -> Vec<String> {
        let volumes = self.ask("/volumes?")["Volumes"].clone();
        let volumes = volumes.as_array().cloned().unwrap_or_default();
        let names = volumes.iter().filter_map(|volume| volume["Name"].as_str().map(str::to_owned));
        self.ids().into_iter().chain(names).collect()
    }

    /// Processes in the containers' control groups.
    pub(crate) fn processes(&self) -> BTreeSet<i32> {
        let groups = self.ids().into_iter().flat_map(|id| control_groups(&id));
        let lists = groups.map(|group| fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default());
        lists.flat_map(|list| list.lines().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>()).collect()
    }

    fn ids(&self) -> Vec<String> {
        let containers = self.ask("/containers/json?all=1&");
        let containers = containers.as_array().cloned().unwrap_or_default();
        containers.iter().filter_map(|container| container["Id"].as_str().map(str::to_owned)).collect()
    }

    fn ask(&self, path: &str) -> Value {
        let filters = format!("%7B%22label%22%3A%5B%22menace.owner%3D{}%22%5D%7D", self.options.owner);
        let mut socket = UnixStream::connect(self.options.host.trim_start_matches("unix://")).unwrap();
        write!(socket, "GET {path}filters={filters} HTTP/1.0\r\nHost: engine\r\n\r\n").unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.0 200"), "{answer}");
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap()
    }
}
