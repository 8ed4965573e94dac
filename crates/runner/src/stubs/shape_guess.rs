//! Guesses of the type of a parameter without annotation, from its uses in the body, its default and its name.

use menace_model::calls::{TypedDictField, ValueShape};
use menace_model::inventory::{ParameterUse, SectionParameter};

/// A guess, and whether the body requires it: a method that only `str` has is certain, a name is not.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShapeGuess {
    pub(super) shape: ValueShape,
    pub(super) is_plain: bool,
}

/// Guesses, the best first. There is always at least one.
pub(super) fn guesses(
    parameter: Option<&SectionParameter>,
    name: &str,
    default: Option<&str>,
) -> Vec<ShapeGuess> {
    let uses = parameter.map_or(&[][..], |parameter| &parameter.uses);
    let mut votes: Vec<(ValueShape, i32)> = Vec::new();
    for one in uses {
        for (shape, weight) in of_use(one) {
            vote(&mut votes, shape, weight);
        }
    }
    let strongest_use = votes.iter().map(|(_, weight)| *weight).max().unwrap_or(0);
    let is_unanimous = votes.iter().filter(|(_, weight)| *weight >= PLAIN).count() == 1;
    if let Some(shape) = default.and_then(of_type_name) {
        vote(&mut votes, shape, 5);
    }
    for (shape, weight) in of_name(name) {
        vote(&mut votes, shape, weight);
    }
    // Almost every parameter accepts a text or a number.
    vote(&mut votes, ValueShape::Str, 1);
    vote(&mut votes, ValueShape::Int, 1);
    votes.sort_by_key(|(_, weight)| -weight);
    let best = votes.first().map_or(0, |(_, weight)| *weight);
    votes
        .into_iter()
        .enumerate()
        .map(|(index, (shape, weight))| ShapeGuess {
            shape,
            is_plain: index == 0 && is_unanimous && strongest_use >= PLAIN && weight == best,
        })
        .collect()
}

/// Weight from which a use determines the type.
const PLAIN: i32 = 10;

fn vote(votes: &mut Vec<(ValueShape, i32)>, shape: ValueShape, weight: i32) {
    match votes.iter_mut().find(|(known, _)| same_kind(known, &shape)) {
        Some((known, sum)) => {
            *sum += weight;
            merge(known, shape);
        }
        None => votes.push((shape, weight)),
    }
}

fn same_kind(left: &ValueShape, right: &ValueShape) -> bool {
    std::mem::discriminant(left) == std::mem::discriminant(right)
}

/// The fields of a mapping that the body reads by name, each with the type that the mapping declares for its values.
pub(super) fn fields_read(written: &SectionParameter, value: &ValueShape) -> Vec<TypedDictField> {
    let mut fields: Vec<TypedDictField> = Vec::new();
    for one in &written.uses {
        let ParameterUse::Key(source) = one else { continue };
        if let ValueShape::TypedDict { fields: found } =
            text_literal(source).map_or(ValueShape::Any, |name| record([name]))
        {
            let unknown =
                found.into_iter().filter(|field| fields.iter().all(|known| known.name != field.name));
            let unknown: Vec<TypedDictField> = unknown.collect();
            fields.extend(unknown.into_iter().map(|field| match value {
                ValueShape::Any => field,
                declared => TypedDictField { shape: declared.clone(), ..field },
            }));
        }
    }
    fields
}

/// Merges two observations of the same kind, keeping what is known of the inner types.
fn merge(known: &mut ValueShape, other: ValueShape) {
    match (known, other) {
        (ValueShape::TypedDict { fields }, ValueShape::TypedDict { fields: more }) => {
            for field in more {
                if fields.iter().all(|known| known.name != field.name) {
                    fields.push(field);
                }
            }
        }
        (ValueShape::List { of }, ValueShape::List { of: other }) if **of == ValueShape::Any => *of = other,
        (ValueShape::Literal { values }, ValueShape::Literal { values: more }) => values.extend(more),
        _ => {}
    }
}

