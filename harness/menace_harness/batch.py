"""Batch of calls of one module: the module is imported once, and each call runs in a fork of this process.

Forks must not influence each other. Threads, processes, open files and written files of an import are lost in a fork or
shared between forks, so a module with such side effects is not called in a batch. After each call this process checks
whether the call had side effects; if so, menace repeats that call and makes the remaining ones in separate sandboxes.
"""

import gc
import json
import os
import select
import sys

from menace_harness import call, perform

# After this time without a result, check whether the process of the call has exited.
PATIENCE_MS = 20
# Descriptor to which a forked call writes its result; set up by the library.
STREAM = 3
# A longer result is discarded.
LONGEST_ANSWER = 16 << 20
COUNTERS = "/proc/self/net/dev"

# Bound here, because the code under test may replace functions of `os`.
close, exit_now, kill, pipe, read, wait4, write = (
    os.close,
    os._exit,
    os.kill,
    os.pipe,
    os.read,
    os.wait4,
    os.write,
)
statvfs, listdir, seek, dumps, poll = os.statvfs, os.listdir, os.lseek, json.dumps, select.poll


def serve(stream, request, library):
    """Makes calls until menace closes the stream."""
    if request["of"] == "examples":
        # Importing doctest takes longer than importing most modules.
        import doctest  # noqa: F401
    surroundings = Surroundings()
    why_not = surroundings.import_module(request["module"])
    call.send(stream, {"why_not": why_not})
    if why_not is None:
        # Keeps a garbage collection in a fork from touching, and so copying, the shared pages.
        gc.freeze()
        # Calls cannot inspect this process or take its descriptors.
        library.menace_dumpable(0)
        while True:
            asked = call.receive_if_any(stream)
            if asked is None:
                break
            answer_one(stream, asked, library, surroundings)
    exit_now(0)


class Surroundings:
    """Files, processes and network counters of the sandbox, to detect side effects."""

    def __init__(self):
        self.counters = os.open(COUNTERS, os.O_RDONLY)
        self.descriptors = listdir("/proc/self/fd")
        self.before = self.now()

    def import_module(self, name):
        """Imports a module. Returns the reason why its calls cannot share the import, or None."""
        try:
            perform.import_module(name)
        except BaseException as error:
            return f"its import raises {type(error).__name__}"
        if len(listdir("/proc/self/task")) > 1:
            return "its import starts threads"
        if listdir("/proc/self/fd") != self.descriptors:
            return "its import leaves files open"
        if not self.is_clean():
            return "its import leaves files or processes behind"
        sys.stdout.flush()
        sys.stderr.flush()
        return None

    def is_clean(self):
        """Whether no file was written, no other process runs and nothing was sent."""
        try:
            # -1: every process except this one and the init process.
            kill(-1, 0)
            return False
        except ProcessLookupError:
            return self.now() == self.before
        except PermissionError:
            return False

    def now(self):
        seek(self.counters, 0, 0)
        space = [statvfs(path) for path in ("/workspace", "/tmp", "/dev/shm")]
        return [(one.f_bfree, one.f_ffree) for one in space], read(self.counters, 4096)


def answer_one(stream, asked, library, surroundings):
    reading, writing = pipe()
    number = library.menace_fork_call(writing)
    if number == 0:
        make(asked)
    close(writing)
    if number < 0:
        # The fork failed; menace makes the call in a separate sandbox.
        exit_now(1)
    answer, ended = listen(reading, number)
    close(reading)
    status, usage = ended if ended is not None else wait4(number, 0)[1:]
    head = dumps(
        {
            "status": status,
            "clean": surroundings.is_clean(),
            "cpu_user_us": int(usage.ru_utime * 1e6),
            "cpu_system_us": int(usage.ru_stime * 1e6),
            "largest_process_bytes": usage.ru_maxrss * 1024,
        }
    ).encode()
    data = len(head).to_bytes(4, "little") + head + len(answer).to_bytes(4, "little") + answer
    while data:
        data = data[write(stream, data) :]


def make(asked):
    """Makes the call in a fork. Its state is that of a call in a separate sandbox, without traces of other calls."""
    try:
        result = call.answer(asked)
        sys.stdout.flush()
        sys.stderr.flush()
        call.send(STREAM, result)
        exit_now(0)
    finally:
        exit_now(1)


def listen(reading, number):
    """Reads the result of a fork, without its length prefix. Also returns the exit status if the fork exited early."""
    poller = poll()
    poller.register(reading, select.POLLIN)
    received, length = b"", None
    while length is None or len(received) < length:
        if not poller.poll(PATIENCE_MS):
            ended = wait4(number, os.WNOHANG)
            if ended[0] == number and not poller.poll(0):
                return b"", ended[1:]
            if ended[0] == number:
                return received_now(reading, received, length), ended[1:]
            continue
        part = read(reading, 1 << 20)
        if not part:
            return b"", None
        received += part
        if length is None and len(received) >= 4:
            length = int.from_bytes(received[:4], "little")
            if length > LONGEST_ANSWER:
                return b"", None
            received = received[4:]
    return received[:length], None


def received_now(reading, received, length):
    """Reads the rest of the pipe of a fork that has exited."""
    while True:
        part = read(reading, 1 << 20)
        if not part:
            break
        received += part
        if length is None and len(received) >= 4:
            length, received = int.from_bytes(received[:4], "little"), received[4:]
        if length is not None and len(received) >= length:
            return received[:length]
    return b""
