//! Behaviour of every rule as data: a snippet and its findings.

use menace_model::inventory::LintRule::{
    self, BareExcept, BoolComparison, DuplicateKey, EmptyFString, MutableDefault, NoneComparison,
    SelfAssignment, ShadowedBuiltin, UndefinedName, UnreachableCode, UnusedImport, UnusedVariable,
};

use super::findings;
use crate::syntax::ParsedPythonSource;

fn check(snippet: &str, expected: &[(LintRule, u32, &str)]) {
    let found = findings(&ParsedPythonSource::parse(snippet.to_owned()));
    let found: Vec<_> =
        found.iter().map(|finding| (finding.rule, finding.line, finding.name.as_str())).collect();
    assert_eq!(found, expected, "in\n{snippet}");
}

/// Asserts that no snippet has a finding.
fn check_clean(snippets: &[&str]) {
    for snippet in snippets {
        check(snippet, &[]);
    }
}

#[test]
fn unused_imports() {
    check("import os", &[(UnusedImport, 1, "os")]);
    check("import os.path", &[(UnusedImport, 1, "os.path")]);
    check("import a.b as c\nfrom d import e as f", &[(UnusedImport, 1, "c"), (UnusedImport, 2, "f")]);
    check("from a import (\n    b,\n    c,\n)\nc", &[(UnusedImport, 2, "b")]);
    check("from . import a\nfrom .. import b as c", &[(UnusedImport, 1, "a"), (UnusedImport, 2, "c")]);
    check("def f():\n    import os", &[(UnusedImport, 2, "os")]);
    check("try:\n    import a\nexcept ImportError:\n    pass", &[(UnusedImport, 2, "a")]);
    check("import os\ndef f():\n    os = 1\n    return os", &[(UnusedImport, 1, "os")]);
    check("import a.b\nimport a.c", &[(UnusedImport, 2, "a.c")]);
}

#[test]
fn used_imports() {
    check_clean(&[
        "import os\nos.getcwd()",
        "import os\ndef f(): return os",
        "import os.path, os.fork\nos.x",
        "from __future__ import division",
        "from a import *",
        "import a as a\nfrom b import c as c",
        "class C:\n    import a",
        "import numpy as np\nimport numpy.linalg\nnp.linalg",
        "try:\n    import a\nexcept ImportError:\n    a = None",
        "import a\ndel a",
        "import a\n@a\ndef f(x: a.b = a.c) -> a.d: ...",
    ]);
}

#[test]
fn all_exports() {
    check_clean(&[
        "import a\n__all__ = ['a']",
        "import a, other\n__all__ = ('a',) + other.__all__",
        "import a, b\n__all__ = []\n__all__ += ['a']\n__all__: list = list(['b'])",
    ]);
    check("import a\n__all__ = []\n__all__.extend(['a'])", &[(UnusedImport, 1, "a")]);
    check("import a\ndef f():\n    __all__ = ['a']\n    return __all__", &[(UnusedImport, 1, "a")]);
}

#[test]
fn unused_variables() {
    check("def f():\n    a = 1", &[(UnusedVariable, 2, "a")]);
    check("def f():\n    a = b = 1\n    return b", &[(UnusedVariable, 2, "a")]);
    check("def f():\n    a: int = 1", &[(UnusedVariable, 2, "a")]);
    check("def f():\n    a, b = 1, 2", &[(UnusedVariable, 2, "a"), (UnusedVariable, 2, "b")]);
    check("def f(x):\n    with x as a: pass", &[(UnusedVariable, 2, "a")]);
    check("def f(x):\n    if (a := x): pass", &[(UnusedVariable, 2, "a")]);
    check("def f(x):\n    return [a := y for y in x]", &[(UnusedVariable, 2, "a")]);
    check(
        "def f(x):\n    match x:\n        case [a, *b]: pass",
        &[(UnusedVariable, 3, "a"), (UnusedVariable, 3, "b")],
    );
    check(
        "def f(x):\n    match x:\n        case {**a}: pass\n        case b: pass",
        &[(UnusedVariable, 3, "a"), (UnusedVariable, 4, "b")],
    );
    check("try: pass\nexcept OSError as e: pass", &[(UnusedVariable, 2, "e")]);
    check(
        "def f():\n    a = 1\n    a = 2\n    def g():\n        a = 3\n        return a",
        &[(UnusedVariable, 3, "a")],
    );
    check("def f():\n    _a_ = 1", &[(UnusedVariable, 2, "_a_")]);
    check("f = lambda: (a := 1)", &[(UnusedVariable, 1, "a")]);
}