fn of_use(one: &ParameterUse) -> Vec<(ValueShape, i32)> {
    match one {
        ParameterUse::Key(source) => match text_literal(source) {
            Some(name) => vec![(record([name]), 12)],
            None => vec![(dictionary(), 8)],
        },
        ParameterUse::Method(name) => of_method(name),
        ParameterUse::Attribute(name) => of_attribute(name),
        ParameterUse::Compared(source) => of_constant(source).map_or(vec![], |shape| vec![(shape, 4)]),
        ParameterUse::Instance(source) => of_type_name(source).map_or(vec![], |shape| vec![(shape, 6)]),
        ParameterUse::Called => vec![(ValueShape::Callable { returns: None }, 12)],
        ParameterUse::Iterated => vec![(list(ValueShape::Any), 7)],
        ParameterUse::Indexed => vec![(list(ValueShape::Any), 6)],
        ParameterUse::Awaited => vec![(ValueShape::Awaitable { of: Box::new(ValueShape::Any) }, 12)],
        ParameterUse::Entered => vec![(ValueShape::TextFile, 6)],
        ParameterUse::Operand(operator) => match operator.as_str() {
            "+" => vec![(ValueShape::Int, 3), (ValueShape::Str, 1)],
            "%" => vec![(ValueShape::Int, 3), (ValueShape::Str, 2)],
            "|" | "&" => vec![(ValueShape::Int, 4)],
            _ => vec![(ValueShape::Int, 8)],
        },
        ParameterUse::Passed(callee) => of_callee(callee),
    }
}

fn of_method(name: &str) -> Vec<(ValueShape, i32)> {
    const TEXT: &[&str] = &[
        "lower",
        "upper",
        "strip",
        "lstrip",
        "rstrip",
        "split",
        "rsplit",
        "splitlines",
        "startswith",
        "endswith",
        "replace",
        "encode",
        "title",
        "capitalize",
        "casefold",
        "format",
        "join",
        "partition",
        "rpartition",
        "isdigit",
        "isalpha",
        "isalnum",
        "isspace",
        "isupper",
        "islower",
        "zfill",
        "ljust",
        "rjust",
        "center",
        "removeprefix",
        "removesuffix",
        "expandtabs",
        "translate",
        "isidentifier",
        "isnumeric",
        "swapcase",
    ];
    const LIST: &[&str] = &["append", "extend", "insert", "sort", "reverse"];
    const DICT: &[&str] = &["items", "keys", "values", "setdefault", "get", "popitem", "fromkeys"];
    const SET: &[&str] = &[
        "add",
        "discard",
        "union",
        "intersection",
        "difference",
        "issubset",
        "issuperset",
        "symmetric_difference",
        "isdisjoint",
    ];
    const FILE: &[&str] = &["read", "readline", "readlines", "write", "writelines", "seek", "tell", "flush"];
    const MOMENT: &[&str] = &["strftime", "isoformat", "timestamp", "astimezone", "utcoffset", "timetuple"];
    const PATH: &[&str] = &[
        "exists",
        "mkdir",
        "read_text",
        "write_text",
        "joinpath",
        "iterdir",
        "is_file",
        "is_dir",
        "glob",
        "rglob",
        "unlink",
        "resolve",
        "relative_to",
        "with_suffix",
        "read_bytes",
        "write_bytes",
    ];
    let within = |names: &[&str]| names.contains(&name);
    if within(TEXT) {
        vec![(ValueShape::Str, 12)]
    } else if within(LIST) {
        vec![(list(ValueShape::Any), 12)]
    } else if within(DICT) {
        vec![(dictionary(), 12)]
    } else if within(SET) {
        vec![(ValueShape::Set { of: Box::new(ValueShape::Any) }, 12)]
    } else if within(FILE) {
        vec![(ValueShape::TextFile, 12)]
    } else if within(MOMENT) {
        vec![(ValueShape::DateTime, 12)]
    } else if within(PATH) {
        vec![(ValueShape::Path, 12)]
    } else {
        match name {
            "decode" | "hex" => vec![(ValueShape::Bytes, 12)],
            "total_seconds" => vec![(ValueShape::TimeDelta, 12)],
            "quantize" => vec![(ValueShape::Decimal, 12)],
            "match" | "search" | "fullmatch" | "sub" | "findall" | "finditer" => {
                vec![(ValueShape::Pattern, 8)]
            }
            "bit_length" | "to_bytes" => vec![(ValueShape::Int, 12)],
            "is_integer" => vec![(ValueShape::Float, 12)],
            "popleft" | "appendleft" => vec![(ValueShape::Deque { of: Box::new(ValueShape::Any) }, 12)],
            "find" | "index" | "count" => vec![(ValueShape::Str, 4), (list(ValueShape::Any), 3)],
            "pop" | "clear" | "remove" | "copy" => vec![(list(ValueShape::Any), 4), (dictionary(), 3)],
            "update" => vec![(dictionary(), 6)],
            _ => vec![],
        }
    }
}

