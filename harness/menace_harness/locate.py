"""Finds a section in an imported module."""

FUNCTION = type(lambda: None)


def locate(module, name):
    """Returns the class of a section, its binding, and the callable."""
    *path, last = name.split(".")
    owner = module
    for part in path:
        if part == "<locals>":
            raise LookupError("it is a local function")
        owner = attribute(owner, part)
    if owner is module:
        function = attribute(module, last)
        if not callable(function):
            raise LookupError(f"the name is a {type(function).__name__} after the import")
        return None, "function", function
    if not isinstance(owner, type):
        raise LookupError("the name of its class is not a class after the import")
    return owner, *member(owner, last)


def attribute(owner, name):
    try:
        return getattr(owner, name)
    except AttributeError:
        raise LookupError(f"there is no {name} after the import") from None


def member(owner, name):
    mangled = f"_{owner.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
    for kind in owner.__mro__:
        if mangled in vars(kind):
            raw = vars(kind)[mangled]
            break
    else:
        raise LookupError(f"the class has no {name} after the import")
    if isinstance(raw, staticmethod):
        return "static", raw.__func__
    if isinstance(raw, classmethod):
        return "class", raw.__func__
    getter = getattr(raw, "fget", None) or getattr(raw, "func", None)
    if getter is not None and not isinstance(raw, FUNCTION):
        return "property", getter
    if callable(raw):
        return "instance", raw
    raise LookupError(f"the name is a {type(raw).__name__} after the import")
