//! Sequential execution of a script's commands.

use std::io;
use std::path::{Path, PathBuf};

use super::parse::{Piece, Redirection, Step, Stream, When, Word, parse};
use crate::fake::error_number::{self, reason};
use crate::fake::files::Node;
use crate::fake::invocation::{Exit, Invocation, WriteStart};
use crate::fake::resolve::LastLink;
use crate::fake::supervise::is_fatal;

/// `sh -c SCRIPT`.
pub(in crate::fake) async fn run(invocation: Invocation) -> Exit {
    let script = match invocation.arguments() {
        [option, script] if option == "-c" => script,
        other => {
            invocation.complain(format!("sh: unsupported by the fake backend: {}\n", other.join(" "))).await;
            return Exit::Code(2);
        }
    };
    match parse(script) {
        Ok(steps) => {
            let number = invocation.machine.new_process_number();
            Shell { invocation, number, status: 0 }.run(&steps).await
        }
        Err(problem) => {
            invocation.complain(format!("sh: Syntax error: {problem}\n")).await;
            Exit::Code(2)
        }
    }
}

struct Shell {
    invocation: Invocation,
    number: u64,
    status: i32,
}

/// Effect of a command on the rest of the script.
enum Next {
    Status(i32),
    End(Exit),
}

impl Shell {
    async fn run(mut self, steps: &[Step]) -> Exit {
        for step in steps {
            let runs = match step.when {
                When::Always => true,
                When::AfterSuccess => self.status == 0,
                When::AfterFailure => self.status != 0,
            };
            if !runs {
                continue;
            }
            match self.step(step).await {
                Next::Status(status) => self.status = status,
                Next::End(exit) => return exit,
            }
        }
        Exit::Code(self.status)
    }

    async fn step(&mut self, step: &Step) -> Next {
        if let Some((name, value)) = &step.assignment {
            let value = value.iter().map(|piece| self.text(piece)).collect();
            self.invocation.environment.insert(name.clone(), value);
        }
        let words: Vec<String> = step.words.iter().flat_map(|word| self.expand(word)).collect();
        let child = match self.redirected(&step.redirections) {
            Ok(child) => child,
            Err((path, error)) => {
                self.invocation.complain(format!("sh: cannot open {path}: {}\n", reason(&error))).await;
                return Next::Status(2);
            }
        };
        let texts: Vec<&str> = words.iter().map(String::as_str).collect();
        match texts[..] {
            [] | [":", ..] => Next::Status(0),
            ["exit"] => Next::End(Exit::Code(self.status)),
            ["exit", code] => self.exit(code).await,
            ["cd", path] => self.change_directory(path).await,
            ["kill", option, target] => self.kill(option, target).await,
            ["exec", _, ..] => Next::End(self.start(child, words[1..].to_vec()).await),
            _ => match self.start(child, words).await {
                Exit::Code(code) => Next::Status(code),
                Exit::Signal(signal) => {
                    self.invocation.complain(format!("{}\n", signal_name(signal))).await;
                    Next::Status(128 + signal)
                }
            },
        }
    }

    async fn start(&self, child: Invocation, words: Vec<String>) -> Exit {
        let name = words.first().cloned().unwrap_or_default();
        let stderr = child.stderr.clone();
        match child.run(words).await {
            Ok(exit) => exit,
            Err(error) => {
                let _ignored = stderr.write(format!("sh: {name}: {}\n", not_run(&error)).as_bytes()).await;
                Exit::Code(if error.raw_os_error() == Some(libc::ENOENT) { 127 } else { 126 })
            }
        }
    }

    async fn exit(&self, code: &str) -> Next {
        if let Ok(code) = code.parse::<u8>() {
            return Next::End(Exit::Code(code.into()));
        }
        self.invocation.complain(format!("sh: exit: Illegal number: {code}\n")).await;
        Next::End(Exit::Code(2))
    }

    async fn change_directory(&mut self, path: &str) -> Next {
        let directory = {
            let files = self.invocation.machine.files();
            let directory = files.resolve(&self.invocation.directory, Path::new(path), LastLink::Follow);
            directory.ok().filter(|directory| matches!(files.get(directory), Some(Node::Directory { .. })))
        };
        if let Some(directory) = directory {
            self.invocation.directory = directory;
            return Next::Status(0);
        }
        self.invocation.complain(format!("sh: cd: can't cd to {path}\n")).await;
        Next::Status(2)
    }