fn of_attribute(name: &str) -> Vec<(ValueShape, i32)> {
    match name {
        "year" | "month" | "day" => vec![(ValueShape::DateTime, 12)],
        "hour" | "minute" | "second" | "tzinfo" | "microsecond" => vec![(ValueShape::DateTime, 12)],
        "days" | "seconds" => vec![(ValueShape::TimeDelta, 12)],
        "parent" | "suffix" | "stem" | "parts" => vec![(ValueShape::Path, 10)],
        "real" | "imag" => vec![(ValueShape::Complex, 8)],
        "numerator" | "denominator" => vec![(ValueShape::Fraction, 8)],
        "start" | "stop" | "step" => vec![(ValueShape::Slice, 8)],
        "__name__" | "__module__" | "__doc__" => vec![(ValueShape::Callable { returns: None }, 5)],
        _ => vec![(ValueShape::Namespace, 6)],
    }
}

fn of_callee(callee: &str) -> Vec<(ValueShape, i32)> {
    let last = callee.rsplit('.').next().unwrap_or(callee);
    match (callee, last) {
        ("len", _) => vec![(list(ValueShape::Any), 3), (ValueShape::Str, 3)],
        ("sum" | "min" | "max" | "statistics.mean", _) => vec![(list(ValueShape::Int), 9)],
        (
            "sorted" | "enumerate" | "reversed" | "iter" | "zip" | "list" | "tuple" | "set" | "any" | "all",
            _,
        ) => {
            vec![(list(ValueShape::Any), 6)]
        }
        ("range" | "chr" | "hex" | "bin" | "abs" | "round" | "divmod", _) => vec![(ValueShape::Int, 9)],
        ("int" | "float", _) => vec![(ValueShape::Int, 3), (ValueShape::Str, 3)],
        ("ord", _) => vec![(ValueShape::Str, 5)],
        ("dict", _) => vec![(dictionary(), 6)],
        ("open" | "Path" | "pathlib.Path", _) => vec![(ValueShape::Path, 6)],
        ("json.loads" | "ast.parse" | "ast.literal_eval" | "compile" | "eval", _) => {
            vec![(ValueShape::Str, 9)]
        }
        ("callable" | "map" | "filter" | "functools.partial" | "functools.wraps" | "wraps", _) => {
            vec![(ValueShape::Callable { returns: None }, 4)]
        }
        ("datetime.fromtimestamp" | "datetime.datetime.fromtimestamp" | "time.sleep", _) => {
            vec![(ValueShape::Int, 8)]
        }
        (_, "fromisoformat" | "strptime") => vec![(ValueShape::Str, 8)],
        (callee, _) if callee.starts_with("math.") => vec![(ValueShape::Float, 9)],
        (callee, _) if callee.starts_with("os.path.") || callee.starts_with("os.") => {
            vec![(ValueShape::Str, 5)]
        }
        (callee, _) if callee.starts_with("re.") => vec![(ValueShape::Str, 5)],
        _ => vec![],
    }
}

