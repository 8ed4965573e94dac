"""Facts about an exception and its origin. menace classifies the outcome."""

import opcode
import os
import sys

RAISE = opcode.opmap["RAISE_VARARGS"]
# Further frames of a recursion add no information.
MOST_FRAMES = 30


def facts(error, workspace):
    """Describes an exception: its frames in the repository, innermost last, and whether the innermost one is at a raise or
    an assert."""
    frames = []
    raised = False
    deepest_is_ours = False
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        path = code.co_filename
        deepest_is_ours = inside(path, workspace)
        if deepest_is_ours:
            frames.append([path[len(workspace) + 1 :], trace.tb_lineno, qualified_name(code)])
            raised = code.co_code[trace.tb_lasti] == RAISE
        trace = trace.tb_next
    kind = type(error)
    return {
        "exception": kind.__name__,
        "module": kind.__module__,
        "bases": [base.__name__ for base in kind.__mro__ if base is not object],
        "message": text_of(error),
        "frames": frames[:3] + frames[-MOST_FRAMES:] if len(frames) > MOST_FRAMES + 3 else frames,
        "raised": raised,
        "own_class": defined_in(kind, workspace),
        "refused": not frames,
        "errno": error.errno if isinstance(error, OSError) and isinstance(error.errno, int) else None,
    }


def printed(error):
    """Traceback as Python prints it, without the frames of the harness."""
    import traceback

    lines = traceback.format_exception(type(error), error, outside(error.__traceback__))
    return "".join(lines)[-20_000:]


def outside(trace):
    while trace is not None and "/menace_harness/" in trace.tb_frame.f_code.co_filename:
        trace = trace.tb_next
    return trace


def inside(path, workspace):
    return path.startswith(workspace + "/") and not in_environment(path, workspace)


def in_environment(path, workspace):
    """Whether a path belongs to a package installed inside the repository, which is not part of its code."""
    return "/site-packages/" in path[len(workspace) :] or "/dist-packages/" in path[len(workspace) :]


def qualified_name(code):
    return getattr(code, "co_qualname", code.co_name)


def defined_in(kind, workspace):
    module = sys.modules.get(kind.__module__)
    path = getattr(module, "__file__", None)
    return bool(path) and inside(os.path.abspath(path), workspace)


def text_of(error):
    try:
        text = str(error)
    except BaseException as second:
        text = f"<its text raises {type(second).__name__}>"
    return text if len(text) <= 2000 else text[:2000] + "…"
