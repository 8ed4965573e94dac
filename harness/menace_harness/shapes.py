"""Shapes: descriptions of the values that a parameter accepts, from annotations and constructors.

A shape is a dictionary with the kind of value under "t". menace turns shapes into recipes, and `values` builds values from
recipes. A missing or unresolvable annotation has the shape "any".
"""

import collections.abc
import datetime
import decimal
import enum
import fractions
import inspect
import io
import pathlib
import re
import sys
import types
import typing
import uuid

from menace_harness import foreign

# Limit on nested constructors and types; deeper ones are "any".
DEEPEST = 5
# Limit on the listed members of an enum.
MOST_MEMBERS = 50

ANY = {"t": "any"}

SIMPLE = {
    bool: "bool",
    int: "int",
    float: "float",
    complex: "complex",
    str: "str",
    bytes: "bytes",
    bytearray: "bytearray",
    memoryview: "memoryview",
    type(None): "none",
    pathlib.Path: "path",
    pathlib.PurePath: "path",
    pathlib.PosixPath: "path",
    datetime.datetime: "datetime",
    datetime.date: "date",
    datetime.time: "time",
    datetime.timedelta: "timedelta",
    datetime.tzinfo: "timezone",
    datetime.timezone: "timezone",
    decimal.Decimal: "decimal",
    fractions.Fraction: "fraction",
    uuid.UUID: "uuid",
    re.Pattern: "pattern",
    io.StringIO: "text_file",
    io.TextIOBase: "text_file",
    io.TextIOWrapper: "text_file",
    io.BytesIO: "binary_file",
    io.BufferedIOBase: "binary_file",
    io.RawIOBase: "binary_file",
    io.IOBase: "binary_file",
    slice: "slice",
    range: "range",
    types.FunctionType: "callable",
    types.ModuleType: "module",
    types.SimpleNamespace: "namespace",
    object: "any",
}

COLLECTIONS = {
    list: "list",
    set: "set",
    frozenset: "frozenset",
    collections.deque: "deque",
    collections.abc.Iterable: "list",
    collections.abc.Collection: "list",
    collections.abc.Sequence: "list",
    collections.abc.MutableSequence: "list",
    collections.abc.Reversible: "list",
    collections.abc.Container: "list",
    collections.abc.Set: "set",
    collections.abc.MutableSet: "set",
    collections.abc.Iterator: "iterator",
    collections.abc.Generator: "iterator",
    collections.abc.AsyncIterator: "async_iterator",
    collections.abc.AsyncIterable: "async_iterator",
    collections.abc.AsyncGenerator: "async_iterator",
    collections.abc.KeysView: "list",
    collections.abc.ValuesView: "list",
}

MAPPINGS = {
    dict: "dict",
    collections.OrderedDict: "dict",
    collections.defaultdict: "dict",
    collections.Counter: "dict",
    collections.ChainMap: "dict",
    collections.abc.Mapping: "dict",
    collections.abc.MutableMapping: "dict",
}