/// The type of a constant as Python source.
fn of_constant(source: &str) -> Option<ValueShape> {
    if text_literal(source).is_some() {
        return Some(ValueShape::Str);
    }
    match source {
        "True" | "False" => Some(ValueShape::Bool),
        "None" => None,
        source if source.parse::<i128>().is_ok() => Some(ValueShape::Int),
        source if source.parse::<f64>().is_ok() => Some(ValueShape::Float),
        source if source.starts_with("b'") || source.starts_with("b\"") => Some(ValueShape::Bytes),
        _ => None,
    }
}

/// The shape of a type name, as in a default or `isinstance`.
fn of_type_name(name: &str) -> Option<ValueShape> {
    Some(match name.rsplit('.').next().unwrap_or(name) {
        "bool" => ValueShape::Bool,
        "int" | "Integral" | "Number" => ValueShape::Int,
        "float" | "Real" => ValueShape::Float,
        "complex" => ValueShape::Complex,
        "str" => ValueShape::Str,
        "bytes" => ValueShape::Bytes,
        "bytearray" => ValueShape::ByteArray,
        "list" | "Sequence" | "Iterable" | "MutableSequence" => list(ValueShape::Any),
        "tuple" => ValueShape::Tuple { items: None, of: Some(Box::new(ValueShape::Any)) },
        "dict" | "Mapping" | "MutableMapping" | "OrderedDict" => dictionary(),
        "set" | "Set" => ValueShape::Set { of: Box::new(ValueShape::Any) },
        "frozenset" => ValueShape::FrozenSet { of: Box::new(ValueShape::Any) },
        "deque" => ValueShape::Deque { of: Box::new(ValueShape::Any) },
        "datetime" => ValueShape::DateTime,
        "date" => ValueShape::Date,
        "timedelta" => ValueShape::TimeDelta,
        "Decimal" => ValueShape::Decimal,
        "Path" | "PurePath" | "PosixPath" => ValueShape::Path,
        "function" | "builtin_function_or_method" | "Callable" => ValueShape::Callable { returns: None },
        "type" => ValueShape::Type { of: None },
        "Pattern" => ValueShape::Pattern,
        "slice" => ValueShape::Slice,
        "range" => ValueShape::Range,
        _ => return None,
    })
}

fn of_name(name: &str) -> Vec<(ValueShape, i32)> {
    let name = name.trim_start_matches('_');
    let ends = |suffixes: &[&str]| suffixes.iter().any(|suffix| name.ends_with(suffix));
    if name.starts_with("is_") || name.starts_with("has_") || name.starts_with("use_") || ends(&["flag"]) {
        return vec![(ValueShape::Bool, 4)];
    }
    match name {
        "n" | "i" | "j" | "k" | "m" | "count" | "size" | "length" | "limit" | "num" | "index" | "width"
        | "height" | "depth" | "level" | "offset" | "start" | "end" | "stop" | "step" | "maxlen"
        | "max_size" | "x" | "y" | "z" | "a" | "b" | "amount" | "quantity" | "number" | "seed" | "port"
        | "year" | "month" | "day" => {
            vec![(ValueShape::Int, 4)]
        }
        "price" | "rate" | "ratio" | "weight" | "percent" | "timeout" | "seconds" | "delay" | "factor"
        | "total" | "tolerance" | "alpha" | "epsilon" => vec![(ValueShape::Float, 4)],
        "items" | "values" | "seq" | "sequence" | "iterable" | "iterables" | "lst" | "xs" | "ys"
        | "elements" | "rows" | "lines" | "args" | "arr" | "array" | "records" | "entries" | "nums"
        | "numbers" | "keys" | "names" | "it" | "src" | "words" | "columns" | "fields" => {
            vec![(list(ValueShape::Any), 5)]
        }
        "d" | "dct" | "dictionary" | "mapping" | "config" | "params" | "headers" | "options" | "kwargs"
        | "settings" | "payload" | "record" | "row" | "context" | "metadata" => vec![(dictionary(), 4)],
        "func" | "fn" | "function" | "callback" | "predicate" | "pred" | "f" | "g" | "wrapped"
        | "factory" | "handler" | "method" | "decorated" => vec![(ValueShape::Callable { returns: None }, 6)],
        "dt" | "date" | "when" | "moment" | "timestamp" => vec![(ValueShape::DateTime, 4)],
        "fp" | "file" | "fileobj" | "stream" | "f_in" | "f_out" | "file_obj" | "out" => {
            vec![(ValueShape::TextFile, 4)]
        }
        "cls" | "klass" | "type_" => vec![(ValueShape::Type { of: None }, 4)],
        "data" | "buf" | "blob" | "raw" => vec![(ValueShape::Bytes, 2), (list(ValueShape::Any), 2)],
        _ if ends(&["path", "dir", "directory", "filename", "file_name"]) => vec![(ValueShape::Str, 4)],
        _ if ends(&["s", "list"]) && name.len() > 3 => vec![(list(ValueShape::Any), 2)],
        _ if ends(&[
            "name", "text", "string", "str", "msg", "message", "key", "title", "url", "id", "label",
        ]) =>
        {
            vec![(ValueShape::Str, 4)]
        }
        _ if ends(&["func", "callback", "fn", "hook", "factory"]) => {
            vec![(ValueShape::Callable { returns: None }, 6)]
        }
        _ if ends(&["count", "size", "num", "index", "len", "length", "max", "min"]) => {
            vec![(ValueShape::Int, 4)]
        }
        _ => vec![],
    }
}

