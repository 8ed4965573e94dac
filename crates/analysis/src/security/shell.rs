//! Process creation, with and without a shell.

use menace_model::inventory::FindingSeverity::{High, Low, Medium};

use super::argument_value::{self, ArgumentValue};
use super::call::CheckedCall;
use super::report::SecurityIssue;
use crate::syntax::{Expr, ast};

/// Keyword argument that makes any call relevant to this module.
pub(super) const KEYWORD: &str = "shell";

const SUBPROCESS: &[&str] = &[
    "subprocess.Popen",
    "subprocess.call",
    "subprocess.check_call",
    "subprocess.check_output",
    "subprocess.run",
];

const WITH_SHELL: &[&str] = &[
    "os.system",
    "os.popen",
    "os.popen2",
    "os.popen3",
    "os.popen4",
    "popen2.popen2",
    "popen2.popen3",
    "popen2.popen4",
    "popen2.Popen3",
    "popen2.Popen4",
    "commands.getoutput",
    "commands.getstatusoutput",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
];

const WITHOUT_SHELL: &[&str] = &[
    "os.execl",
    "os.execle",
    "os.execlp",
    "os.execlpe",
    "os.execv",
    "os.execve",
    "os.execvp",
    "os.execvpe",
    "os.spawnl",
    "os.spawnle",
    "os.spawnlp",
    "os.spawnlpe",
    "os.spawnv",
    "os.spawnve",
    "os.spawnvp",
    "os.spawnvpe",
    "os.startfile",
];

/// Every function that starts a process.
pub(super) fn functions() -> impl Iterator<Item = &'static str> {
    SUBPROCESS.iter().chain(WITH_SHELL).chain(WITHOUT_SHELL).copied()
}

/// B602: `subprocess` with a shell.
pub(super) fn subprocess_with_shell(call: &CheckedCall) -> Option<SecurityIssue> {
    if !call.is_one_of(SUBPROCESS) || !has_shell(call) {
        return None;
    }
    let issue = match argument_value::string(call.arguments().first()?) {
        Some(_) => SecurityIssue::new("B602", Low, High, "fixed command does not need a shell"),
        None => SecurityIssue::new("B602", High, High, "shell runs a command that is built at run time"),
    };
    Some(issue.at(call.keyword_offset(KEYWORD)))
}

/// B603: `subprocess` without a shell.
pub(super) fn subprocess_without_shell(call: &CheckedCall) -> Option<SecurityIssue> {
    (call.is_one_of(SUBPROCESS) && !has_shell(call)).then(|| {
        let issue =
            SecurityIssue::new("B603", Low, High, "starts a process; check the source of its arguments");
        issue.at(call.keyword_offset(KEYWORD))
    })
}

/// B604: any other function that takes `shell=True`.
pub(super) fn shell_keyword(call: &CheckedCall) -> Option<SecurityIssue> {
    (!call.is_one_of(SUBPROCESS) && has_shell(call)).then(|| {
        let issue = SecurityIssue::new("B604", Medium, Low, "function call with shell=True");
        issue.at(call.keyword_offset(KEYWORD))
    })
}

/// B605: functions that always use a shell.
pub(super) fn process_with_shell(call: &CheckedCall) -> Option<SecurityIssue> {
    if !call.is_one_of(WITH_SHELL) {
        return None;
    }
    Some(match argument_value::string(call.arguments().first()?) {
        Some(_) => SecurityIssue::new("B605", Low, High, "fixed command does not need a shell"),
        None => SecurityIssue::new("B605", High, High, "shell runs a command that is built at run time"),
    })
}

/// B606: functions that never use a shell.
pub(super) fn process_without_shell(call: &CheckedCall) -> Option<SecurityIssue> {
    call.is_one_of(WITHOUT_SHELL).then(|| SecurityIssue::new("B606", Low, Medium, "starts a process"))
}

/// B607: a program without its directory, so that `PATH` decides which one runs.
pub(super) fn partial_path(call: &CheckedCall) -> Option<SecurityIssue> {
    let program = match call.arguments().first()? {
        Expr::List(list) => list.elts.first()?,
        argument => argument,
    };
    let starts_process = functions().any(|name| call.is(name));
    (starts_process && argument_value::string(program).is_some_and(|path| !is_located(path)))
        .then(|| SecurityIssue::new("B607", Low, High, "PATH decides which program runs"))
}

/// Whether a path contains its directory, as `/bin/ls`, `./ls`, `C:\ls` and `\\host\ls` do.
fn is_located(path: &str) -> bool {
    match path.as_bytes() {
        [b'/' | b'\\' | b'.', ..] => true,
        [letter, b':', ..] => letter.is_ascii_alphabetic(),
        _ => false,
    }
}

const WILDCARD_COMMANDS: &[&str] = &["chown", "chmod", "tar", "rsync"];

/// B609: commands with a `*` whose matching file names can be taken for options.
pub(super) fn wildcard(call: &CheckedCall) -> Option<SecurityIssue> {
    let in_shell =
        call.is_one_of(WITH_SHELL) || call.is_one_of(SUBPROCESS) && call.keyword_is(KEYWORD, "True");
    if !in_shell {
        return None;
    }
    let command = match call.argument(0)? {
        ArgumentValue::Text(text) => text.to_owned(),
        ArgumentValue::List(elements) => {
            elements.iter().filter_map(|word| literal_text(word)).collect::<Vec<_>>().join(" ")
        }
        _ => return None,
    };
    (command.contains('*') && WILDCARD_COMMANDS.iter().any(|name| command.contains(name))).then(|| {
        let issue =
            SecurityIssue::new("B609", High, Medium, "a file name that matches * can be taken for an option");
        issue.at(call.keyword_offset(KEYWORD))
    })
}

/// Text of a list element; an attribute inside a list has none.
fn literal_text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Attribute(_) => None,
        other => ArgumentValue::of(other)?.text(),
    }
}

/// Whether `shell` is passed and true, or not known to be false.
fn has_shell(call: &CheckedCall) -> bool {
    call.keyword(KEYWORD).is_some_and(|value| match value {
        Expr::BooleanLiteral(boolean) => boolean.value,
        Expr::NumberLiteral(number) => match &number.value {
            ast::Number::Int(integer) => integer.as_u64() != Some(0),
            ast::Number::Float(float) => *float != 0.0,
            ast::Number::Complex { real, imag } => *real != 0.0 || *imag != 0.0,
        },
        Expr::NoneLiteral(_) => false,
        Expr::StringLiteral(string) => !string.value.is_empty(),
        Expr::BytesLiteral(bytes) => !bytes.value.is_empty(),
        Expr::List(list) => !list.elts.is_empty(),
        Expr::Dict(dictionary) => !dictionary.items.is_empty(),
        _ => true,
    })
}