    /// `kill`. A fake script has no background processes, so the only process it can signal is itself.
    async fn kill(&self, option: &str, target: &str) -> Next {
        let number = option.strip_prefix('-').and_then(signal_number);
        match number {
            Some(signal) if target == self.number.to_string() && is_fatal(signal) => {
                Next::End(Exit::Signal(signal))
            }
            Some(_) if target == self.number.to_string() => Next::Status(0),
            Some(_) => {
                self.invocation.complain("sh: kill: No such process\n").await;
                Next::Status(1)
            }
            None => {
                self.invocation.complain(format!("sh: kill: Illegal option {option}\n")).await;
                Next::Status(2)
            }
        }
    }

    fn expand(&self, word: &Word) -> Vec<String> {
        let mut fields: Vec<String> = Vec::new();
        let mut joins_last = false;
        for piece in word {
            let text = self.text(piece);
            let splits = matches!(piece, Piece::Variable { quoted: false, .. });
            let parts: Vec<&str> = if splits { text.split_whitespace().collect() } else { vec![&text] };
            let starts_apart = splits && text.starts_with(char::is_whitespace);
            for (index, part) in parts.iter().enumerate() {
                match fields.last_mut() {
                    Some(last) if index == 0 && joins_last && !starts_apart => last.push_str(part),
                    _ => fields.push((*part).to_owned()),
                }
            }
            joins_last = if parts.is_empty() {
                joins_last && text.is_empty()
            } else {
                !(splits && text.ends_with(char::is_whitespace))
            };
        }
        fields
    }

    fn text(&self, piece: &Piece) -> String {
        match piece {
            Piece::Text(text) => text.clone(),
            Piece::Variable { name, .. } => self.value(name),
        }
    }

    fn value(&self, name: &str) -> String {
        match name {
            "$" => self.number.to_string(),
            "?" => self.status.to_string(),
            "PWD" => self.invocation.directory.display().to_string(),
            name => self.invocation.environment.get(name).cloned().unwrap_or_default(),
        }
    }

    fn redirected(&self, redirections: &[Redirection]) -> Result<Invocation, (String, io::Error)> {
        let mut child = self.invocation.clone();
        for redirection in redirections {
            match redirection {
                Redirection::Input(path) => {
                    let path = self.path(path)?;
                    child.stdin = child.open_input(&path).map_err(with(&path))?;
                }
                Redirection::Output { stream, append, path } => {
                    let path = self.path(path)?;
                    let start = if *append { WriteStart::End } else { WriteStart::Empty };
                    let output = child.open_output(&path, start).map_err(with(&path))?;
                    match stream {
                        Stream::Stdout => child.stdout = output,
                        Stream::Stderr => child.stderr = output,
                    }
                }
                Redirection::Same { stream: Stream::Stdout, other: Stream::Stderr } => {
                    child.stdout = child.stderr.clone();
                }
                Redirection::Same { stream: Stream::Stderr, other: Stream::Stdout } => {
                    child.stderr = child.stdout.clone();
                }
                Redirection::Same { .. } => {}
            }
        }
        Ok(child)
    }

    fn path(&self, word: &Word) -> Result<PathBuf, (String, io::Error)> {
        let fields = self.expand(word);
        match fields.as_slice() {
            [path] => Ok(PathBuf::from(path)),
            other => Err((other.join(" "), error_number::missing())),
        }
    }
}

fn with(path: &Path) -> impl FnOnce(io::Error) -> (String, io::Error) {
    let path = path.display().to_string();
    move |error| (path, error)
}

fn not_run(error: &io::Error) -> String {
    if error.raw_os_error() == Some(libc::ENOENT) { "not found".to_owned() } else { reason(error) }
}

fn signal_number(text: &str) -> Option<i32> {
    match text {
        "KILL" => Some(libc::SIGKILL),
        "TERM" => Some(libc::SIGTERM),
        number => number.parse().ok(),
    }
}

/// Text that dash prints about a child that a signal ended.
fn signal_name(signal: i32) -> String {
    match signal {
        libc::SIGKILL => "Killed".to_owned(),
        libc::SIGTERM => "Terminated".to_owned(),
        other => format!("Signal {other}"),
    }
}
