//! Regular expressions that are compiled in every call.

use super::scope::{TransformScope, assigned, is_alone, is_plain, single_rewrite};
use super::{Cause, ProposalGain, SourceRewrite, Transform};
use crate::editable_source::EditableSource;
use crate::syntax::{Expr, Ranged, Stmt, TextRange, TextSize, ast};

/// Compiles a constant pattern when the module is imported.
#[derive(Debug)]
pub(in crate::transforms) struct CompiledPattern;

impl Transform for CompiledPattern {
    fn name(&self) -> &'static str {
        "compiled-pattern"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(scene) = TransformScope::of_review(source, cause) else { return Vec::new() };
        let Some(function) = scene.function else { return Vec::new() };
        let Some(import) = last_import(source, function.node.start()) else { return Vec::new() };
        if !has_re(source, function.node.start()) {
            return Vec::new();
        }
        let base = format!("_{}_PATTERN", function.node.name.trim_matches('_').to_uppercase());
        let mut constants: Vec<(String, String)> = Vec::new();
        let mut edits = source.edit();
        let mut last = TextSize::from(0);
        let locals = locals(&scene);
        for (call, full) in scene.calls() {
            // A pattern stored outside the function is already compiled once.
            if full == "re.compile" && !locals.contains(&call.range()) {
                continue;
            }
            // A call nested in a replaced call is already part of the new text.
            let Some(fixed) = fixed(source, call, &full).filter(|_| call.start() >= last) else { continue };
            let Some(name) = constant(&scene, &base, &fixed.compiled, &mut constants) else { continue };
            edits = edits.replace(call, fixed.used.replace('\0', &name));
            last = call.end();
        }
        if constants.is_empty() {
            return Vec::new();
        }
        let mut lines = vec![String::new()];
        lines.extend(constants.iter().map(|(name, compiled)| format!("{name} = {compiled}")));
        let text = edits.after(import, &lines).finish();
        single_rewrite(
            text,
            "Compile the constant pattern once, when the module is imported.",
            ProposalGain::Speed,
        )
    }
}

/// Ranges of the values of local names.
fn locals(scene: &TransformScope) -> Vec<TextRange> {
    let statements = scene.parts().statements;
    let is_global = |name: &str| {
        statements.iter().any(|part| match part {
            Stmt::Global(global) => global.names.iter().any(|other| other.as_str() == name),
            Stmt::Nonlocal(outer) => outer.names.iter().any(|other| other.as_str() == name),
            _ => false,
        })
    };
    let values = statements.iter().filter_map(|part| assigned(part)).filter(|(name, _)| !is_global(name));
    values.map(|(_, value)| value.range()).collect()
}

/// Last import of the module before an offset.
fn last_import(source: &EditableSource, offset: TextSize) -> Option<&Stmt> {
    let imports = source.body().iter().filter(|part| matches!(part, Stmt::Import(_) | Stmt::ImportFrom(_)));
    imports.filter(|import| import.end() < offset).last().filter(|import| is_alone(source, import))
}

fn has_re(source: &EditableSource, offset: TextSize) -> bool {
    source.body().iter().any(|part| match part {
        Stmt::Import(import) => {
            import.end() < offset
                && import.names.iter().any(|alias| alias.name.as_str() == "re" && alias.asname.is_none())
        }
        _ => false,
    })
}

/// A call with a constant pattern.
struct ConstantPatternCall {
    /// Expression that compiles the pattern.
    compiled: String,
    /// The call on the compiled pattern, with `\0` for the name of the constant.
    used: String,
}

