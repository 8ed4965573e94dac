"""Describes the parameters of all sections of a module after importing it."""

import inspect
import sys

from menace_harness import classify, coverage, examples, locate, perform, shapes

WORKSPACE = "/workspace"
# Limits on the length and number of field names.
LONGEST_NAME = 40
MOST_NAMES = 80
FunctionType = type(lambda: None)
CodeType = type((lambda: None).__code__)


def answer(request):
    try:
        return {"stage": "done", "sections": describe(request)}
    except BaseException as error:  # The import executes code of the repository.
        return {"stage": "import", "error": classify.facts(error, WORKSPACE)}


def describe(request):
    """Describes each section by name, or gives the reason why it cannot be called."""
    module = perform.import_module(request["module"])
    describer = shapes.Describer(module)
    described = {name: describe_section(describer, module, name) for name in request["sections"]}
    # Without sockets, a module reads no responses of other services.
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
    """String constants in the functions of a module that could be field names of a response, in order. Surplus names are
    harmless: a response with additional fields still has those that the code reads."""
    found = {}
    waiting = [function.__code__ for function in perform.functions_of(module) if type(function) is FunctionType]
    for code in waiting:
        for constant in code.co_consts:
            if type(constant) is CodeType:
                waiting.append(constant)
            elif type(constant) is str and constant.isidentifier() and len(constant) <= LONGEST_NAME:
                found[constant] = None
    return list(found)[:MOST_NAMES]
