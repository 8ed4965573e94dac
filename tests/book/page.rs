//! Execution of the command blocks of one page.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use menace_tests::{menace_binary, workspace_directory};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::markdown::{Fence, fences};
use crate::text_of;

/// Time limit of one block.
const BLOCK_LIMIT: Duration = Duration::from_mins(2);

/// Time that background processes have to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(10);

/// Ports in the pages. Each page gets free ones instead, so that pages can run concurrently.
const PORTS: [&str; 5] = ["8888", "8001", "8002", "8003", "8004"];

/// Executes the blocks of a page in order; fails at the first that fails or exceeds its time limit.
pub(crate) fn execute(page: &str) {
    let blocks: Vec<Fence> = fences(&text_of(page)).into_iter().filter(Fence::is_executed).collect();
    let checkout = Checkout::new();
    fs::write(checkout.script(), script(&blocks)).unwrap();
    let mut shell = checkout.shell();
    let status = loop {
        if let Some(status) = shell.try_wait().unwrap() {
            break status;
        }
        assert!(
            checkout.time_in_block() < BLOCK_LIMIT,
            "{}: time limit of {BLOCK_LIMIT:?} exceeded\n{}",
            checkout.place(page, &blocks),
            checkout.output()
        );
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(status.success(), "{}: {status}\n{}", checkout.place(page, &blocks), checkout.output());
}

/// All blocks as one script, which records the number of the block that it begins.
fn script(blocks: &[Fence]) -> String {
    let mut script = String::new();
    for (number, block) in blocks.iter().enumerate() {
        writeln!(script, "echo {number} > \"$BOOK_BLOCK\"\n{}", block.text).unwrap();
    }
    let free: Vec<TcpListener> = PORTS.iter().map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    for (port, listener) in PORTS.iter().zip(&free) {
        script = with_port(&script, port, &listener.local_addr().unwrap().port().to_string());
    }
    script
}

/// Replaces a port number, but not the same digits inside a longer number.
fn with_port(script: &str, port: &str, replacement: &str) -> String {
    let mut replaced = String::new();
    let mut rest = script;
    while let Some(start) = rest.find(port) {
        let (before, after) = (&rest[..start], &rest[start + port.len()..]);
        let is_part = before.ends_with(|letter: char| letter.is_ascii_alphanumeric())
            || after.starts_with(|letter: char| letter.is_ascii_alphanumeric());
        replaced += before;
        replaced += if is_part { port } else { replacement };
        rest = after;
    }
    replaced + rest
}

/// Temporary directory in which a page is executed. Its processes end when it is dropped.
struct Checkout {
    directory: TempDir,
}

impl Checkout {
    fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("menace-book-").tempdir().unwrap();
        let checkout = Self { directory };
        for name in ["bin", "home", "root"] {
            fs::create_dir(checkout.path(name)).unwrap();
        }
        symlink(menace_binary(), checkout.path("bin/menace")).unwrap();
        copy_tree(&workspace_directory().join("examples"), &checkout.path("root/examples"));
        checkout
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn script(&self) -> PathBuf {
        self.path("page.sh")
    }

    /// Starts the script in an environment of its own.
    fn shell(&self) -> Child {
        let output = File::create(self.path("output")).unwrap();
        let path = std::env::var("PATH").unwrap();
        fs::write(self.path("block"), "0\n").unwrap();
        Command::new("bash")
            .args(["-euo", "pipefail"])
            .arg(self.script())
            .current_dir(self.path("root"))
            .env_clear()
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .env("HOME", self.path("home"))
            .env("XDG_CACHE_HOME", self.path("home/cache"))
            .env("LANG", "C.UTF-8")
            .env("BOOK_BLOCK", self.path("block"))
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .process_group(0)
            .spawn()
            .unwrap()
    }

    fn block(&self) -> usize {
        fs::read_to_string(self.path("block")).unwrap().trim().parse().unwrap_or(0)
    }

    fn time_in_block(&self) -> Duration {
        let began = fs::metadata(self.path("block")).unwrap().modified().unwrap();
        began.elapsed().unwrap_or_default()
    }

    fn place(&self, page: &str, blocks: &[Fence]) -> String {
        let block = &blocks[self.block()];
        format!("{page}:{}\n{}", block.line, block.text)
    }

    fn output(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.path("output")).unwrap()).into_owned()
    }

    /// Processes that the page started: their environment or command line names its directory.
    fn processes(&self) -> Vec<Pid> {
        let wanted = self.directory.path().display().to_string();
        let names_it = |file: PathBuf| {
            fs::read(file).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(&wanted))
        };
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        numbers
            .filter(|number| *number != std::process::id().cast_signed())
            .filter(|number| {
                let process = Path::new("/proc").join(number.to_string());
                names_it(process.join("environ")) || names_it(process.join("cmdline"))
            })
            .filter_map(Pid::from_raw)
            .collect()
    }

    fn signal(&self, signal: Signal) {
        for process in self.processes() {
            // It may have ended meanwhile.
            let _ = kill_process(process, signal);
        }
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        let deadline = Instant::now() + GRACE;
        while !self.processes().is_empty() && Instant::now() < deadline {
            // Repeatedly: a server may start another sandbox daemon before it ends itself.
            self.signal(Signal::TERM);
            std::thread::sleep(Duration::from_millis(100));
        }
        self.signal(Signal::KILL);
    }
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        if path.is_dir() {
            if name != "__pycache__" {
                copy_tree(&path, &to.join(name));
            }
        } else {
            fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

#[test]
fn only_whole_port_numbers_are_replaced() {
    assert_eq!(with_port("-p 8888 :8888/x 18888 8888a", "8888", "1"), "-p 1 :1/x 18888 8888a");
}
