"""Runs the examples (doctests) of a docstring."""

from menace_harness import classify, locate, perform


def count(function):
    """Number of examples in the docstring of a function."""
    text = getattr(function, "__doc__", None)
    return text.count(">>> ") if isinstance(text, str) else 0


def answer(request):
    try:
        module = perform.import_module(request["module"])
        perform.seed(request["seed"])
        _, _, function = locate.locate(module, request["function"])
    except LookupError as error:
        return {"stage": "lookup", "why": str(error)}
    except BaseException as error:
        return {"stage": "import", "error": classify.facts(error, perform.WORKSPACE)}
    return run(module, function, request["function"])


def run(module, function, name):
    import doctest

    try:
        test = doctest.DocTestParser().get_doctest(
            function.__doc__, {**vars(module), "__name__": module.__name__}, name, module.__file__, None
        )
    except ValueError as error:
        # The docstring only resembles one with examples.
        return {"stage": "lookup", "why": f"its examples cannot be read: {error}"}
    said = []
    runner = doctest.DocTestRunner(verbose=False)
    try:
        runner.run(test, out=said.append, clear_globs=False)
    except BaseException as error:
        return {"stage": "call", "error": classify.facts(error, perform.WORKSPACE)}
    if runner.failures:
        return {"stage": "done", "why": explained("".join(said)), "type": "examples"}
    return {"stage": "done", "value": None, "type": "examples"}


def explained(text):
    """The first failed example in one line, without separator lines."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("***")]
    return " ".join(lines[1:12])[:500]
