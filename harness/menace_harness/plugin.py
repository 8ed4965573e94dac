"""Plugins that give arguments: `generate_stubs(stubs, context)` for every section.

`stubs` are the dictionaries that are known already, `context` says what they are for: `section`, `module`, `function` and
the names of its `parameters`. What is returned takes their place; None leaves them as they are.
"""

import json

from menace_harness import classify, perform


def answer(request):
    """The dictionaries of each section, or what the plugin raised."""
    perform.pin(0)
    space = {"__name__": "menace_stub_plugin", "__file__": request["path"]}
    try:
        exec(compile(request["source"], request["path"], "exec"), space)
        generate = space.get("generate_stubs")
        if not callable(generate):
            return {"stage": "lookup", "why": "it has no function generate_stubs(stubs, context)"}
        return {"stage": "done", "stubs": [of_section(generate, section) for section in request["sections"]]}
    except BaseException as error:
        return {"stage": "call", "error": classify.facts(error, perform.WORKSPACE)}


def of_section(generate, section):
    known = section.pop("stubs")
    made = generate(known, section)
    if made is None:
        return known
    # What JSON cannot hold is an error here, where the plugin can be named.
    made = json.loads(json.dumps(list(made), allow_nan=False))
    wrong = next((one for one in made if not isinstance(one, dict)), None)
    if wrong is not None:
        raise TypeError(f"generate_stubs returned {wrong!r}, which is no dictionary of arguments")
    return made