#[test]
fn used_variables() {
    check_clean(&[
        "a = 1",
        "class C:\n    a = 1",
        "def f():\n    a = 1\n    def g(): return a\n    return g",
        "def f():\n    a = 1\n    a += 1",
        "def f(x):\n    a, b = x",
        "def f(x):\n    with x as (a, b): pass",
        "def f(x):\n    for a in x: pass",
        "def f():\n    a = 1\n    return locals()",
        "def f():\n    _ = __ = _a = __tracebackhide__ = 1",
        "def f():\n    global a\n    a = 1",
        "def f():\n    a = 1\n    def g():\n        nonlocal a\n        a = 2\n    return g",
        "def f():\n    a = 1\n    del a",
        "def f():\n    a = 1\n    print(a)\n    a = 2",
        "def f():\n    def a(): pass\n    class B: pass",
        "try: pass\nexcept OSError as e: print(e)",
        "class C:\n    def f(self):\n        nonlocal __class__\n        __class__ = C",
    ]);
}

#[test]
fn undefined_names() {
    check("a", &[(UndefinedName, 1, "a")]);
    check("def f():\n    return a", &[(UndefinedName, 2, "a")]);
    check("def f():\n    print(a)\n    a = 1\n    return a", &[(UndefinedName, 2, "a")]);
    check("del a", &[(UndefinedName, 1, "a")]);
    check("a = 1\ndel a\na", &[(UndefinedName, 3, "a")]);
    check("a: int\na", &[(UndefinedName, 2, "a")]);
    check("a = 1\ndef f():\n    a: int\n    return a", &[(UndefinedName, 4, "a")]);
    check("try: pass\nexcept OSError as e: print(e)\ne", &[(UndefinedName, 3, "e")]);
    check("[a for a in []]\na", &[(UndefinedName, 2, "a")]);
    check("f'{a}' f'{b:{c}}'", &[(UndefinedName, 1, "a"), (UndefinedName, 1, "b"), (UndefinedName, 1, "c")]);
    check("a += 1", &[(UndefinedName, 1, "a")]);
    check("unicode", &[(UndefinedName, 1, "unicode")]);
    check("match 1:\n    case A(b=c) if d: c", &[(UndefinedName, 2, "A"), (UndefinedName, 2, "d")]);
}

#[test]
fn class_names_are_visible_in_the_class_body_only() {
    check("class C:\n    a = 1\n    def f(self): return a", &[(UndefinedName, 3, "a")]);
    check("class C:\n    a = 1\n    b = [a for _ in ()]", &[(UndefinedName, 3, "a")]);
    check("class C:\n    a = 1\n    class D:\n        b = a", &[(UndefinedName, 4, "a")]);
    check("def f(): return __class__", &[(UndefinedName, 1, "__class__")]);
    check("class C:\n    def f(self): return __qualname__", &[(UndefinedName, 2, "__qualname__")]);
    check_clean(&[
        "class C:\n    a = 1\n    def f(self, b=a): return [x for x in b]\n    c = [d for d in [a]]",
        "class C:\n    def f(self): return [__class__ for x in 'a']",
        "class C:\n    a = __module__, __qualname__",
        "class C:\n    type_ = int\n    def f[T](self, x: type_) -> T: ...",
    ]);
}

