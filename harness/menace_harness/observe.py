"""Side effects of a call: files opened for writing, connections, threads, processes.

Source are the audit events of Python. Effects of native code are observed outside the sandbox.
"""

import sys
import time

# Number of recorded names of each kind; all effects are counted.
MOST_NAMED = 20
# Bound here, because the code under test may replace it.
clock = time.perf_counter


class Observer:
    """Records the side effects of one call. Audit hooks cannot be removed, so there is one observer per process."""

    def __init__(self):
        self.files = []
        self.connections = []
        self.counts = {"files": 0, "connections": 0, "threads": 0, "tasks": 0, "processes": 0}
        self.is_on = False
        # Time of the first connection attempt, when the first packet is sent.
        self.first = None
        sys.addaudithook(self.hear)

    def begin(self):
        self.is_on = True

    def hear(self, event, arguments):
        kind = EVENTS.get(event)
        if kind is None or not self.is_on:
            return
        if kind == "files":
            self.open(arguments)
        elif kind == "connections":
            if self.first is None:
                self.first = clock()
            self.counts["connections"] += 1
            note(self.connections, arguments[1] if len(arguments) > 1 else arguments[0])
        else:
            self.counts[kind] += 1

    def open(self, arguments):
        path, mode, flags = arguments
        # O_WRONLY or O_RDWR; the mode is given only by the built-in open().
        writes = isinstance(flags, int) and flags & 3 or isinstance(mode, str) and set(mode) & set("wax+")
        if writes and not (isinstance(path, str) and path.startswith("/dev/")):
            self.counts["files"] += 1
            note(self.files, path)

    def end(self):
        """Returns the recorded effects, without empty entries."""
        self.is_on = False
        seen = {kind: count for kind, count in self.counts.items() if count}
        if self.files:
            seen["written"] = self.files
        if self.connections:
            seen["addresses"] = self.connections
        return seen


EVENTS = {
    "open": "files",
    "socket.connect": "connections",
    "socket.getaddrinfo": "connections",
    "_thread.start_new_thread": "threads",
    "os.fork": "processes",
    "os.posix_spawn": "processes",
    "os.system": "processes",
    "subprocess.Popen": "processes",
}


def note(names, name):
    if len(names) < MOST_NAMED:
        names.append(str(name)[:200])