class Describer:
    """Describes the parameters of callables of one module."""

    def __init__(self, module):
        self.namespace = vars(module)

    def parameters(self, function, skip_first, depth=0, within=()):
        """Parameters of a callable, or a text with the reason why they are unknown."""
        try:
            signature = signature_of(function)
        except (ValueError, TypeError) as error:
            return f"its signature cannot be read: {error}"
        parameters = list(signature.parameters.values())
        if skip_first and parameters and parameters[0].kind in (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        ):
            parameters = parameters[1:]
        hints = self.hints(function)
        described = []
        for parameter in parameters:
            annotation = hints.get(parameter.name, parameter.annotation)
            shape = ANY if annotation is inspect.Parameter.empty else self.shape(annotation, depth, within)
            described.append(
                {
                    "name": parameter.name,
                    "kind": parameter.kind.name.lower(),
                    "required": parameter.default is inspect.Parameter.empty
                    and parameter.kind
                    not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD),
                    "shape": shape,
                    "default": type_name_of_default(parameter.default),
                }
            )
        return described

    def hints(self, function):
        target = inspect.unwrap(function) if callable(function) else function
        if isinstance(target, type):
            target = target.__init__
        try:
            return typing.get_type_hints(target, include_extras=True)
        except Exception:
            return {}

    def shape(self, annotation, depth=0, within=()):
        try:
            return self.shape_of(annotation, depth, within)
        except Exception as error:  # Annotations are code of the repository and may raise.
            return {"t": "any", "why": f"{type(error).__name__}: {error}"[:200]}

    def shape_of(self, annotation, depth, within):
        if depth > DEEPEST:
            return ANY
        if isinstance(annotation, str):
            return self.shape_of(self.resolve(annotation), depth, within)
        if isinstance(annotation, typing.ForwardRef):
            return self.shape_of(self.resolve(annotation.__forward_arg__), depth, within)
        if annotation is None:
            return {"t": "none"}
        if annotation is typing.Any:
            return ANY
        try:
            if annotation in SIMPLE:
                return {"t": SIMPLE[annotation]}
        except TypeError:  # Unhashable annotation.
            return ANY
        if isinstance(annotation, typing.TypeVar):
            return self.type_variable(annotation, depth, within)
        if hasattr(annotation, "__supertype__"):
            return self.shape_of(annotation.__supertype__, depth, within)
        origin = typing.get_origin(annotation)
        if origin is not None:
            return self.generic(origin, typing.get_args(annotation), annotation, depth, within)
        if annotation in COLLECTIONS:
            return {"t": COLLECTIONS[annotation], "of": ANY}
        if annotation in MAPPINGS:
            return {"t": MAPPINGS[annotation], "key": ANY, "value": ANY, "class": qualified(annotation)}
        if annotation is tuple:
            return {"t": "tuple", "of": ANY}
        if annotation in (collections.abc.Callable, typing.Callable):
            return {"t": "callable", "returns": ANY}
        if annotation is collections.abc.Hashable or annotation is collections.abc.Sized:
            return {"t": "str"}
        if annotation in (collections.abc.Awaitable, collections.abc.Coroutine):
            return {"t": "awaitable", "of": ANY}
        if annotation is type:
            return {"t": "type"}
        if isinstance(annotation, type):
            return self.instance(annotation, depth, within)
        return {"t": "any", "why": f"unsupported annotation {annotation!r}"[:200]}

    def resolve(self, text):
        return eval(text, dict(vars(typing), **self.namespace))  # The same way as typing.get_type_hints.

    def type_variable(self, variable, depth, within):
        if variable.__constraints__:
            return {"t": "union", "of": [self.shape(one, depth + 1, within) for one in variable.__constraints__]}
        if variable.__bound__ is not None:
            return self.shape(variable.__bound__, depth + 1, within)
        return ANY

    def generic(self, origin, arguments, annotation, depth, within):
        def inner(index):
            return self.shape(arguments[index], depth + 1, within) if len(arguments) > index else ANY

        if origin is typing.Union or (hasattr(types, "UnionType") and origin is types.UnionType):
            return {"t": "union", "of": [self.shape(one, depth + 1, within) for one in arguments]}
        if origin is typing.Literal:
            return {"t": "literal", "values": [value for value in arguments if plain(value)]}
        if getattr(typing, "Annotated", None) is not None and hasattr(annotation, "__metadata__"):
            return foreign.limited(self.shape(annotation.__origin__, depth, within), annotation.__metadata__)
        if origin in (typing.Final, typing.ClassVar):
            return inner(0)
        if origin is tuple:
            if len(arguments) == 2 and arguments[1] is Ellipsis:
                return {"t": "tuple", "of": inner(0)}
            items = [] if arguments == ((),) else [self.shape(one, depth + 1, within) for one in arguments]
            return {"t": "tuple", "items": items}
        if origin in COLLECTIONS:
            return {"t": COLLECTIONS[origin], "of": inner(0)}
        if origin in MAPPINGS:
            value = {"t": "int"} if origin is collections.Counter else inner(1)
            return {"t": MAPPINGS[origin], "key": inner(0), "value": value, "class": qualified(origin)}
        if origin in (collections.abc.Callable,):
            returns = self.shape(arguments[-1], depth + 1, within) if arguments else ANY
            return {"t": "callable", "returns": returns}
        if origin in (collections.abc.Awaitable, collections.abc.Coroutine):
            return {"t": "awaitable", "of": self.shape(arguments[-1], depth + 1, within) if arguments else ANY}
        if origin is type:
            if arguments and isinstance(arguments[0], type):
                return {"t": "type", "of": qualified(arguments[0])}
            return {"t": "type"}
        if origin is re.Pattern:
            return {"t": "pattern"}
        if isinstance(origin, type):
            return self.instance(origin, depth, within)
        return ANY

    def instance(self, kind, depth, within):
        """Shape of an instance of a class."""
        if kind in within:
            return {"t": "opaque", "class": qualified(kind), "why": "its constructor needs another instance"}
        if issubclass(kind, enum.Enum):
            members = [name for name, _ in zip(kind.__members__, range(MOST_MEMBERS))]
            return {"t": "enum", "class": qualified(kind), "members": members}
        if typed_dictionary(kind):
            return self.typed_dictionary(kind, depth, within)
        if kind.__module__ in ("typing", "typing_extensions"):
            return {"t": "text_file"} if kind.__name__ in ("IO", "TextIO") else binary_or_any(kind)
        known = foreign.shape(qualified(kind))
        if known is not None:
            return known
        if issubclass(kind, BaseException):
            return {"t": "exception", "class": qualified(kind)}
        return self.constructed(kind, depth, within)

    def typed_dictionary(self, kind, depth, within):
        try:
            hints = typing.get_type_hints(kind)
        except Exception:
            hints = dict.fromkeys(kind.__annotations__, typing.Any)
        required = getattr(kind, "__required_keys__", frozenset(hints))
        fields = [
            {"name": name, "shape": self.shape(hint, depth + 1, within), "required": name in required}
            for name, hint in hints.items()
        ]
        return {"t": "typed_dict", "fields": fields}

    def constructed(self, kind, depth, within):
        chosen = concrete(kind)
        if chosen is None:
            return {"t": "opaque", "class": qualified(kind), "why": "it is abstract and has no implementation"}
        if depth >= DEEPEST:
            return {"t": "opaque", "class": qualified(kind), "why": "it is nested too deeply"}
        described = self.fields(chosen, depth, (*within, kind, chosen))
        if isinstance(described, str):
            return {"t": "opaque", "class": qualified(kind), "why": described}
        return {"t": "object", "class": qualified(chosen), "parameters": described, "record": is_record(chosen)}

    def fields(self, kind, depth, within):
        # The namespace of the class's own module resolves the annotations of its constructor.
        module = sys.modules.get(kind.__module__)
        describer = Describer(module) if module is not None else self
        return describer.parameters(kind, False, depth + 1, within)