fn fixed(source: &EditableSource, call: &ast::ExprCall, full: &str) -> Option<ConstantPatternCall> {
    let function = full.strip_prefix("re.")?;
    let arguments = &call.arguments.args;
    // Comments between the arguments would be lost, and a pattern that varies cannot be a constant.
    let can_move = is_plain(call) && !source.of(call).contains('#') && source.of(&*call.func) == full;
    let pattern = arguments.first().filter(|first| first.is_string_literal_expr() && can_move)?;
    let flags_position = match function {
        "compile" => 1,
        "match" | "search" | "fullmatch" | "findall" | "finditer" => 2,
        "split" => 3,
        "sub" | "subn" => 4,
        _ => return None,
    };
    if arguments.len() > flags_position + 1 {
        return None;
    }
    let flags = call.arguments.find_argument_value("flags", flags_position);
    if flags.is_some_and(|flags| !is_flag(flags)) {
        return None;
    }
    let flag_text = flags.map_or_else(String::new, |flags| format!(", {}", source.of(flags)));
    let compiled = format!("re.compile({}{flag_text})", source.of(pattern));
    let is_flags =
        |part: &ast::ArgOrKeyword| flags.is_some_and(|flags| part.value().range() == flags.range());
    let rest = call.arguments.iter_source_order().skip(1).filter(|part| !is_flags(part));
    let rest: Vec<&str> = rest.map(|part| source.of(part)).collect();
    let used = match function {
        "compile" if rest.is_empty() => "\0".to_owned(),
        "compile" => return None,
        _ => format!("\0.{function}({})", rest.join(", ")),
    };
    (!rest.is_empty() || function == "compile").then_some(ConstantPatternCall { compiled, used })
}

/// Whether an expression consists of flags of `re`, such as `re.I | re.M`.
fn is_flag(flags: &Expr) -> bool {
    match flags {
        Expr::Attribute(flag) => matches!(&*flag.value, Expr::Name(module) if module.id == "re"),
        Expr::BinOp(both) => both.op == ast::Operator::BitOr && is_flag(&both.left) && is_flag(&both.right),
        _ => false,
    }
}

/// Name of the constant for a pattern; equal patterns share one.
fn constant(
    scene: &TransformScope,
    base: &str,
    compiled: &str,
    constants: &mut Vec<(String, String)>,
) -> Option<String> {
    if let Some((name, _)) = constants.iter().find(|(_, other)| other == compiled) {
        return Some(name.clone());
    }
    let numbered = (2..9).map(|number| format!("{base}_{number}"));
    let is_new =
        |name: &String| scene.names.is_free(name) && constants.iter().all(|(other, _)| other != name);
    let name = std::iter::once(base.to_owned()).chain(numbered).find(is_new)?;
    constants.push((name.clone(), compiled.to_owned()));
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::super::scope::testing::review;
    use super::*;

    #[test]
    fn constant_patterns_are_compiled_once() {
        let text = "import os\nimport re\n\n\ndef f(lines):\n    p = re.compile(r\"\\d+\")\n    for line in lines:\n        if re.match(r\"a+\", line, re.I | re.M) or re.search(r\"\\d+\", line):\n            return re.sub(r\"a\", \"b\", line, count=1)\n    return p\n";
        assert_eq!(
            review(&CompiledPattern, text, "f").unwrap(),
            "import os\nimport re\n\n_F_PATTERN = re.compile(r\"\\d+\")\n_F_PATTERN_2 = re.compile(r\"a+\", re.I | re.M)\n_F_PATTERN_3 = re.compile(r\"a\")\n\n\ndef f(lines):\n    p = _F_PATTERN\n    for line in lines:\n        if _F_PATTERN_2.match(line) or _F_PATTERN.search(line):\n            return _F_PATTERN_3.sub(\"b\", line, count=1)\n    return p\n"
        );
    }

    #[test]
    fn patterns_that_vary_stay() {
        for text in [
            "import re\ndef f(p, x):\n    return re.match(p, x)\n",
            "import re\ndef f(p, x):\n    return re.match(f\"{p}\", x)\n",
            "import re\ndef f(p, x):\n    return re.match(\"a\", x, p)\n",
            "def f(x):\n    import re\n    return re.match(\"a\", x)\n",
            "import re\ndef f(p):\n    p.pattern = re.compile(\"a\")\n",
            "import re\ndef f():\n    global P\n    P = re.compile(\"a\")\n",
            "import re\ndef f(p, *x):\n    return re.match(\"a\", *x)\n",
        ] {
            assert_eq!(review(&CompiledPattern, text, "f"), None, "{text}");
        }
    }
}
