//! Signature of a function: parameters, decorators and the kind of its section.

use menace_model::inventory::{MethodBinding, ParameterKind, SectionKind, SectionParameter};

use crate::syntax::{Expr, ParsedPythonSource, Ranged, ast};

/// Longest source excerpt in bytes: a default may be a dict of a thousand lines, which is unreadable in a table.
const MAX_EXCERPT: usize = 200;

/// Source of a node on one line, truncated to [`MAX_EXCERPT`].
pub(super) fn excerpt(source: &ParsedPythonSource, node: &impl Ranged) -> String {
    let text = source.slice(node.range());
    if text.len() <= MAX_EXCERPT && !text.contains('\n') {
        return text.to_owned();
    }
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() > MAX_EXCERPT {
        let end = (0..=MAX_EXCERPT).rev().find(|index| line.is_char_boundary(*index)).unwrap_or(0);
        line.truncate(end);
        line.push('…');
    }
    line
}

pub(super) fn parameters(source: &ParsedPythonSource, parameters: &ast::Parameters) -> Vec<SectionParameter> {
    let with_default = |kind| {
        move |parameter: &ast::ParameterWithDefault| {
            let default = parameter.default.as_deref().map(|default| excerpt(source, default));
            one_parameter(source, &parameter.parameter, kind, default)
        }
    };
    let variadic = |kind| move |parameter: &ast::Parameter| one_parameter(source, parameter, kind, None);
    let mut list = Vec::with_capacity(parameters.len());
    list.extend(parameters.posonlyargs.iter().map(with_default(ParameterKind::PositionalOnly)));
    list.extend(parameters.args.iter().map(with_default(ParameterKind::PositionalOrKeyword)));
    list.extend(parameters.vararg.as_deref().into_iter().map(variadic(ParameterKind::VarPositional)));
    list.extend(parameters.kwonlyargs.iter().map(with_default(ParameterKind::KeywordOnly)));
    list.extend(parameters.kwarg.as_deref().into_iter().map(variadic(ParameterKind::VarKeyword)));
    list
}

fn one_parameter(
    source: &ParsedPythonSource,
    parameter: &ast::Parameter,
    kind: ParameterKind,
    default: Option<String>,
) -> SectionParameter {
    SectionParameter {
        name: parameter.name.to_string(),
        kind,
        annotation: parameter.annotation.as_deref().map(|annotation| excerpt(source, annotation)),
        default,
        uses: Vec::new(),
    }
}

/// Role of a function, derived from its decorators and its enclosing definition.
pub(super) struct FunctionRole {
    pub(super) kind: SectionKind,
    pub(super) binding: Option<MethodBinding>,
    pub(super) is_overload: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EnclosingDefinition {
    Module,
    Class,
    Function,
}

pub(super) fn role(node: &ast::StmtFunctionDef, place: EnclosingDefinition) -> FunctionRole {
    let names: Vec<&str> = node.decorator_list.iter().filter_map(|it| last_name(&it.expression)).collect();
    let has = |wanted: &[&str]| names.iter().any(|name| wanted.contains(name));
    let is_overload = has(&["overload"]);
    let kind = match place {
        EnclosingDefinition::Module => SectionKind::Function,
        EnclosingDefinition::Function => SectionKind::Nested,
        EnclosingDefinition::Class if has(PROPERTY_DECORATORS) => SectionKind::Property,
        EnclosingDefinition::Class => SectionKind::Method,
    };
    let binding = (place == EnclosingDefinition::Class).then(|| {
        let name = node.name.as_str();
        if has(&["staticmethod", "abstractstaticmethod"]) || name == "__new__" {
            MethodBinding::Static
        } else if has(&["classmethod", "abstractclassmethod"])
            || matches!(name, "__init_subclass__" | "__class_getitem__")
        {
            MethodBinding::Class
        } else {
            MethodBinding::Instance
        }
    });
    FunctionRole { kind, binding, is_overload }
}

const PROPERTY_DECORATORS: &[&str] =
    &["property", "cached_property", "abstractproperty", "setter", "getter", "deleter"];

/// `a.b.c` and `a.b.c(…)` end in `c`.
fn last_name(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Name(node) => Some(node.id.as_str()),
        Expr::Attribute(node) => Some(node.attr.as_str()),
        Expr::Call(node) => last_name(&node.func),
        _ => None,
    }
}