#[test]
fn defined_names() {
    check_clean(&[
        "def f(): return a\na = 1",
        "def f():\n    def g(): return a\n    a = 1\n    return g",
        "f = lambda: a\na = 1",
        "print(__file__, __name__, __path__, WindowsError, ExceptionGroup, PythonFinalizationError)",
        "from a import *\nb",
        "try:\n    unicode\nexcept NameError:\n    unicode = str",
        "try:\n    unicode\nexcept (NameError, ValueError): pass",
        "def f():\n    global a\n    a = 1\ndef g(): return a",
        "def g(): return a\ndef f():\n    global a\n    a = 1",
        "print([a := 1 for _ in 'b'], a)",
        "if x := 1: print(x)",
        "a = 1\nif a: del a\nprint(a)",
        "a = 1\ntry: pass\nexcept OSError: del a\nprint(a)",
        "e = 1\ntry: pass\nexcept OSError as e: print(e)\nprint(e)",
        "def f[T: int = str](a: T) -> T: return T",
        "class C[T](list[T]):\n    def f(self, a: T): return T",
        "type A[T] = dict[T, B]\ntype B = A",
        "def f(a, /, b, *c, d, **e): return a, b, c, d, e",
        "for a in 'b': pass\nprint(a)",
        "match 1:\n    case [a, {'k': b, **c}] | (int() as d): print(a, b, c, d)",
    ]);
    check("try:\n    pass\nexcept NameError:\n    unicode", &[(UndefinedName, 4, "unicode")]);
}

#[test]
fn annotations_that_run() {
    check("def f(a: B): ...\nclass B: ...", &[(UndefinedName, 1, "B")]);
    check("class A:\n    def f(self) -> A: ...", &[(UndefinedName, 2, "A")]);
    check_clean(&["from __future__ import annotations\ndef f(a: B) -> B: ...\nclass B: ..."]);
}

#[test]
fn annotations_in_quotes() {
    check("a: 'B' = 1", &[(UndefinedName, 1, "B")]);
    check("a: 'list[B]' = 1", &[(UndefinedName, 1, "B")]);
    check("a: '''\nlist[\n    B\n]''' = 1", &[(UndefinedName, 3, "B")]);
    check("a: \"list['B']\" = 1", &[(UndefinedName, 1, "B")]);
    check("from typing import cast\ncast('A', 'B')", &[(UndefinedName, 2, "A")]);
    check("import typing as t\nx = t.List['A']", &[(UndefinedName, 2, "A")]);
    check(
        "from typing import TypeVar\nT = TypeVar('T', 'A', bound='B')",
        &[(UndefinedName, 2, "A"), (UndefinedName, 2, "B")],
    );
    check(
        "from typing import NamedTuple, TypedDict\nNamedTuple('N', [('a', 'A')])\nTypedDict('D', {'b': 'B'})",
        &[(UndefinedName, 2, "A"), (UndefinedName, 3, "B")],
    );
    check("from typing import TypeAlias\na: TypeAlias = 'A'", &[(UndefinedName, 2, "A")]);
    check("def f():\n    a: int\n    def g(b: 'a'): ...\n    return g", &[(UndefinedName, 3, "a")]);
    check_clean(&[
        "import os, re\na: 'os.PathLike' = 1\ndef f(b: 'list[re.Pattern]'): ...",
        "def f(a: 'B') -> 'B': ...\nclass B: ...",
        "from typing import Literal\na: Literal['b'] = 1\nc: 'Literal[\"d\"]' = 1",
        "from typing import Annotated\na: Annotated['int', 'b'] = 1",
        "a: 'not python (' = 1\nb: '' = 1\nc: 'lambda x: x' = 1\nd: '[y for y in ()]' = 1",
        "def f(a: print('b')): ...",
        "x = {}['a'], list[int]['b', 'c']",
    ]);
}

#[test]
fn bare_excepts() {
    check("try: pass\nexcept: pass", &[(BareExcept, 2, "")]);
    check("try: pass\nexcept: raise ValueError", &[(BareExcept, 2, "")]);
    check_clean(&["try: pass\nexcept Exception: pass", "try: pass\nexcept:\n    print()\n    raise"]);
}

