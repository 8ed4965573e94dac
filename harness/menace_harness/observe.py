"""What a call does beside its result: files it opens for writing, connections, threads, processes.

Python says so itself, through audit events; what happens below Python is seen from outside.
"""

import sys
import time

# Of each kind, so many are named; all are counted.
MOST_NAMED = 20
# The code under test may put something else in its place.
clock = time.perf_counter


class Observer:
    """Counts between its beginning and its end, in one call. An audit hook cannot be taken away again, so there is one."""

    def __init__(self):
        self.files = []
        self.connections = []
        self.counts = {"files": 0, "connections": 0, "threads": 0, "tasks": 0, "processes": 0}
        self.is_on = False
        # When the first connection was asked for, which is when the first packet is sent.
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
        # O_WRONLY or O_RDWR; a mode is there only when the file was opened by Python's own open().
        writes = isinstance(flags, int) and flags & 3 or isinstance(mode, str) and set(mode) & set("wax+")
        if writes and not (isinstance(path, str) and path.startswith("/dev/")):
            self.counts["files"] += 1
            note(self.files, path)

    def end(self):
        """What was seen, without what was not."""
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
