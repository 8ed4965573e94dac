//! Sequential execution of a script's commands.

use std::io;
use std::path::{Path, PathBuf};

use super::parse::{
    ScriptCommand, ScriptCondition, ScriptRedirection, ScriptStream, ScriptWord, ScriptWordPiece, parse,
};
use crate::error_number::{self, reason};
use crate::file_system::FakeFileNode;
use crate::invocation::{FakeExit, FakeInvocation, OutputOpenMode};
use crate::resolve::FinalSymlink;
use crate::supervise::is_fatal;

/// `sh -c SCRIPT`.
pub(crate) async fn run(invocation: FakeInvocation) -> FakeExit {
    let script = match invocation.arguments() {
        [option, script] if option == "-c" => script,
        other => {
            invocation.complain(format!("sh: unsupported by the fake backend: {}\n", other.join(" "))).await;
            return FakeExit::Code(2);
        }
    };
    match parse(script) {
        Ok(steps) => {
            let number = invocation.machine.new_process_number();
            FakeShell { invocation, number, status: 0 }.run(&steps).await
        }
        Err(problem) => {
            invocation.complain(format!("sh: Syntax error: {problem}\n")).await;
            FakeExit::Code(2)
        }
    }
}

struct FakeShell {
    invocation: FakeInvocation,
    number: u64,
    status: i32,
}

/// Effect of a command on the rest of the script.
enum ScriptCommandEffect {
    Status(i32),
    End(FakeExit),
}

impl FakeShell {
    async fn run(mut self, steps: &[ScriptCommand]) -> FakeExit {
        for step in steps {
            let runs = match step.when {
                ScriptCondition::Always => true,
                ScriptCondition::AfterSuccess => self.status == 0,
                ScriptCondition::AfterFailure => self.status != 0,
            };
            if !runs {
                continue;
            }
            match self.step(step).await {
                ScriptCommandEffect::Status(status) => self.status = status,
                ScriptCommandEffect::End(exit) => return exit,
            }
        }
        FakeExit::Code(self.status)
    }

    async fn step(&mut self, step: &ScriptCommand) -> ScriptCommandEffect {
        if let Some((name, value)) = &step.assignment {
            let value = value.iter().map(|piece| self.text(piece)).collect();
            self.invocation.environment.insert(name.clone(), value);
        }
        let words: Vec<String> = step.words.iter().flat_map(|word| self.expand(word)).collect();
        let child = match self.redirected(&step.redirections) {
            Ok(child) => child,
            Err((path, error)) => {
                self.invocation.complain(format!("sh: cannot open {path}: {}\n", reason(&error))).await;
                return ScriptCommandEffect::Status(2);
            }
        };
        let texts: Vec<&str> = words.iter().map(String::as_str).collect();
        match texts[..] {
            [] | [":", ..] => ScriptCommandEffect::Status(0),
            ["exit"] => ScriptCommandEffect::End(FakeExit::Code(self.status)),
            ["exit", code] => self.exit(code).await,
            ["cd", path] => self.change_directory(path).await,
            ["kill", option, target] => self.kill(option, target).await,
            ["exec", _, ..] => ScriptCommandEffect::End(self.start(child, words[1..].to_vec()).await),
            _ => match self.start(child, words).await {
                FakeExit::Code(code) => ScriptCommandEffect::Status(code),
                FakeExit::Signal(signal) => {
                    self.invocation.complain(format!("{}\n", signal_name(signal))).await;
                    ScriptCommandEffect::Status(128 + signal)
                }
            },
        }
    }

    async fn start(&self, child: FakeInvocation, words: Vec<String>) -> FakeExit {
        let name = words.first().cloned().unwrap_or_default();
        let stderr = child.stderr.clone();
        match child.run(words).await {
            Ok(exit) => exit,
            Err(error) => {
                let _ignored = stderr.write(format!("sh: {name}: {}\n", not_run(&error)).as_bytes()).await;
                FakeExit::Code(if error.raw_os_error() == Some(libc::ENOENT) { 127 } else { 126 })
            }
        }
    }

    async fn exit(&self, code: &str) -> ScriptCommandEffect {
        if let Ok(code) = code.parse::<u8>() {
            return ScriptCommandEffect::End(FakeExit::Code(code.into()));
        }
        self.invocation.complain(format!("sh: exit: Illegal number: {code}\n")).await;
        ScriptCommandEffect::End(FakeExit::Code(2))
    }

    async fn change_directory(&mut self, path: &str) -> ScriptCommandEffect {
        let directory = {
            let files = self.invocation.machine.files();
            let directory = files.resolve(&self.invocation.directory, Path::new(path), FinalSymlink::Follow);
            directory
                .ok()
                .filter(|directory| matches!(files.get(directory), Some(FakeFileNode::Directory { .. })))
        };
        if let Some(directory) = directory {
            self.invocation.directory = directory;
            return ScriptCommandEffect::Status(0);
        }
        self.invocation.complain(format!("sh: cd: can't cd to {path}\n")).await;
        ScriptCommandEffect::Status(2)
    }

    /// `kill`. A fake script has no background processes, so the only process it can signal is itself.
    async fn kill(&self, option: &str, target: &str) -> ScriptCommandEffect {
        let number = option.strip_prefix('-').and_then(signal_number);
        match number {
            Some(signal) if target == self.number.to_string() && is_fatal(signal) => {
                ScriptCommandEffect::End(FakeExit::Signal(signal))
            }
            Some(_) if target == self.number.to_string() => ScriptCommandEffect::Status(0),
            Some(_) => {
                self.invocation.complain("sh: kill: No such process\n").await;
                ScriptCommandEffect::Status(1)
            }
            None => {
                self.invocation.complain(format!("sh: kill: Illegal option {option}\n")).await;
                ScriptCommandEffect::Status(2)
            }
        }
    }

    fn expand(&self, word: &ScriptWord) -> Vec<String> {
        let mut fields: Vec<String> = Vec::new();
        let mut joins_last = false;
        for piece in word {
            let text = self.text(piece);
            let splits = matches!(piece, ScriptWordPiece::Variable { quoted: false, .. });
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

    fn text(&self, piece: &ScriptWordPiece) -> String {
        match piece {
            ScriptWordPiece::Text(text) => text.clone(),
            ScriptWordPiece::Variable { name, .. } => self.value(name),
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

    fn redirected(&self, redirections: &[ScriptRedirection]) -> Result<FakeInvocation, (String, io::Error)> {
        let mut child = self.invocation.clone();
        for redirection in redirections {
            match redirection {
                ScriptRedirection::Input(path) => {
                    let path = self.path(path)?;
                    child.stdin = child.open_input(&path).map_err(with(&path))?;
                }
                ScriptRedirection::Output { stream, append, path } => {
                    let path = self.path(path)?;
                    let start = if *append { OutputOpenMode::End } else { OutputOpenMode::Empty };
                    let output = child.open_output(&path, start).map_err(with(&path))?;
                    match stream {
                        ScriptStream::Stdout => child.stdout = output,
                        ScriptStream::Stderr => child.stderr = output,
                    }
                }
                ScriptRedirection::Same { stream: ScriptStream::Stdout, other: ScriptStream::Stderr } => {
                    child.stdout = child.stderr.clone();
                }
                ScriptRedirection::Same { stream: ScriptStream::Stderr, other: ScriptStream::Stdout } => {
                    child.stderr = child.stdout.clone();
                }
                ScriptRedirection::Same { .. } => {}
            }
        }
        Ok(child)
    }

    fn path(&self, word: &ScriptWord) -> Result<PathBuf, (String, io::Error)> {
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
