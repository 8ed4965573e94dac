//! Values that an annotation allows, as far as `isinstance` can check them, and the class of a literal in a call.

use super::exception_names::{class_of, import_from};
use crate::editable_source::EditableSource;
use crate::syntax::{Expr, Stmt, ast};

/// Classes and values that a parameter accepts.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::transforms) struct AcceptedValues {
    /// Classes for `isinstance`.
    pub(in crate::transforms) classes: Vec<String>,
    /// Descriptions of the classes for messages.
    pub(in crate::transforms) nouns: Vec<String>,
    /// Values of a `Literal`, as written.
    pub(in crate::transforms) values: Vec<String>,
    /// Whether `None` is allowed.
    pub(in crate::transforms) none: bool,
}

/// Builtin classes: annotation, classes for `isinstance`, description.
const BUILTIN: &[(&str, &[&str], &str)] = &[
    ("int", &["int"], "an integer"),
    ("float", &["int", "float"], "a number"),
    ("complex", &["int", "float", "complex"], "a number"),
    ("bool", &["bool"], "a bool"),
    ("str", &["str"], "a string"),
    // Code that accepts bytes accepts these as well.
    ("bytes", &["bytes", "bytearray", "memoryview"], "bytes"),
    ("list", &["list"], "a list"),
    ("List", &["list"], "a list"),
    ("dict", &["dict"], "a dict"),
    ("Dict", &["dict"], "a dict"),
    ("set", &["set"], "a set"),
    ("Set", &["set"], "a set"),
    ("frozenset", &["frozenset"], "a frozenset"),
    ("tuple", &["tuple"], "a tuple"),
    ("Tuple", &["tuple"], "a tuple"),
];

/// Classes of the standard library and their modules.
const STANDARD: &[(&str, &str)] = &[
    ("datetime", "datetime"),
    ("date", "datetime"),
    ("timedelta", "datetime"),
    ("Decimal", "decimal"),
    ("Fraction", "fractions"),
    ("UUID", "uuid"),
];

impl AcceptedValues {
    fn class(classes: &[&str], noun: String) -> Self {
        let classes = classes.iter().map(|class| (*class).to_owned()).collect();
        Self { classes, nouns: vec![noun], ..Self::default() }
    }

    fn or(mut self, other: Self) -> Option<Self> {
        for class in other.classes {
            if !self.classes.contains(&class) {
                self.classes.push(class);
            }
        }
        for noun in other.nouns {
            if !self.nouns.contains(&noun) {
                self.nouns.push(noun);
            }
        }
        self.values.extend(other.values);
        self.none |= other.none;
        // A mix of values and classes cannot be checked with one condition.
        (self.values.is_empty() || self.classes.is_empty()).then_some(self)
    }

    /// Whether the expression of an argument is certainly not allowed.
    pub(in crate::transforms) fn contradicts(&self, module: &EditableSource, value: &str) -> bool {
        let Some(parsed) = EditableSource::parse(value) else { return false };
        let [Stmt::Expr(expr)] = parsed.body() else { return false };
        let Some(kind) = kind_of(&expr.value) else { return false };
        if kind == "NoneType" {
            return !self.none;
        }
        if !self.values.is_empty() {
            let text = parsed.of(&*expr.value).replace('\'', "\"");
            return expr.value.is_literal_expr()
                && !self.values.iter().any(|value| value.replace('\'', "\"") == text);
        }
        let is_kind = |class: &String| {
            class == kind || (kind == "bool" && class == "int") || (kind == "datetime" && class == "date")
        };
        let is_own = class_of(module, kind).is_some_and(|class| class.arguments.is_none());
        let is_known = is_own
            || matches!(kind, "object" | "function")
            || BUILTIN.iter().any(|(name, ..)| *name == kind)
            || STANDARD.iter().any(|(name, _)| *name == kind);
        is_known && !self.classes.iter().any(is_kind)
    }
}

/// Class of an argument expression, if it is evident.
fn kind_of(value: &Expr) -> Option<&str> {
    Some(match value {
        Expr::NoneLiteral(_) => "NoneType",
        Expr::BooleanLiteral(_) => "bool",
        Expr::NumberLiteral(number) => match number.value {
            ast::Number::Int(_) => "int",
            ast::Number::Float(_) => "float",
            ast::Number::Complex { .. } => "complex",
        },
        Expr::StringLiteral(_) | Expr::FString(_) => "str",
        Expr::BytesLiteral(_) => "bytes",
        Expr::List(_) | Expr::ListComp(_) => "list",
        Expr::Tuple(_) => "tuple",
        Expr::Dict(_) | Expr::DictComp(_) => "dict",
        Expr::Set(_) | Expr::SetComp(_) => "set",
        Expr::Lambda(_) => "function",
        Expr::UnaryOp(operation) => kind_of(&operation.operand)?,
        Expr::BinOp(operation) => kind_of(&operation.left)?,
        Expr::Call(call) => match &*call.func {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            _ => return None,
        },
        _ => return None,
    })
}

/// Values that an annotation allows; `None` if `isinstance` cannot check it.
pub(in crate::transforms) fn allowed(module: &EditableSource, annotation: &Expr) -> Option<AcceptedValues> {
    of_annotation(module, module, annotation, 0)
}

