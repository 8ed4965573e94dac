"""What the sections of a module take, seen from inside: one answer for all of them."""

import inspect

from menace_harness import classify, coverage, examples, locate, perform, shapes

WORKSPACE = "/workspace"


def answer(request):
    try:
        return {"stage": "done", "sections": describe(request)}
    except BaseException as error:  # The import runs code of the repository.
        return {"stage": "import", "error": classify.facts(error, WORKSPACE)}


def describe(request):
    """Describes each section by its name, or says why it cannot be called."""
    module = perform.import_module(request["module"])
    describer = shapes.Describer(module)
    return {name: describe_section(describer, module, name) for name in request["sections"]}


def describe_section(describer, module, name):
    try:
        found = locate.locate(module, name)
    except LookupError as error:
        return {"missing": str(error)}
    owner, binding, function = found
    parameters = describer.parameters(function, binding in ("instance", "class"))
    if isinstance(parameters, str):
        return {"missing": parameters}
    described = {
        "binding": binding,
        "parameters": parameters,
        "is_async": inspect.iscoroutinefunction(function),
        "examples": examples.count(function),
        "lines": coverage.executable_lines(function, WORKSPACE),
    }
    if binding in ("instance", "property"):
        described["owner"] = describer.instance(owner, 0, ())
    return described
