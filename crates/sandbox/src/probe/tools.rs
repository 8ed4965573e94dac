//! Probes of third-party programs, each by running it.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::failure::{ProbeFailure, step_failed};

/// Oldest supported Python version.
const OLDEST_PYTHON: (u32, u32) = (3, 9);

/// Runs a command inside bubblewrap.
pub(super) fn bubblewrap() -> Result<String, ProbeFailure> {
    let output = run("bwrap", &["--unshare-all", "--ro-bind", "/", "/", "true"], b"")?;
    if !output.status.success() {
        return Err(ProbeFailure::Explained {
            reason: format!("bwrap cannot run a command: {}", first_line(&output.stderr)),
            remedy: "bwrap needs the namespaces above".to_owned(),
        });
    }
    Ok("ran a command".to_owned())
}

/// Starts an emulator without a machine and quits it through its monitor.
pub(super) fn qemu() -> Result<String, ProbeFailure> {
    let arguments = ["-machine", "none", "-nodefaults", "-display", "none", "-monitor", "stdio"];
    let output = run("qemu-system-x86_64", &arguments, b"quit\n")?;
    let monitor = first_line(&output.stdout);
    if !output.status.success() || !monitor.contains("monitor") {
        return Err(ProbeFailure::Absent {
            what: format!("qemu does not start: {}", first_line(&output.stderr)),
        });
    }
    Ok(monitor.split(" monitor").next().unwrap_or_default().to_owned())
}

/// Runs Python and checks its version.
pub(super) fn python() -> Result<String, ProbeFailure> {
    let script = "import sys; print(sys.version_info[0], sys.version_info[1], sys.executable)";
    let output = run("python3", &["-c", script], b"")?;
    if !output.status.success() {
        return Err(ProbeFailure::Absent {
            what: format!("python3 does not run: {}", first_line(&output.stderr)),
        });
    }
    judge_python(&first_line(&output.stdout))
}

fn judge_python(answer: &str) -> Result<String, ProbeFailure> {
    let mut words = answer.splitn(3, ' ');
    let mut number = || words.next().and_then(|word| word.parse::<u32>().ok());
    let (Some(major), Some(minor)) = (number(), number()) else {
        return Err(ProbeFailure::Absent { what: format!("python3 answered {answer:?}") });
    };
    let found = format!("Python {major}.{minor} at {}", words.next().unwrap_or_default());
    if (major, minor) < OLDEST_PYTHON {
        return Err(ProbeFailure::Absent { what: format!("{found} is too old") });
    }
    Ok(found)
}

/// Pings the Docker engine. The client alone is not enough.
pub(super) fn docker() -> Result<String, ProbeFailure> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let address = engine_address(variable("DOCKER_HOST"), variable("XDG_RUNTIME_DIR"), Path::exists);
    if let Some(socket) = address.strip_prefix("unix://") {
        let stream = UnixStream::connect(socket).map_err(step_failed(format!("connect to {socket}")))?;
        return ping(stream, &address);
    }
    let Some(host) = address.strip_prefix("tcp://").or(address.strip_prefix("http://")) else {
        return Err(ProbeFailure::Absent { what: format!("unsupported engine address {address}") });
    };
    if variable("DOCKER_TLS_VERIFY").is_some() {
        return Err(ProbeFailure::Absent { what: format!("{address} uses TLS and was not probed") });
    }
    let stream = TcpStream::connect(host).map_err(step_failed(format!("connect to {host}")))?;
    ping(stream, &address)
}

/// Address of the engine: `DOCKER_HOST`, else the user's engine, else the host's.
fn engine_address(host: Option<String>, runtime: Option<String>, exists: fn(&Path) -> bool) -> String {
    let user_socket = runtime.map(|directory| PathBuf::from(directory).join("docker.sock"));
    let user_socket =
        user_socket.filter(|socket| exists(socket)).map(|socket| format!("unix://{}", socket.display()));
    host.or(user_socket).unwrap_or_else(|| "unix:///var/run/docker.sock".to_owned())
}

