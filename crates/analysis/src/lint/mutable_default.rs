//! Mutable defaults: one object shared by all calls.

use menace_model::inventory::LintRule;

use super::finding::FindingCollector;
use super::scope::ScopeTable;
use crate::syntax::{Expr, Ranged, ast};

pub(super) fn mutable_defaults<'a>(
    parameters: &'a ast::Parameters,
    scopes: &ScopeTable<'_>,
    findings: &mut FindingCollector<'a>,
) {
    for ast::ParameterWithDefault { parameter, default, .. } in parameters.iter_non_variadic_params() {
        let Some(default) = default.as_deref() else { continue };
        // A parameter with a read-only type cannot change its default.
        let is_read_only =
            || parameter.annotation.as_deref().is_some_and(|annotation| is_immutable(annotation, scopes));
        if is_mutable(default, scopes) && !is_read_only() {
            findings.add(LintRule::MutableDefault, default.start(), parameter.name.as_str());
        }
    }
}

fn is_mutable(default: &Expr, scopes: &ScopeTable<'_>) -> bool {
    match default {
        Expr::List(_)
        | Expr::Dict(_)
        | Expr::Set(_)
        | Expr::ListComp(_)
        | Expr::DictComp(_)
        | Expr::SetComp(_) => true,
        Expr::Call(call) => is_mutable_type(&call.func, scopes),
        _ => false,
    }
}

fn is_mutable_type(callee: &Expr, scopes: &ScopeTable<'_>) -> bool {
    let callee = match callee {
        Expr::Subscript(generic) => &generic.value,
        other => other,
    };
    let Some(origin) = scopes.origin(callee) else { return false };
    match origin.module {
        "builtins" => matches!(origin.member, "dict" | "list" | "set"),
        "collections" => matches!(
            origin.member,
            "ChainMap"
                | "Counter"
                | "OrderedDict"
                | "UserDict"
                | "UserList"
                | "UserString"
                | "defaultdict"
                | "deque"
        ),
        _ => false,
    }
}

fn is_immutable(annotation: &Expr, scopes: &ScopeTable<'_>) -> bool {
    match annotation {
        Expr::NoneLiteral(_) => true,
        Expr::Name(_) | Expr::Attribute(_) => is_immutable_type(annotation, scopes),
        Expr::BinOp(ast::ExprBinOp { left, op: ast::Operator::BitOr, right, .. }) => {
            is_immutable(left, scopes) && is_immutable(right, scopes)
        }
        Expr::Subscript(subscript) => is_immutable_generic(subscript, scopes),
        _ => false,
    }
}

fn is_immutable_generic(subscript: &ast::ExprSubscript, scopes: &ScopeTable<'_>) -> bool {
    if is_immutable_type(&subscript.value, scopes) {
        return true;
    }
    let Some(origin) = scopes.origin(&subscript.value) else { return false };
    match (origin.is_typing(), origin.member, &*subscript.slice) {
        (true, "Union", Expr::Tuple(types)) => types.iter().all(|element| is_immutable(element, scopes)),
        (true, "Annotated", Expr::Tuple(parts)) => {
            parts.elts.first().is_some_and(|first| is_immutable(first, scopes))
        }
        (true, "Optional" | "Union", single) => is_immutable(single, scopes),
        _ => false,
    }
}

fn is_immutable_type(name: &Expr, scopes: &ScopeTable<'_>) -> bool {
    let Some(origin) = scopes.origin(name) else { return false };
    match origin.module {
        "builtins" => matches!(
            origin.member,
            "bool"
                | "bytes"
                | "complex"
                | "float"
                | "frozenset"
                | "int"
                | "object"
                | "range"
                | "str"
                | "tuple"
        ),
        "typing" | "typing_extensions" => {
            matches!(origin.member, "AbstractSet" | "FrozenSet" | "Literal" | "LiteralString" | "Tuple")
                || is_read_only_interface(origin.member)
        }
        "collections.abc" => origin.member == "Set" || is_read_only_interface(origin.member),
        _ => false,
    }
}

fn is_read_only_interface(name: &str) -> bool {
    matches!(
        name,
        "ByteString"
            | "Callable"
            | "Collection"
            | "Container"
            | "Iterable"
            | "Mapping"
            | "Sequence"
            | "Sized"
    )
}
