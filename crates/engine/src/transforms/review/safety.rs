//! Calls that have a safer replacement.

use super::scope::{
    TransformScope, add_keyword, assigned, is_alone, is_plain, name_of, single_rewrite, text_of, value_of,
    without,
};
use super::{Cause, ProposalGain, SourceRewrite, Transform};
use crate::editable_source::EditableSource;
use crate::syntax::ast::helpers::any_over_body;
use crate::syntax::{Expr, Ranged, Stmt, TextRange, ast};

/// Replaces `yaml.load`, which can construct arbitrary objects.
#[derive(Debug)]
pub(in crate::transforms) struct YamlSafeLoad;

impl Transform for YamlSafeLoad {
    fn name(&self) -> &'static str {
        "yaml-safe-load"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(scene) = TransformScope::of(source, cause) else { return Vec::new() };
        // Custom tags are registered with their loader and not with the safe one.
        if ["add_constructor", "add_multi_constructor", "YAMLObject", "resolver"]
            .iter()
            .any(|own| source.text().contains(own))
        {
            return Vec::new();
        }
        let mut edits = source.edit();
        for (call, full) in scene.calls() {
            let is_load = full == "yaml.load" && scene.touches(call);
            let Expr::Attribute(callee) = &*call.func else { continue };
            let Some(loader) = loader(&scene, call).filter(|_| is_load) else { continue };
            edits = edits.replace(&callee.attr, "safe_load");
            if let LoaderArgument::At(range) = loader {
                edits = without(edits, call, range);
            }
        }
        let gain = if scene.failed.is_some() { ProposalGain::Robustness } else { ProposalGain::Findings };
        single_rewrite(
            edits.finish(),
            "Use yaml.safe_load, because yaml.load can construct arbitrary objects.",
            gain,
        )
    }
}

/// Loader argument of a call.
enum LoaderArgument {
    Missing,
    At(TextRange),
}

/// Loader of a call; `None` for a custom loader.
fn loader(scene: &TransformScope, call: &ast::ExprCall) -> Option<LoaderArgument> {
    let count = call.arguments.len();
    if !is_plain(call) || count == 0 || count > 2 {
        return None;
    }
    let Some(loader) = call.arguments.find_argument("Loader", 1) else {
        return (count == 1).then_some(LoaderArgument::Missing);
    };
    let full = scene.names.full(loader.value())?;
    let is_known = matches!(
        full.strip_prefix("yaml.")?,
        "Loader" | "UnsafeLoader" | "FullLoader" | "CLoader" | "CUnsafeLoader" | "CFullLoader"
    );
    is_known.then(|| LoaderArgument::At(loader.range()))
}

/// Replaces `eval`, which runs arbitrary code.
#[derive(Debug)]
pub(in crate::transforms) struct LiteralEval;

impl Transform for LiteralEval {
    fn name(&self) -> &'static str {
        "literal-eval"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(scene) = TransformScope::of_review(source, cause) else { return Vec::new() };
        if !scene.names.can_import("ast", "ast") {
            return Vec::new();
        }
        let mut edits = source.edit();
        let mut is_changed = false;
        for statement in scene.parts().statements {
            let Some(Expr::Call(call)) = value_of(statement) else { continue };
            let is_eval = scene.names.full(&call.func).as_deref() == Some("eval");
            if is_eval && takes_data(call) && gives_data(&scene, statement) {
                edits = edits.replace(&*call.func, "ast.literal_eval");
                is_changed = true;
            }
        }
        let text = if is_changed { edits.import("ast").finish() } else { None };
        single_rewrite(
            text,
            "Use ast.literal_eval, because eval runs arbitrary code.",
            ProposalGain::Findings,
        )
    }
}

/// Whether the only argument is a name that does not suggest code.
fn takes_data(call: &ast::ExprCall) -> bool {
    let ([argument], []) = (&*call.arguments.args, &*call.arguments.keywords) else { return false };
    let suggests_code = |name: &str| {
        ["expr", "code", "formula", "source", "cmd", "command"].iter().any(|word| name.contains(word))
    };
    name_of(argument).is_some_and(|name| !suggests_code(&name.to_lowercase()))
}