fn ping(mut stream: impl Read + Write, address: &str) -> Result<String, ProbeFailure> {
    let asking = || step_failed(format!("ping the engine at {address}"));
    stream.write_all(b"GET /_ping HTTP/1.0\r\nHost: docker\r\n\r\n").map_err(asking())?;
    let mut answer = Vec::new();
    // An answer has a few hundred bytes; the limit protects memory if another service listens at the address.
    stream.take(1 << 16).read_to_end(&mut answer).map_err(asking())?;
    let answer = String::from_utf8_lossy(&answer);
    let is_ok = answer.lines().next().is_some_and(|status| status.split(' ').nth(1) == Some("200"));
    if !is_ok || !answer.ends_with("OK") {
        let status = answer.lines().next().unwrap_or_default();
        return Err(ProbeFailure::Absent { what: format!("no engine answers at {address}: {status:?}") });
    }
    let version = answer.lines().find_map(|line| line.strip_prefix("Api-Version: "));
    Ok(format!("the engine at {address} answers, API {}", version.unwrap_or("unknown")))
}

fn run(program: &str, arguments: &[&str], input: &[u8]) -> Result<Output, ProbeFailure> {
    let start = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = start.map_err(|error| match error.kind() {
        // A directory in PATH that this user may not enter gives the same error as a file that may not be executed.
        ErrorKind::NotFound | ErrorKind::PermissionDenied => {
            ProbeFailure::Absent { what: "no executable in this user's PATH".to_owned() }
        }
        _ => step_failed(format!("start {program}"))(error),
    })?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that exited before it read its input reports the reason in its output.
        let _ = stdin.write_all(input);
    }
    child.wait_with_output().map_err(step_failed(format!("wait for {program}")))
}

fn first_line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).lines().next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// Connection with a fixed answer that records the request.
    struct ScriptedEngineConnection {
        answer: Cursor<&'static str>,
        asked: Vec<u8>,
    }

    impl Read for ScriptedEngineConnection {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.answer.read(buffer)
        }
    }

    impl Write for ScriptedEngineConnection {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.asked.write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[track_caller]
    fn check_ping(answer: &'static str, expected: Option<&str>) {
        let mut engine = ScriptedEngineConnection { answer: Cursor::new(answer), asked: Vec::new() };
        let found = ping(&mut engine, "unix:///socket");
        assert!(engine.asked.starts_with(b"GET /_ping "));
        match (found, expected) {
            (Ok(found), Some(expected)) => assert!(found.contains(expected), "{found}"),
            (Err(_), None) => {}
            (found, expected) => panic!("{found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn only_an_ok_answer_is_an_engine() {
        check_ping("HTTP/1.0 200 OK\r\nApi-Version: 1.41\r\n\r\nOK", Some("API 1.41"));
        check_ping("HTTP/1.0 200 OK\r\n\r\n<html>", None);
        check_ping("HTTP/1.0 500 Internal Server Error\r\n\r\nOK", None);
        check_ping("", None);
    }

    #[test]
    fn engine_address_is_the_named_else_the_users_else_the_hosts() {
        let named = || Some("tcp://elsewhere:2375".to_owned());
        let runtime = || Some("/run/user/7".to_owned());
        assert_eq!(engine_address(named(), runtime(), |_| true), "tcp://elsewhere:2375");
        assert_eq!(engine_address(None, runtime(), |_| true), "unix:///run/user/7/docker.sock");
        assert_eq!(engine_address(None, runtime(), |_| false), "unix:///var/run/docker.sock");
        assert_eq!(engine_address(None, None, |_| true), "unix:///var/run/docker.sock");
    }

    #[test]
    fn old_python_versions_are_rejected() {
        assert_eq!(judge_python("3 9 /usr/bin/python3").unwrap(), "Python 3.9 at /usr/bin/python3");
        for answer in ["3 8 /usr/bin/python3", "2 7 /usr/bin/python", "", "three nine x"] {
            assert!(judge_python(answer).is_err(), "{answer}");
        }
    }
}