#[test]
fn mutable_defaults() {
    check("def f(a=[], *, b={}): ...", &[(MutableDefault, 1, "a"), (MutableDefault, 1, "b")]);
    check(
        "def f(\n    a={1},\n    b=[x for x in ()]): ...",
        &[(MutableDefault, 2, "a"), (MutableDefault, 3, "b")],
    );
    check("def f(a=dict(), b=list[int]()): ...", &[(MutableDefault, 1, "a"), (MutableDefault, 1, "b")]);
    check("from collections import deque\ndef f(a=deque()): ...", &[(MutableDefault, 2, "a")]);
    check("import collections as c\ndef f(a=c.defaultdict(list)): ...", &[(MutableDefault, 2, "a")]);
    check("def f(a: list | None = []): ...", &[(MutableDefault, 1, "a")]);
    check_clean(&[
        "def f(a=(), b=None, c=frozenset(), d=[] or 1): ...",
        "lambda a=[]: a",
        "from typing import Sequence, Optional, Union\n\
         def f(a: Sequence[int] = [], b: Optional[Sequence] = [], c: Union[str, None] = []): ...",
        "import collections.abc\ndef f(a: collections.abc.Mapping | None = {}): ...",
        "def dict(): ...  # noqa\ndef f(a=dict()): ...",
    ]);
}

#[test]
fn shadowed_builtins() {
    check("id = 1", &[(ShadowedBuiltin, 1, "id")]);
    check("def list(): ...\nclass str: ...", &[(ShadowedBuiltin, 1, "list"), (ShadowedBuiltin, 2, "str")]);
    check(
        "def f(id, *type, **dict): ...",
        &[(ShadowedBuiltin, 1, "id"), (ShadowedBuiltin, 1, "type"), (ShadowedBuiltin, 1, "dict")],
    );
    check(
        "for min, (max, *sum) in (): ...",
        &[(ShadowedBuiltin, 1, "min"), (ShadowedBuiltin, 1, "max"), (ShadowedBuiltin, 1, "sum")],
    );
    check("[id for id in ()]\n(abs := 1)", &[(ShadowedBuiltin, 1, "id"), (ShadowedBuiltin, 2, "abs")]);
    check("try: ...\nexcept OSError as input: print(input)", &[(ShadowedBuiltin, 2, "input")]);
    check(
        "class C:\n    for id in (): ...\n    class int: ...",
        &[(ShadowedBuiltin, 2, "id"), (ShadowedBuiltin, 3, "int")],
    );
    check_clean(&[
        "class C:\n    id = 1\n    max: int = 2\n    def list(self): ...",
        "lambda id: id",
        "import foo as id\nid",
        "from typing import overload\n@overload\ndef f(id): ...",
        "import typing_extensions as t\n@t.override\ndef f(id): ...",
        "__doc__ = ''\nfoo = 1\nfoo.id = 2",
    ]);
}

#[test]
fn unreachable_statements() {
    check("def f():\n    return\n    a()\n    b()\na = b = 1", &[(UnreachableCode, 3, "")]);
    check(
        "while 1:\n    if 1:\n        break\n        print()\n    continue\n    print()",
        &[(UnreachableCode, 4, ""), (UnreachableCode, 6, "")],
    );
    check("raise ValueError\nprint()", &[(UnreachableCode, 2, "")]);
    check_clean(&[
        "def f():\n    return\n    yield",
        "def f(a):\n    if a: return 1\n    return 2",
        "def f():\n    try: return 1\n    finally: print()",
    ]);
}