/// Whether the result is returned, or assigned and never called.
fn gives_data(scene: &TransformScope, statement: &Stmt) -> bool {
    match assigned(statement) {
        Some((name, _)) => !any_over_body(
            scene.body,
            |part| matches!(part, Expr::Call(call) if name_of(&call.func) == Some(name)),
        ),
        None => statement.is_return_stmt(),
    }
}

/// Marks MD5 and SHA-1 outside security code with `usedforsecurity=False`.
#[derive(Debug)]
pub(in crate::transforms) struct WeakHash;

impl Transform for WeakHash {
    fn name(&self) -> &'static str {
        "weak-hash"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(scene) = TransformScope::of_review(source, cause) else { return Vec::new() };
        let text = scene.function.map_or("", |function| source.of(function.node)).to_lowercase();
        let mut words = text.split(|letter: char| !letter.is_alphabetic());
        // For a secret the hash itself is wrong, and so is marking it as not used for security.
        if words.any(is_secret) {
            return Vec::new();
        }
        let mut edits = source.edit();
        for (call, full) in scene.calls() {
            let is_new = full == "hashlib.new"
                && matches!(call.arguments.args.first().and_then(text_of), Some("md5" | "sha1"));
            let is_weak = is_new || matches!(full.as_str(), "hashlib.md5" | "hashlib.sha1");
            if is_weak && is_plain(call) && call.arguments.find_keyword("usedforsecurity").is_none() {
                edits = add_keyword(edits, source, call, "usedforsecurity=False");
            }
        }
        single_rewrite(
            edits.finish(),
            "Mark the hash as not used for security; its value does not change.",
            ProposalGain::Findings,
        )
    }
}

fn is_secret(word: &str) -> bool {
    matches!(word, "hmac" | "auth" | "sign" | "signature" | "signed" | "salt" | "pwd")
        || ["passw", "secret", "token", "credential", "authent"].iter().any(|start| word.starts_with(start))
}

/// Replaces `mktemp`, whose name another process can take before the file is created.
#[derive(Debug)]
pub(in crate::transforms) struct InsecureMktemp;

impl Transform for InsecureMktemp {
    fn name(&self) -> &'static str {
        "mktemp"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(scene) = TransformScope::of_review(source, cause) else { return Vec::new() };
        let can_import = scene.names.can_import("os", "os");
        let Some(descriptor) = scene.names.first_free(&["descriptor", "temp_descriptor"]) else {
            return Vec::new();
        };
        if !can_import || scene.function.is_none() || needs_free_name(scene.body) {
            return Vec::new();
        }
        let found = scene.parts().statements.into_iter().find_map(|statement| {
            let call = value_of(statement)?.as_call_expr()?;
            let is_mktemp =
                scene.names.full(&call.func)? == "tempfile.mktemp" && call.func.is_attribute_expr();
            (is_mktemp && statement.is_assign_stmt() && is_plain(call) && is_alone(source, statement))
                .then_some((statement, call))
        });
        let Some((statement, call)) = found else { return Vec::new() };
        let made = source.of(call).replacen("mktemp", "mkstemp", 1);
        let own = source.indentation(statement);
        let new = assigned(statement)
            .filter(|(name, _)| is_opened(&scene, name))
            .map(|(name, _)| format!("{descriptor}, {name} = {made}\n{own}os.close({descriptor})"));
        let text = new.and_then(|new| source.edit().replace(statement, new).import("os").finish());
        single_rewrite(
            text,
            "Use mkstemp, because another process can take the name that mktemp returns.",
            ProposalGain::Findings,
        )
    }
}

/// Whether a file is opened at the name; other uses may need a name without a file.
fn is_opened(scene: &TransformScope, name: &str) -> bool {
    let is_first = |call: &ast::ExprCall| call.arguments.args.first().and_then(name_of) == Some(name);
    scene.calls().iter().any(|(call, full)| full == "open" && is_first(call))
}