fn list(of: ValueShape) -> ValueShape {
    ValueShape::List { of: Box::new(of) }
}

fn dictionary() -> ValueShape {
    ValueShape::Dict { key: Box::new(ValueShape::Str), value: Box::new(ValueShape::Any), class: None }
}

fn record<'a>(names: impl IntoIterator<Item = &'a str>) -> ValueShape {
    let field = |name: &str| TypedDictField { name: name.to_owned(), shape: ValueShape::Any, required: true };
    ValueShape::TypedDict { fields: names.into_iter().map(field).collect() }
}

/// Content of a string literal without escapes.
pub(super) fn text_literal(source: &str) -> Option<&str> {
    let quote = source.chars().next().filter(|first| matches!(first, '\'' | '"'))?;
    let inside = source.strip_prefix(quote)?.strip_suffix(quote)?;
    (!inside.contains(['\\', quote])).then_some(inside)
}

#[cfg(test)]
mod tests {
    use menace_model::inventory::ParameterKind;

    use super::*;

    fn best(name: &str, uses: &[ParameterUse], default: Option<&str>) -> ShapeGuess {
        let parameter = SectionParameter {
            name: name.into(),
            kind: ParameterKind::PositionalOrKeyword,
            annotation: None,
            default: None,
            uses: uses.to_vec(),
        };
        guesses(Some(&parameter), name, default).into_iter().next().unwrap()
    }

    #[test]
    fn uses_in_the_body_outweigh_the_name() {
        let guess = best("count", &[ParameterUse::Method("split".into())], None);
        assert_eq!(guess, ShapeGuess { shape: ValueShape::Str, is_plain: true });
        assert_eq!(best("count", &[], None), ShapeGuess { shape: ValueShape::Int, is_plain: false });
    }

    #[test]
    fn keys_that_are_read_make_a_record() {
        let uses = [ParameterUse::Key("'price'".into()), ParameterUse::Key("\"name\"".into())];
        match best("order", &uses, None).shape {
            ValueShape::TypedDict { fields } => {
                assert_eq!(
                    fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>(),
                    ["price", "name"]
                );
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_default_says_what_is_expected() {
        assert_eq!(best("thing", &[], Some("float")).shape, ValueShape::Float);
        assert!(!best("thing", &[], Some("float")).is_plain);
    }

    #[test]
    fn contradictory_uses_are_not_certain() {
        let uses = [ParameterUse::Method("append".into()), ParameterUse::Method("strip".into())];
        assert!(!best("thing", &uses, None).is_plain);
    }
}