fn of_annotation(
    module: &EditableSource,
    source: &EditableSource,
    annotation: &Expr,
    depth: u32,
) -> Option<AcceptedValues> {
    let inner = |part: &Expr| if depth < 8 { of_annotation(module, source, part, depth + 1) } else { None };
    match annotation {
        Expr::NoneLiteral(_) => Some(AcceptedValues { none: true, ..AcceptedValues::default() }),
        Expr::StringLiteral(text) => {
            let parsed = EditableSource::parse(text.value.to_str())?;
            let [Stmt::Expr(expr)] = parsed.body() else { return None };
            if depth < 8 { of_annotation(module, &parsed, &expr.value, depth + 1) } else { None }
        }
        Expr::BinOp(either) if either.op == ast::Operator::BitOr => {
            inner(&either.left)?.or(inner(&either.right)?)
        }
        Expr::Name(name) => named(module, name.id.as_str(), depth),
        Expr::Subscript(generic) => {
            let parameters = match &*generic.slice {
                Expr::Tuple(tuple) => &*tuple.elts,
                one => std::slice::from_ref(one),
            };
            match last_name(&generic.value)? {
                "Optional" => Some(AcceptedValues { none: true, ..inner(&generic.slice)? }),
                "Union" => parameters.iter().map(inner).reduce(|all, next| all?.or(next?))?,
                "Annotated" => inner(parameters.first()?),
                "Literal" => {
                    let values = parameters.iter().map(|value| source.of(value).to_owned()).collect();
                    Some(AcceptedValues { values, ..AcceptedValues::default() })
                }
                name => builtin(name),
            }
        }
        _ => None,
    }
}

fn last_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
        _ => None,
    }
}

fn builtin(name: &str) -> Option<AcceptedValues> {
    let (_, classes, noun) = BUILTIN.iter().find(|(found, ..)| *found == name)?;
    Some(AcceptedValues::class(classes, (*noun).to_owned()))
}

fn named(module: &EditableSource, name: &str, depth: u32) -> Option<AcceptedValues> {
    if let Some(class) = class_of(module, name) {
        return of_class(class);
    }
    let alias = module.body().iter().find_map(|statement| match statement {
        Stmt::Assign(assign) if matches!(&*assign.targets, [Expr::Name(target)] if target.id.as_str() == name) => Some(&*assign.value),
        _ => None,
    });
    if let Some(value) = alias {
        let is_alias = matches!(value, Expr::Subscript(_) | Expr::BinOp(_) | Expr::Name(_)) && depth < 8;
        return if is_alias { of_annotation(module, module, value, depth + 1) } else { None };
    }
    let is_imported = |from: &str| {
        import_from(module, from).is_some_and(|import| {
            import.names.iter().any(|alias| alias.name.as_str() == name && alias.asname.is_none())
        })
    };
    if STANDARD.iter().any(|(class, from)| *class == name && is_imported(from)) {
        return Some(AcceptedValues::class(&[name], with_article(name)));
    }
    builtin(name)
}

fn of_class(class: &ast::StmtClassDef) -> Option<AcceptedValues> {
    let bases: Vec<&str> =
        class.arguments.iter().flat_map(|arguments| arguments.args.iter()).filter_map(last_name).collect();
    if bases.contains(&"TypedDict") {
        return builtin("dict");
    }
    // A protocol accepts any class with its methods, and a generic class cannot be used with `isinstance`.
    let is_checkable = !bases.contains(&"Protocol")
        && class
            .arguments
            .iter()
            .all(|arguments| arguments.args.iter().all(|base| !base.is_subscript_expr()));
    is_checkable.then(|| AcceptedValues::class(&[class.name.as_str()], with_article(&class.name)))
}

fn with_article(name: &str) -> String {
    let article = if name.starts_with(['A', 'E', 'I', 'O', 'a', 'e', 'i', 'o']) { "an" } else { "a" };
    format!("{article} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(annotation: &str) -> Option<String> {
        let text = format!(
            "Unit = Literal['ms', 's']\nclass Box: pass\nclass Row(TypedDict): pass\nclass P(Protocol): pass\nx: {annotation}\n"
        );
        let source = EditableSource::parse(&text).unwrap();
        let Some(Stmt::AnnAssign(assign)) = source.body().last() else { panic!("no annotation") };
        let found = allowed(&source, &assign.annotation)?;
        Some(format!(
            "{}{}{}",
            found.classes.join(" "),
            found.values.join(" "),
            if found.none { " None" } else { "" }
        ))
    }

    #[test]
    fn annotations_become_classes() {
        assert_eq!(classes("float").unwrap(), "int float");
        assert_eq!(classes("Optional[list[int]]").unwrap(), "list None");
        assert_eq!(classes("int | str | None").unwrap(), "int str None");
        assert_eq!(classes("typing.Union[str, 'Box']").unwrap(), "str Box");
        assert_eq!(classes("Row").unwrap(), "dict");
        assert_eq!(classes("Unit").unwrap(), "'ms' 's'");
        for other in ["Any", "Iterable[int]", "P", "Sequence", "T", "Unit | int", "'(('"] {
            assert_eq!(classes(other), None, "{other}");
        }
    }

    #[test]
    fn only_certain_values_contradict() {
        let source = EditableSource::parse("class Box: pass\n").unwrap();
        let number = builtin("float").unwrap();
        assert!(
            number.contradicts(&source, "'much'")
                && number.contradicts(&source, "None")
                && number.contradicts(&source, "Box()")
        );
        assert!(
            !number.contradicts(&source, "-3")
                && !number.contradicts(&source, "True")
                && !number.contradicts(&source, "made()")
        );
        assert!(!number.contradicts(&source, "2**31") && !number.contradicts(&source, "float('nan')"));
    }
}
