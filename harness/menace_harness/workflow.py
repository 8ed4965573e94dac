"""Workflow: calls several sections in order in one process, so that each step sees the state left by earlier ones.

Steps with the same recipe share the object.
"""

import os
import resource
import sys

from menace_harness import locate, observe, perform, values


def answer(request):
    """Returns the result of each step, up to the first failure."""
    prepare(request.get("fixtures", {}).get("", {}))
    if request.get("safe_mode"):
        sys.addaudithook(refuse_network)
    objects = {}
    results = []
    for step in request["steps"]:
        if request.get("off"):
            results.append({"stage": "done", "value": None, "took_ms": 0.0, "type": "nothing"})
            continue
        prepare(request.get("fixtures", {}).get(step["module"], {}))
        results.append(make({**step, "seed": request["seed"]}, objects))
        if "error" in results[-1] or results[-1]["stage"] != "done":
            break
    return {"stage": "done", "steps": results}


def make(step, objects):
    stage = "import"
    try:
        module = perform.import_module(step["module"])
        perform.seed(step["seed"])
        stage = "lookup"
        owner, binding, function = locate.locate(module, step["function"])
        stage = "build"
        prepared = Step(step, owner, binding, function, objects)
        stage = "call"
        result = perform.measured(step, prepared)
    except values.CannotBuild as error:
        return {"stage": "build", "why": str(error)}
    except LookupError as error:
        if stage == "lookup":
            return {"stage": "lookup", "why": str(error)}
        return perform.failed(stage, error)
    except BaseException as error:
        return perform.failed(stage, error)
    result["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return result


class Step(perform.Call):
    """A call that reuses objects of earlier steps."""

    def __init__(self, request, owner, binding, function, objects):
        self.objects = objects
        super().__init__(request, owner, binding, function)
        if self.instance is not None:
            self.instance = self.shared(request["owner"], self.instance)

    def renew(self):
        super().renew()
        arguments, keywords = self.arguments
        recipes = self.request["arguments"]
        self.arguments = (
            [self.shared(recipe, value) for recipe, value in zip(recipes, arguments)],
            {name: self.shared(self.request["keywords"][name], value) for name, value in keywords.items()},
        )

    def shared(self, recipe, value):
        """Object that an earlier step built from the same recipe. Plain values are not shared."""
        if not isinstance(recipe, dict) or recipe.get("$") != "new":
            return value
        return self.objects.setdefault(repr(recipe), value)


def prepare(fixtures):
    """Creates the files and environment variables of a fixture."""
    for path, content in fixtures.get("files", {}).items():
        directory = os.path.dirname(path)
        if directory:
            os.makedirs(directory, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
    os.environ.update(fixtures.get("env", {}))


def refuse_network(event, _arguments):
    if observe.EVENTS.get(event) == "connections":
        raise RuntimeError("the network is not reachable in safe mode")
