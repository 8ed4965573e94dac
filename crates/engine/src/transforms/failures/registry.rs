//! Registry of the failure transforms.

use super::Transform;
use super::argument_types::ValidateArgument;
use super::branches::UnboundAfterBranches;
use super::errors::{LibraryRejection, RecursionTooDeep, WidenExcept};
use super::guards::{DivideByZero, EmptySequence, SplitPartCount};
use super::locks::{LockFunction, LockMethod};
use super::loops::BoundedLoop;
use super::numbers::{MathDomain, NonFiniteFloat, NumberOverflow};
use super::records::{MissingKey, WrongFieldType};
use super::regex::CatastrophicRegex;
use super::shared_state::{ExistsOk, IterateCopy, PopDefault, SqliteOtherThread};
use super::text::{EncodingErrors, SqlParameters};

/// All failure transforms, the most specific ones first.
pub fn of_failures() -> Vec<Box<dyn Transform>> {
    vec![
        Box::new(WidenExcept),
        Box::new(ExistsOk),
        Box::new(IterateCopy),
        Box::new(SqliteOtherThread),
        Box::new(SqlParameters),
        Box::new(CatastrophicRegex),
        Box::new(EncodingErrors),
        Box::new(UnboundAfterBranches),
        Box::new(ValidateArgument),
        Box::new(BoundedLoop),
        Box::new(LockMethod),
        Box::new(LockFunction),
        Box::new(PopDefault),
        Box::new(DivideByZero),
        Box::new(SplitPartCount),
        Box::new(EmptySequence),
        Box::new(MathDomain),
        Box::new(NonFiniteFloat),
        Box::new(RecursionTooDeep),
        Box::new(NumberOverflow),
        Box::new(MissingKey),
        Box::new(WrongFieldType),
        Box::new(LibraryRejection),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::site::testing::rewritten;
    use super::*;
    use crate::editable_source::EditableSource;
    use crate::transforms::{Cause, SectionFailure};

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = of_failures().iter().map(|transform| transform.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), of_failures().len());
    }

    #[test]
    fn reviews_are_ignored() {
        let source = EditableSource::parse("def f(x):\n    return 1 / x\n").unwrap();
        let cause = Cause::Review("f".to_owned());
        assert!(of_failures().iter().all(|transform| transform.rewrite(&source, &cause).is_empty()));
    }

    #[test]
    fn rewrites_of_unusual_code_parse() {
        let odd = "import re, math\r\n@a\r\n@b(1)\r\nclass A:\r\n\tdef f(self, x): return x[0] / len(x)\r\n\tasync def g(self, *x, **y):\r\n\t\treturn [await z for z in x][0]\r\n";
        let more = "import math\nclass A(B[int]):\n    __slots__ = ()\n    def __init__(this): pass\n    def f(this, x: 'list[', /, *, y: int = None):\n        if x[0]: return 1; z = 2\n        elif math.sqrt(y) / y: pass\n        else: raise\n        def inner(q): return q.pop() \\\n            / 3\n        return (lambda: x[0] / y)(), {k: v['a'] for k, v in x.items()}, f\"{x[0]!r:>{y}}\" \"%s\" % y\n    f = property(f)\n";
        let exceptions = [
            "ZeroDivisionError",
            "IndexError",
            "KeyError",
            "ValueError",
            "TypeError",
            "OverflowError",
            "RecursionError",
            "UnboundLocalError",
            "RuntimeError",
            "ProgrammingError",
            "error",
        ];
        for text in [odd, more] {
            for (line, exception) in
                (0..16).flat_map(|line| exceptions.iter().map(move |exception| (line, *exception)))
            {
                for (scenario, kind) in [
                    ("user_misuse", "crash"),
                    ("concurrency_spike", "crash"),
                    ("hostile_input", "timeout"),
                    ("schema_drift", "crash"),
                ] {
                    let failed = SectionFailure {
                        section: "A.f".to_owned(),
                        line,
                        kind: kind.to_owned(),
                        exception: Some(exception.to_owned()),
                        message: "cannot access local variable 'z' to unpack cannot convert float NaN"
                            .to_owned(),
                        scenario: scenario.to_owned(),
                        arguments: vec![("y".to_owned(), "'".to_owned()), ("y".to_owned(), "[]".to_owned())],
                    };
                    for transform in of_failures() {
                        rewritten(&*transform, text, failed.clone());
                    }
                }
            }
        }
    }
}
