"""What the sections of a module take, seen from inside: one answer for all of them."""

import inspect
import sys

from menace_harness import classify, coverage, examples, locate, perform, shapes

WORKSPACE = "/workspace"
# A name of a field is not longer, and a module that reads more fields does well with these.
LONGEST_NAME = 40
MOST_NAMES = 80
FunctionType = type(lambda: None)
CodeType = type((lambda: None).__code__)


def answer(request):
    try:
        return {"stage": "done", "sections": describe(request)}
    except BaseException as error:  # The import runs code of the repository.
        return {"stage": "import", "error": classify.facts(error, WORKSPACE)}


def describe(request):
    """Describes each section by its name, or says why it cannot be called."""
    module = perform.import_module(request["module"])
    describer = shapes.Describer(module)
    described = {name: describe_section(describer, module, name) for name in request["sections"]}
    # A module that nobody has given a socket to reads no answers of others.
    if "socket" in sys.modules:
        reads = names_in(module)
        for section in described.values():
            section["reads"] = reads
    return described


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


def names_in(module):
    """Texts in the functions of a module that could be names of fields, in their order. Some are not; who reads a field
    that an answer has does not mind others."""
    found = {}
    waiting = [function.__code__ for function in perform.functions_of(module) if type(function) is FunctionType]
    for code in waiting:
        for constant in code.co_consts:
            if type(constant) is CodeType:
                waiting.append(constant)
            elif type(constant) is str and constant.isidentifier() and len(constant) <= LONGEST_NAME:
                found[constant] = None
    return list(found)[:MOST_NAMES]
