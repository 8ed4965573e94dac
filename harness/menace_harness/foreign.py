"""Shapes of types of other packages: arrays and data frames, and value limits in annotations.

This module does not import those packages: a repository that uses them has imported them before.
"""

import re

# Number of candidate values for a limited type.
MOST_VALUES = 6
WHOLE = (3, 1, 2, 0, 10, 7, -1, 100)
PARTS = (1.5, 0.5, 0.0, 2.0, -1.0, 100.25)


def parameter(name, shape):
    return {"name": name, "kind": "positional_or_keyword", "required": True, "shape": shape, "default": None}


def made_by(path, shape):
    return {"t": "object", "class": path, "parameters": [parameter("data", shape)], "record": False}


def column(kind):
    # All columns have the same length.
    return {"t": "tuple", "items": [{"t": kind}] * 3}


FIELDS = [
    {"name": name, "shape": column(kind), "required": True}
    for name, kind in (("a", "int"), ("b", "float"), ("name", "str"))
]

KNOWN = {
    "numpy:ndarray": made_by("numpy:array", {"t": "list", "of": {"t": "float"}}),
    "pandas.core.frame:DataFrame": made_by("pandas:DataFrame", {"t": "typed_dict", "fields": FIELDS}),
    "pandas.core.series:Series": made_by("pandas:Series", {"t": "list", "of": {"t": "float"}}),
    "pandas.core.indexes.base:Index": made_by("pandas:Index", {"t": "list", "of": {"t": "str"}}),
    "pandas._libs.tslibs.timestamps:Timestamp": made_by(
        "pandas:Timestamp", {"t": "literal", "values": ["2024-05-17", "2000-02-29T12:30:00"]}
    ),
}


def shape(path):
    """Shape of a class of another package whose constructor does not describe it, or None."""
    return KNOWN.get(path) or KNOWN.get(public_name(path))


def public_name(path):
    """Finds the known class of the same package and name, because packages move and re-export their classes."""
    module, _, name = path.partition(":")
    return next((known for known in KNOWN if known.split(".")[0] == module and known.endswith(f":{name}")), None)


def limited(of, metadata):
    """Shape of a value with limits in its annotation, as in pydantic."""
    limits = limits_of(metadata)
    if not limits:
        return of
    if of["t"] in ("int", "float"):
        values = [value for value in candidates(of["t"], limits) if is_within(value, limits)]
    elif of["t"] == "str":
        values = [text for text in texts(limits) if is_long_enough(text, limits)]
    else:
        return of
    return {"t": "literal", "values": list(dict.fromkeys(values))[:MOST_VALUES]} if values else of


def limits_of(metadata):
    limits = {}
    for one in metadata:
        inner = getattr(one, "metadata", None)
        if isinstance(inner, (list, tuple)):
            limits.update(limits_of(inner))
        for name in ("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length", "pattern"):
            value = getattr(one, name, None)
            if isinstance(value, (int, float, str)) and not isinstance(value, bool):
                limits[name] = value
    return limits


def candidates(kind, limits):
    usual = WHOLE if kind == "int" else PARTS
    step = limits.get("multiple_of") or (1 if kind == "int" else 0.5)
    ends = [limits[name] + step for name in ("gt", "ge") if name in limits]
    ends += [limits[name] - step for name in ("lt", "le") if name in limits]
    ends += [limits[name] for name in ("ge", "le") if name in limits]
    values = [*usual, *ends]
    if "multiple_of" in limits:
        first = -(-limits.get("ge", limits.get("gt", 0)) // step) * step
        values = [first + turn * step for turn in range(MOST_VALUES)]
    return [int(value) if kind == "int" else float(value) for value in values]


def is_within(value, limits):
    return (
        value > limits.get("gt", float("-inf"))
        and value >= limits.get("ge", float("-inf"))
        and value < limits.get("lt", float("inf"))
        and value <= limits.get("le", float("inf"))
        and (not limits.get("multiple_of") or value % limits["multiple_of"] == 0)
    )


def texts(limits):
    if "pattern" in limits:
        return [text for turn in range(MOST_VALUES) for text in [matching(limits["pattern"], turn)] if text is not None]
    least, most = int(limits.get("min_length", 0)), int(limits.get("max_length", 1000))
    return ["menace"[:length] if length <= 6 else "m" * length for length in (6, least, least + 1, most) if length < 2000]


def is_long_enough(text, limits):
    return limits.get("min_length", 0) <= len(text) <= limits.get("max_length", float("inf"))


def matching(pattern, turn):
    """Text that matches a pattern, or None. Different turns give different texts."""
    try:
        from re import _parser as parser
    except ImportError:
        import sre_parse as parser
    try:
        text = "".join(parts(parser.parse(pattern), turn))
        return text if re.search(pattern, text) else None
    except (re.error, ValueError, RecursionError, OverflowError):
        return None


def parts(tree, turn):
    for operation, argument in tree:
        name = str(operation)
        if name == "LITERAL":
            yield chr(argument)
        elif name == "NOT_LITERAL":
            yield "a" if argument != ord("a") else "b"
        elif name == "ANY":
            yield "a"
        elif name == "IN":
            yield one_of(argument, turn)
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, most, inner = argument
            for _ in range(min(least + turn, int(most), least + MOST_VALUES)):
                yield from parts(inner, turn)
        elif name in ("SUBPATTERN", "ATOMIC_GROUP"):
            yield from parts(argument[-1] if name == "SUBPATTERN" else argument, turn)
        elif name == "BRANCH":
            yield from parts(argument[1][turn % len(argument[1])], turn)


CATEGORIES = {
    "CATEGORY_DIGIT": "7",
    "CATEGORY_WORD": "a",
    "CATEGORY_SPACE": " ",
    "CATEGORY_NOT_DIGIT": "a",
    "CATEGORY_NOT_WORD": "-",
    "CATEGORY_NOT_SPACE": "a",
}


def one_of(choices, turn):
    """Character of a character set."""
    kinds = [(str(operation), argument) for operation, argument in choices]
    if kinds[0][0] == "NEGATE":
        taken = {chr(argument) for operation, argument in kinds if operation == "LITERAL"}
        return next(character for character in "abcxyz019-_ ~" if character not in taken)
    operation, argument = kinds[turn % len(kinds)]
    if operation == "RANGE":
        least, most = argument
        return chr(least + turn % (most - least + 1))
    if operation == "CATEGORY":
        return CATEGORIES.get(str(argument), "a")
    return chr(argument)