#[test]
fn comparisons_with_singletons() {
    check("a = 1\na == None, None != a", &[(NoneComparison, 2, ""), (NoneComparison, 2, "")]);
    check("a = 1\na == True, False != a", &[(BoolComparison, 2, ""), (BoolComparison, 2, "")]);
    check("a = 1\n(a ==\n None)", &[(NoneComparison, 3, "")]);
    check("a = 1\n(a ==\n True)", &[(BoolComparison, 2, "")]);
    check("a = 1\na == a == None", &[(NoneComparison, 2, "")]);
    check_clean(&["a = 1\na is None, a is not True, a < None", "1 == None, None == 'a', True == 1"]);
}

#[test]
fn empty_f_strings() {
    check("f'a'", &[(EmptyFString, 1, "")]);
    check("(f'a'\n 'b' f'c')", &[(EmptyFString, 1, ""), (EmptyFString, 2, "")]);
    check("f'{{}}'", &[(EmptyFString, 1, "")]);
    check_clean(&["f'{1}' f'a'", "'a'", "f'{1:>{2}}'"]);
}

#[test]
fn duplicate_keys() {
    check("{'a': 1, 'b': 2,\n 'a': 3}", &[(DuplicateKey, 2, "a")]);
    check("{1: 1, 1.0: 2, True: 3}", &[(DuplicateKey, 1, ""), (DuplicateKey, 1, "")]);
    check("a = 1\n{a: 1, a: 2}", &[(DuplicateKey, 2, "a")]);
    check("{(1, 'a'): 1, (1, 'a'): 2, -1: 1, -1: 2}", &[(DuplicateKey, 1, ""), (DuplicateKey, 1, "")]);
    check_clean(&["{'a': 1, b'a': 2, 'b': 3}", "a = 1\n{a.b: 1, a.b: 2, a(): 1, a(): 2, **a, **a}"]);
}

#[test]
fn self_assignments() {
    check("a = 1\na = a", &[(SelfAssignment, 2, "a")]);
    check("a = b = 1\na, b = a, 1", &[(SelfAssignment, 2, "a")]);
    check("a = 1\na: int = a", &[(SelfAssignment, 2, "a")]);
    check("a = a = 1", &[(SelfAssignment, 1, "a")]);
    check_clean(&["a = b = 1\na, b = b, a", "a = 1\nclass C:\n    a = a", "a = 1\na.b = a.b"]);
}

#[test]
fn noqa_suppresses() {
    check_clean(&[
        "import os  # noqa",
        "import os  # NoQA: E501, F401",
        "from a import (  # noqa: F401\n    b,\n)",
        "from a import \\\n    b  # noqa",
        "x = f'''{a}\n'''  # noqa: F821",
        "# ruff: noqa\nimport os",
        "# flake8: noqa: F401\nimport os",
    ]);
    check("import os  # noqa: F821", &[(UnusedImport, 1, "os")]);
    check("import os  # ruff: noqa", &[(UnusedImport, 1, "os")]);
    check("'# noqa'; import os", &[(UnusedImport, 1, "os")]);
}

#[test]
fn broken_files_are_checked_by_structural_rules_only() {
    check("import os\nfoo(\ndef f(a=[]): return b", &[(MutableDefault, 3, "a")]);
}

#[test]
fn truncated_files_do_not_panic() {
    let text = "from a import (b as c, *)\nclass A[T: 'x'](B, metaclass=C):\n    x: 'list[y]' = lambda *a, k=1: {**a, 1: k}\n\
                async def f(a, /, b=[], *c: d, **e) -> 'é':\n    global g; nonlocal h; del g, (h[0], i.j)\n\
                    try: return [x for y in z if (w := y)]\n    except* (E, F) as e: pass  # noqa: F401\n\
                    match x:\n        case {'a': b, **c} | [d, *e] | F(g=h): f'{a!r:>{b}} {{}}' f''\n\
                    with a as (b, *c), d as e[0]: x += yield\ntype X[*T, **P] = 'T' \"P\"\n__all__ += ['a'] + b\n";
    for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
        findings(&ParsedPythonSource::parse(text[..end].to_owned()));
        findings(&ParsedPythonSource::parse(text[end..].to_owned()));
    }
}
