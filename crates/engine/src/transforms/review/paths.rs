//! File names that the caller chooses.

use super::scope::{TransformScope, assigned, is_alone, name_of, single_rewrite};
use super::{Cause, ProposalGain, SourceRewrite, Transform};
use crate::editable_source::EditableSource;
use crate::syntax::ast::helpers::any_over_body;
use crate::syntax::{Expr, Stmt, ast};

/// Checks that a path built from a parameter stays inside its base directory.
#[derive(Debug)]
pub(in crate::transforms) struct PathTraversal;

impl Transform for PathTraversal {
    fn name(&self) -> &'static str {
        "path-traversal"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(scene) = TransformScope::of(source, cause) else { return Vec::new() };
        let gain = match scene.failed {
            None => ProposalGain::Findings,
            Some(failed) if failed.kind == "denied" || failed.scenario.contains("hostile") => {
                ProposalGain::Robustness
            }
            Some(_) => return Vec::new(),
        };
        if is_checked(scene.body) {
            return Vec::new();
        }
        let text = scene.parts().statements.into_iter().find_map(|statement| {
            let (path, value) = assigned(statement)?;
            let inside = joined(&scene, path, value)?;
            let lines = [
                format!("if not {inside}:"),
                "    raise ValueError(\"path is outside the base directory\")".to_owned(),
            ];
            (is_opened(&scene, path) && is_alone(source, statement))
                .then(|| source.edit().after(statement, &lines).finish())?
        });
        single_rewrite(text, "Reject a path outside the base directory, such as one with `../`.", gain)
    }
}

/// Whether the function already checks or normalizes paths.
fn is_checked(body: &[Stmt]) -> bool {
    any_over_body(body, |part| {
        let name = match part {
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            Expr::Name(name) => name.id.as_str(),
            _ => return false,
        };
        matches!(
            name,
            "realpath"
                | "resolve"
                | "commonpath"
                | "is_relative_to"
                | "relative_to"
                | "abspath"
                | "secure_filename"
                | "basename"
                | "safe_join"
                | "startswith"
                | "normpath"
        )
    })
}

/// Python condition that holds if a joined path is inside its base directory.
fn joined(scene: &TransformScope, path: &str, value: &Expr) -> Option<String> {
    let source = scene.source;
    match value {
        Expr::Call(call) if scene.names.full(&call.func)? == "os.path.join" => {
            let ([base, name], []) = (&*call.arguments.args, &*call.arguments.keywords) else { return None };
            if !is_base(scene, base) || !is_caller_value(scene, name) || !scene.names.imports("os", "os") {
                return None;
            }
            let base = source.of(base);
            Some(format!("os.path.realpath({path}).startswith(os.path.join(os.path.realpath({base}), \"\"))"))
        }
        Expr::BinOp(division) if division.op == ast::Operator::Div => {
            let base = &division.left;
            let is_ours =
                is_base(scene, base) && is_path(scene, base) && is_caller_value(scene, &division.right);
            is_ours.then(|| format!("{path}.resolve().is_relative_to({}.resolve())", source.of(&**base)))
        }
        _ => None,
    }
}

/// Whether an expression is a fixed base directory: a constant, or a name such as `root` or `base_dir`.
fn is_base(scene: &TransformScope, base: &Expr) -> bool {
    let name = match base {
        Expr::Name(name) => name.id.as_str(),
        Expr::Attribute(attribute) if attribute.value.is_name_expr() => attribute.attr.as_str(),
        _ => return false,
    };
    let is_constant =
        name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_' || letter.is_ascii_digit());
    let name = name.to_lowercase();
    let has_directory_name = ["base", "root", "dir", "folder"].iter().any(|word| name.contains(word));
    is_constant && !scene.is_parameter(&name) || has_directory_name
}

/// Whether a name is a parameter with a string value.
fn is_caller_value(scene: &TransformScope, name: &Expr) -> bool {
    name_of(name).is_some_and(|name| {
        scene.is_parameter(name) && scene.annotation(name).is_none_or(|annotation| annotation == "str")
    })
}

/// Whether a base directory is a `ScopeSearch`: only then does `/` join.
fn is_path(scene: &TransformScope, base: &Expr) -> bool {
    let Some(name) = name_of(base) else { return false };
    let made = scene.source.body().iter().filter_map(assigned).find(|(other, _)| *other == name);
    let is_made = made.is_some_and(|(_, value)| match value {
        Expr::Call(call) => scene.names.full(&call.func).as_deref() == Some("pathlib.Path"),
        _ => false,
    });
    is_made || matches!(scene.annotation(name), Some("Path" | "pathlib.Path"))
}

fn is_opened(scene: &TransformScope, path: &str) -> bool {
    scene.parts().expressions.iter().any(|part| {
        let Expr::Call(call) = part else { return false };
        let is_first = call.arguments.args.first().and_then(name_of) == Some(path);
        match &*call.func {
            Expr::Attribute(method) if name_of(&method.value) == Some(path) => {
                matches!(
                    method.attr.as_str(),
                    "open" | "read_text" | "read_bytes" | "write_text" | "write_bytes" | "unlink"
                )
            }
            callee => {
                let full = scene.names.full(callee).unwrap_or_default();
                is_first && matches!(full.as_str(), "open" | "os.remove" | "os.unlink" | "shutil.rmtree")
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::SectionFailure;
    use super::super::scope::testing::{failure, review};
    use super::*;

    #[test]
    fn paths_stay_in_their_directory() {
        let text = "import os\n\nBASE = \"/srv\"\n\n\ndef f(name):\n    path = os.path.join(BASE, name)\n    with open(path) as file:\n        return file.read()\n";
        let new = "import os\n\nBASE = \"/srv\"\n\n\ndef f(name):\n    path = os.path.join(BASE, name)\n    if not os.path.realpath(path).startswith(os.path.join(os.path.realpath(BASE), \"\")):\n        raise ValueError(\"path is outside the base directory\")\n    with open(path) as file:\n        return file.read()\n";
        assert_eq!(review(&PathTraversal, text, "f").unwrap(), new);
        let failed = SectionFailure {
            section: "f".into(),
            line: 8,
            kind: "denied".into(),
            ..SectionFailure::default()
        };
        assert_eq!(failure(&PathTraversal, text, failed.clone()).unwrap(), new);
        assert_eq!(failure(&PathTraversal, text, SectionFailure { kind: "oom".into(), ..failed }), None);
        let text = "from pathlib import Path\n\ndef f(root: Path, name: str):\n    path = root / name\n    return path.read_text()\n";
        assert_eq!(
            review(&PathTraversal, text, "f").unwrap(),
            "from pathlib import Path\n\ndef f(root: Path, name: str):\n    path = root / name\n    if not path.resolve().is_relative_to(root.resolve()):\n        raise ValueError(\"path is outside the base directory\")\n    return path.read_text()\n"
        );
    }

    #[test]
    fn other_paths_are_not_changed() {
        for text in [
            "import os\ndef f(a, b):\n    path = os.path.join(a, b)\n    return open(path)\n",
            "import os\ndef f(root, b):\n    path = os.path.join(root, b)\n    return path\n",
            "import os\ndef f(root, b):\n    path = os.path.join(root, os.path.basename(b))\n    return open(path)\n",
            "def f(base, b):\n    path = base / b\n    return open(path)\n",
            "import os\ndef f(root):\n    path = os.path.join(root, 'a')\n    return open(path)\n",
        ] {
            assert_eq!(review(&PathTraversal, text, "f"), None, "{text}");
        }
    }
}
