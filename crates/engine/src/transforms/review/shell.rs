//! Commands that do not need a shell.

use super::scope::{TransformScope, is_plain, name_of, single_rewrite, text_of, without};
use super::{Cause, ProposalGain, SourceRewrite, Transform};
use crate::editable_source::EditableSource;
use crate::syntax::{Expr, Ranged, ast};

/// Runs a simple command without a shell.
#[derive(Debug)]
pub(in crate::transforms) struct ShellList;

impl Transform for ShellList {
    fn name(&self) -> &'static str {
        "shell-list"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(scene) = TransformScope::of_review(source, cause) else { return Vec::new() };
        let mut edits = source.edit();
        for (call, full) in scene.calls() {
            let is_start = matches!(
                full.strip_prefix("subprocess."),
                Some("run" | "call" | "check_call" | "check_output" | "Popen")
            );
            let shell = call.arguments.find_keyword("shell");
            let Some(shell) = shell.filter(|_| is_start && is_plain(call)) else { continue };
            let is_on = matches!(&shell.value, Expr::BooleanLiteral(on) if on.value);
            let Some(command) = call.arguments.args.first() else { continue };
            if is_on
                && call.arguments.find_keyword("executable").is_none()
                && let Some(words) = words(&scene, command)
            {
                edits =
                    without(edits.replace(command, format!("[{}]", words.join(", "))), call, shell.range());
            }
        }
        let why = "Run the command without a shell, so that its arguments cannot inject other commands.";
        single_rewrite(edits.finish(), why, ProposalGain::Findings)
    }
}

/// Elements of the argument list, as Python expressions.
fn words(scene: &TransformScope, command: &Expr) -> Option<Vec<String>> {
    let (fixed, last) = match command {
        Expr::StringLiteral(_) => (text_of(command)?.to_owned(), None),
        Expr::FString(text) => formatted(scene, text)?,
        Expr::BinOp(sum) if sum.op == ast::Operator::Add => {
            (text_of(&sum.left)?.to_owned(), Some(name_of(&sum.right)?.to_owned()))
        }
        _ => return None,
    };
    // A name directly after a letter is only a part of a word.
    if last.is_some() && !fixed.ends_with(' ') {
        return None;
    }
    let words: Vec<&str> = fixed.split(' ').filter(|word| !word.is_empty()).collect();
    let program = words.first()?;
    if fixed.contains(is_special) || program.contains('=') || is_builtin(program) {
        return None;
    }
    Some(words.iter().map(|word| format!("\"{word}\"")).chain(last).collect())
}

/// Literal part and final name of an f-string with exactly one placeholder, at its end.
fn formatted(scene: &TransformScope, text: &ast::ExprFString) -> Option<(String, Option<String>)> {
    let elements: Vec<_> = text.value.elements().collect();
    let [ast::InterpolatedStringElement::Literal(fixed), ast::InterpolatedStringElement::Interpolation(last)] =
        elements.as_slice()
    else {
        return None;
    };
    let name = name_of(&last.expression)?;
    let is_bare = last.format_spec.is_none()
        && last.debug_text.is_none()
        && last.conversion == ast::ConversionFlag::None;
    let is_text = scene.annotation(name) == Some("str");
    // A placeholder accepts any value, an argument of a process only a string.
    let name = if is_text { name.to_owned() } else { format!("str({name})") };
    is_bare.then(|| (fixed.value.to_string(), Some(name)))
}

/// Whether a character can have a special meaning in a shell.
fn is_special(letter: char) -> bool {
    !(letter.is_ascii_alphanumeric() || " -_./:=,+@%".contains(letter))
}

/// Whether a word is a builtin or keyword of the shell.
fn is_builtin(word: &str) -> bool {
    matches!(
        word,
        "cd" | "exit"
            | "export"
            | "source"
            | "."
            | ":"
            | "set"
            | "unset"
            | "alias"
            | "ulimit"
            | "umask"
            | "wait"
            | "eval"
            | "exec"
            | "read"
            | "trap"
            | "type"
            | "command"
            | "times"
            | "shift"
            | "return"
            | "if"
            | "for"
            | "while"
            | "case"
            | "hash"
            | "jobs"
            | "fg"
            | "bg"
            | "local"
            | "history"
    )
}

#[cfg(test)]
mod tests {
    use super::super::scope::testing::review;
    use super::*;

    #[test]
    fn simple_commands_become_lists() {
        let text = "import subprocess\n\ndef f(name: str, n):\n    subprocess.run(\"ls -l /tmp\", shell=True, check=True)\n    subprocess.call(f\"ls -l {name}\", shell=True)\n    subprocess.call(f\"sleep {n}\", shell=True)\n    return subprocess.check_output('cat ' + name, shell=True)\n";
        assert_eq!(
            review(&ShellList, text, "f").unwrap(),
            "import subprocess\n\ndef f(name: str, n):\n    subprocess.run([\"ls\", \"-l\", \"/tmp\"], check=True)\n    subprocess.call([\"ls\", \"-l\", name])\n    subprocess.call([\"sleep\", str(n)])\n    return subprocess.check_output([\"cat\", name])\n"
        );
    }

    #[test]
    fn commands_that_need_a_shell_stay() {
        for command in [
            "\"ls | wc\"",
            "\"ls *.py\"",
            "\"cd /\"",
            "\"A=1 env\"",
            "\"echo $HOME\"",
            "f\"ls {a} {b}\"",
            "f\"ls {a!r}\"",
            "f\"ls -{a}\"",
            "a",
            "\"ls '\" + a",
        ] {
            let text =
                format!("import subprocess\ndef f(a, b):\n    subprocess.run({command}, shell=True)\n");
            assert_eq!(review(&ShellList, &text, "f"), None, "{command}");
        }
        assert_eq!(review(&ShellList, "import os\ndef f():\n    os.system(\"ls\")\n", "f"), None);
    }
}