def is_record(kind):
    """Whether a class only holds fields: a dataclass, a named tuple, or a class of pydantic or attrs."""
    if any("__post_init__" in vars(base) for base in kind.__mro__):
        return False
    names = ("__dataclass_fields__", "__attrs_attrs__", "model_fields")
    return any(hasattr(kind, name) for name in names) or issubclass(kind, tuple) and hasattr(kind, "_fields")


def signature_of(function):
    """Signature of a callable. Subclasses of builtins have none, but most builtins need no arguments."""
    try:
        return inspect.signature(function)
    except (ValueError, TypeError):
        if isinstance(function, type) and not issubclass(function, (int, float, tuple, type)):
            return inspect.Signature()
        raise


def typed_dictionary(kind):
    return isinstance(kind, type) and issubclass(kind, dict) and hasattr(kind, "__total__")


def binary_or_any(kind):
    return {"t": "binary_file"} if kind.__name__ == "BinaryIO" else ANY


def concrete(kind):
    """The class itself, or an implementation if it is abstract or a protocol."""
    if not inspect.isabstract(kind) and not getattr(kind, "_is_protocol", False):
        return kind
    for candidate in sorted(kind.__subclasses__(), key=qualified):
        found = concrete(candidate)
        if found is not None:
            return found
    return None


def qualified(kind):
    return f"{kind.__module__}:{kind.__qualname__}"


def plain(value):
    return value is None or isinstance(value, (bool, int, float, str))


def type_name_of_default(default):
    if default is inspect.Parameter.empty:
        return None
    return type(default).__name__
