"""Line coverage of a call.

Since Python 3.12 the interpreter reports each line once, which costs almost nothing. Before, every executed line is an event,
so tracing stops after a number of events: a long call has reached most of its lines by then.
"""

import sys

# Limit before Python 3.12; these events take a few milliseconds.
MOST_EVENTS = 20_000
TOOL = 1


class Coverage:
    """Lines by file that are executed in a with block."""

    def __init__(self, workspace):
        self.prefix = workspace + "/"
        self.lines = {}
        self.left = MOST_EVENTS

    def __enter__(self):
        if sys.version_info >= (3, 12):
            self.monitor(True)
        else:
            sys.settrace(self.enter_function)
        return self

    def __exit__(self, *_error):
        if sys.version_info >= (3, 12):
            self.monitor(False)
        else:
            sys.settrace(None)

    def monitor(self, is_on):
        monitoring = sys.monitoring
        if is_on:
            monitoring.use_tool_id(TOOL, "menace")
            monitoring.register_callback(TOOL, monitoring.events.LINE, self.see_line)
            monitoring.set_events(TOOL, monitoring.events.LINE)
        elif monitoring.get_tool(TOOL) == "menace":
            monitoring.set_events(TOOL, 0)
            monitoring.free_tool_id(TOOL)

    def see_line(self, code, line):
        if code.co_filename.startswith(self.prefix):
            self.lines.setdefault(code.co_filename, set()).add(line)
        return sys.monitoring.DISABLE

    def enter_function(self, frame, _event, _argument):
        path = frame.f_code.co_filename
        if not path.startswith(self.prefix):
            return None
        reached = self.lines.setdefault(path, set())

        def see(frame, event, _argument):
            if event == "line":
                reached.add(frame.f_lineno)
                self.left -= 1
                if self.left < 0:
                    sys.settrace(None)
                    return None
            return see

        return see

    def found(self):
        return {path[len(self.prefix) :]: sorted(lines) for path, lines in self.lines.items()}


def executable_lines(function, workspace):
    """Executable lines of a function, including nested functions, without its docstring."""
    function = getattr(function, "__wrapped__", function)
    code = getattr(function, "__code__", None)
    if code is None or not code.co_filename.startswith(workspace + "/"):
        return []
    lines = set()
    collect(code, lines)
    return sorted(lines)


def collect(code, lines):
    own = {line for _, _, line in code.co_lines() if line} if hasattr(code, "co_lines") else set()
    # The first line is the signature, which has no event.
    lines |= own - {code.co_firstlineno}
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            collect(constant, lines)