/// Whether the code creates an object at the name that must not exist yet.
fn needs_free_name(body: &[Stmt]) -> bool {
    any_over_body(body, |part| match part {
        Expr::Attribute(attribute) => matches!(
            attribute.attr.as_str(),
            "mkdir" | "makedirs" | "mkfifo" | "symlink" | "link" | "bind" | "copytree" | "exists" | "isfile"
        ),
        Expr::StringLiteral(text) => matches!(text.value.to_str(), "x" | "xb" | "x+" | "xt"),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::super::scope::testing::review;
    use super::*;

    #[test]
    fn yaml_load_becomes_safe_load() {
        let text = "import yaml\ndef f(x):\n    a = yaml.load(x)\n    b = yaml.load(x, yaml.Loader)\n    return yaml.load(x, Loader=yaml.FullLoader)\n";
        assert_eq!(
            review(&YamlSafeLoad, text, "f").unwrap(),
            "import yaml\ndef f(x):\n    a = yaml.safe_load(x)\n    b = yaml.safe_load(x)\n    return yaml.safe_load(x)\n"
        );
        let own = "import yaml\ndef f(x):\n    return yaml.load(x, Loader=Own)\n";
        assert_eq!(review(&YamlSafeLoad, own, "f"), None);
        let tags =
            "import yaml\nyaml.add_constructor('!a', g)\ndef f(x):\n    return yaml.load(x, yaml.Loader)\n";
        assert_eq!(review(&YamlSafeLoad, tags, "f"), None);
        let safe = "import yaml\ndef f(x):\n    return yaml.load(x, Loader=yaml.SafeLoader)\n";
        assert_eq!(review(&YamlSafeLoad, safe, "f"), None);
    }

    #[test]
    fn eval_of_data_becomes_literal_eval() {
        let text = "def f(text):\n    data = eval(text)\n    return data\n";
        assert_eq!(
            review(&LiteralEval, text, "f").unwrap(),
            "import ast\n\ndef f(text):\n    data = ast.literal_eval(text)\n    return data\n"
        );
        for text in [
            "def f(expression):\n    return eval(expression)\n",
            "def f(text):\n    g = eval(text)\n    return g(1)\n",
            "def f(text):\n    return eval(text, {})\n",
            "def f(text, eval):\n    return eval(text)\n",
            "def f(text):\n    return eval('f' + text)\n",
        ] {
            assert_eq!(review(&LiteralEval, text, "f"), None, "{text}");
        }
    }

    #[test]
    fn hashes_are_marked_as_not_for_security() {
        let text = "import hashlib\ndef f(x):\n    h = hashlib.sha1()\n    return hashlib.md5(x).hexdigest() + hashlib.new('md5', x).hexdigest()\n";
        assert_eq!(
            review(&WeakHash, text, "f").unwrap(),
            "import hashlib\ndef f(x):\n    h = hashlib.sha1(usedforsecurity=False)\n    return hashlib.md5(x, usedforsecurity=False).hexdigest() + hashlib.new('md5', x, usedforsecurity=False).hexdigest()\n"
        );
        let secret = "import hashlib\ndef f(password):\n    return hashlib.md5(password)\n";
        assert_eq!(review(&WeakHash, secret, "f"), None);
        assert_eq!(review(&WeakHash, "import hashlib\ndef f(x):\n    return hashlib.sha256(x)\n", "f"), None);
    }

    #[test]
    fn mktemp_becomes_mkstemp() {
        let text = "import tempfile\ndef f(x):\n    name = tempfile.mktemp(suffix='.txt')\n    open(name, 'w').close()\n    return name\n";
        assert_eq!(
            review(&InsecureMktemp, text, "f").unwrap(),
            "import os\nimport tempfile\ndef f(x):\n    descriptor, name = tempfile.mkstemp(suffix='.txt')\n    os.close(descriptor)\n    open(name, 'w').close()\n    return name\n"
        );
        let socket = "import tempfile\ndef f(x):\n    return tempfile.mktemp()\n";
        assert_eq!(review(&InsecureMktemp, socket, "f"), None);
        let directory = "import os, tempfile\ndef f(x):\n    d = tempfile.mktemp()\n    os.mkdir(d)\n";
        assert_eq!(review(&InsecureMktemp, directory, "f"), None);
    }
}
