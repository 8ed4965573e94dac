"""Builds values from recipes: plain JSON values, and dictionaries with a kind under "$" for all others."""

import importlib
import sys

# menace limits repetition and nesting; this guards against wrong recipes.
MOST = 50_000_000


class CannotBuild(Exception):
    """The value of a recipe cannot be built."""


def build(recipe):
    if isinstance(recipe, list):
        return [build(one) for one in recipe]
    if not isinstance(recipe, dict):
        return recipe
    return BUILDERS[recipe["$"]](recipe)


def build_all(recipes):
    return [build(recipe) for recipe in recipes]


def build_pairs(recipe):
    return [(build(key), build(value)) for key, value in recipe["v"]]


def find(path):
    """Object at a path such as package.module:Class.name."""
    module, _, name = path.partition(":")
    target = sys.modules.get(module) or importlib.import_module(module)
    for part in name.split("."):
        target = getattr(target, part)
    return target


def construct(recipe):
    path = recipe["c"]
    try:
        kind = find(path)
        arguments = build_all(recipe.get("a", ()))
        keywords = {name: build(value) for name, value in recipe.get("k", {}).items()}
        return kind(*arguments, **keywords)
    except CannotBuild:
        raise
    except BaseException as error:
        raise CannotBuild(f"{path} cannot be built: {type(error).__name__}: {error}"[:500]) from error


def repeat(recipe):
    value, count = build(recipe["v"]), min(recipe["n"], MOST)
    return value * count


def nest(recipe):
    value = build(recipe["v"])
    for _ in range(min(recipe["n"], 100_000)):
        value = [value] if recipe["in"] == "list" else {"a": value}
    return value


def function(recipe):
    def stub(*_arguments, **_keywords):
        return build(recipe.get("v"))

    return stub


def async_function(recipe):
    async def stub(*_arguments, **_keywords):
        return build(recipe.get("v"))

    return stub


def awaitable(recipe):
    async def wait():
        return build(recipe.get("v"))

    return wait()


async def produce(values):
    for value in values:
        yield value


def mapping(recipe):
    pairs = build_pairs(recipe)
    kind = recipe.get("c")
    if kind in (None, "builtins:dict", "collections.abc:Mapping", "collections.abc:MutableMapping"):
        return dict(pairs)
    if kind == "collections:defaultdict":
        return find(kind)(type(pairs[0][1]) if pairs else str, pairs)
    return find(kind)(dict(pairs))


def namespace(recipe):
    return type(sys.implementation)(**{name: build(value) for name, value in recipe["v"].items()})


def evaluate(recipe):
    """Value of a constant expression of the repository."""
    module = sys.modules.get(recipe.get("m", "builtins"))
    try:
        return eval(recipe["v"], dict(vars(module)) if module is not None else {})
    except BaseException as error:
        raise CannotBuild(f"{recipe['v']} has no value: {type(error).__name__}: {error}"[:500]) from error


def zone(recipe):
    import datetime

    return datetime.timezone(datetime.timedelta(minutes=recipe["v"]))


def by(path):
    """Builder that passes the text to a function of the standard library."""
    return lambda recipe: find(path)(recipe["v"])


def of_hex(path):
    return lambda recipe: find(path)(bytes.fromhex(recipe["v"]))


BUILDERS = {
    "int": lambda recipe: int(recipe["v"]),
    "float": lambda recipe: float(recipe["v"]),
    "complex": lambda recipe: complex(recipe["v"]),
    "text": lambda recipe: recipe["v"].encode("ascii").decode("unicode_escape"),
    "bytes": lambda recipe: bytes.fromhex(recipe["v"]),
    "bytearray": lambda recipe: bytearray.fromhex(recipe["v"]),
    "memoryview": lambda recipe: memoryview(bytes.fromhex(recipe["v"])),
    "tuple": lambda recipe: tuple(build_all(recipe["v"])),
    "set": lambda recipe: set(build_all(recipe["v"])),
    "frozenset": lambda recipe: frozenset(build_all(recipe["v"])),
    "deque": lambda recipe: find("collections:deque")(build_all(recipe["v"])),
    "iterator": lambda recipe: iter(build_all(recipe["v"])),
    "async_iterator": lambda recipe: produce(build_all(recipe["v"])),
    "dict": mapping,
    "path": by("pathlib:Path"),
    "datetime": by("datetime:datetime.fromisoformat"),
    "date": by("datetime:date.fromisoformat"),
    "time": by("datetime:time.fromisoformat"),
    "timedelta": lambda recipe: find("datetime:timedelta")(seconds=recipe["v"]),
    "timezone": zone,
    "decimal": by("decimal:Decimal"),
    "fraction": by("fractions:Fraction"),
    "uuid": by("uuid:UUID"),
    "pattern": by("re:compile"),
    "text_file": by("io:StringIO"),
    "binary_file": of_hex("io:BytesIO"),
    "slice": lambda recipe: slice(*recipe["v"]),
    "range": lambda recipe: range(*recipe["v"]),
    "module": lambda recipe: importlib.import_module(recipe["v"]),
    "namespace": namespace,
    "enum": lambda recipe: find(recipe["c"])[recipe["v"]],
    "type": lambda recipe: find(recipe["c"]),
    "new": construct,
    "function": function,
    "async_function": async_function,
    "awaitable": awaitable,
    "repeat": repeat,
    "nest": nest,
    "source": evaluate,
}
