"""Stub plugins: calls `generate_stubs(stubs, context)` for every section.

`stubs` are the existing dictionaries of arguments, `context` has `section`, `module`, `function` and the names of its
`parameters`. The returned list replaces the stubs; None keeps them.
"""

import json

from menace_harness import classify, perform


def answer(request):
    """Returns the stubs of each section, or the exception of the plugin."""
    perform.pin(0)
    space = {"__name__": "menace_stub_plugin", "__file__": request["path"]}
    try:
        exec(compile(request["source"], request["path"], "exec"), space)
        generate = space.get("generate_stubs")
        if not callable(generate):
            return {"stage": "lookup", "why": "the plugin does not define generate_stubs(stubs, context)"}
        return {"stage": "done", "stubs": [of_section(generate, section) for section in request["sections"]]}
    except BaseException as error:
        return {"stage": "call", "error": classify.facts(error, perform.WORKSPACE)}


def of_section(generate, section):
    known = section.pop("stubs")
    made = generate(known, section)
    if made is None:
        return known
    # Values without a JSON representation are rejected here, so that the error names the plugin.
    made = json.loads(json.dumps(list(made), allow_nan=False))
    wrong = next((one for one in made if not isinstance(one, dict)), None)
    if wrong is not None:
        raise TypeError(f"generate_stubs returned {wrong!r}, which is not a dictionary of arguments")
    return made
