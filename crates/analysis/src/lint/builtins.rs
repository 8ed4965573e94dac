//! Names that Python predefines, from 3.11 to 3.14.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

static BUILTINS: LazyLock<FxHashSet<&'static str>> =
    LazyLock::new(|| NAMES.split_ascii_whitespace().collect());

/// Whether `name` is one of the names in Python's module `builtins`. Redefining it hides the builtin.
pub(super) fn is_builtin(name: &str) -> bool {
    BUILTINS.contains(name)
}

/// Whether assigning to `name` hides a builtin. Modules legitimately set `__doc__` and other attributes of their own.
pub(super) fn is_hidden_by_assignment(name: &str) -> bool {
    let is_module_attribute =
        matches!(name, "__doc__" | "__loader__" | "__name__" | "__package__" | "__spec__");
    !is_module_attribute && is_builtin(name)
}

/// Whether every module can read `name` without defining it.
pub(super) fn is_predefined(name: &str) -> bool {
    is_builtin(name) || is_module_attribute(name)
}

/// Names that the import system and the interpreter put into a module's namespace. `__path__` exists in packages only,
/// but whether the module is a package is not known here. `WindowsError` exists on Windows.
fn is_module_attribute(name: &str) -> bool {
    matches!(
        name,
        "__annotate__"
            | "__annotations__"
            | "__builtins__"
            | "__cached__"
            | "__debug__"
            | "__file__"
            | "__path__"
            | "__warningregistry__"
            | "WindowsError"
    )
}

const NAMES: &str = "
    ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError BrokenPipeError
    BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError
    ConnectionResetError DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError Exception
    ExceptionGroup FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError
    ImportError ImportWarning IndentationError IndexError InterruptedError IsADirectoryError KeyError
    KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError NotADirectoryError NotImplemented
    NotImplementedError OSError OverflowError PendingDeprecationWarning PermissionError ProcessLookupError
    PythonFinalizationError RecursionError ReferenceError ResourceWarning RuntimeError RuntimeWarning
    StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError SystemExit TabError TimeoutError
    TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError
    UnicodeWarning UserWarning ValueError Warning ZeroDivisionError
    __build_class__ __doc__ __import__ __loader__ __name__ __package__ __spec__
    abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex
    copyright credits delattr dict dir divmod enumerate eval exec exit filter float format frozenset getattr globals
    hasattr hash help hex id input int isinstance issubclass iter len license list locals map max memoryview min
    next object oct open ord pow print property quit range repr reversed round set setattr slice sorted
    staticmethod str sum super tuple type vars zip
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assigning_builtins_hides_them_and_module_attributes_are_only_predefined() {
        assert!(is_builtin("print") && is_predefined("print"));
        assert!(is_predefined("__file__") && !is_builtin("__file__"));
        assert!(!is_predefined("unicode"));
        assert!(is_hidden_by_assignment("id") && !is_hidden_by_assignment("__doc__"));
    }
}
