"""Many calls of one module: it is imported once, and every call is a copy of this process.

That is only done while it cannot be noticed. What an import leaves beside modules (threads, processes, open files, files)
is not copied or would be shared, so such a module is not called in this way. After each call this process looks whether
the call left anything behind; menace makes such a call, and everything after it, in a sandbox of its own.
"""

import gc
import json
import os
import select
import sys

from menace_harness import call, perform

# A call that said nothing within this time may have ended without a word.
PATIENCE_MS = 20
# The descriptor on which a call answers, in the copy that makes it; the library sees to that.
STREAM = 3
# An answer that is longer is none.
LONGEST_ANSWER = 16 << 20
COUNTERS = "/proc/self/net/dev"

# Modules that are called may replace what is in `os`, so what is needed afterwards is kept here.
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
    """Answers calls until menace closes the stream."""
    if request["of"] == "examples":
        # Reading them takes longer to import than most modules.
        import doctest  # noqa: F401
    surroundings = Surroundings()
    why_not = surroundings.import_module(request["module"])
    call.send(stream, {"why_not": why_not})
    if why_not is None:
        # What the calls share is not touched, and so not copied, when one of them collects garbage.
        gc.freeze()
        # No call can look into this process, or take what it has open.
        library.menace_dumpable(0)
        while True:
            asked = call.receive_if_any(stream)
            if asked is None:
                break
            answer_one(stream, asked, library, surroundings)
    exit_now(0)


class Surroundings:
    """What is there beside this process, and whether it is still the same."""

    def __init__(self):
        self.counters = os.open(COUNTERS, os.O_RDONLY)
        self.descriptors = listdir("/proc/self/fd")
        self.before = self.now()

    def import_module(self, name):
        """Imports it; returns why calls cannot share the import."""
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
        """Nothing was written, nothing else runs, nothing was sent."""
        try:
            # Every process but this one and the first.
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
        # There is no room for another process; menace makes the call alone.
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
    """The copy that makes the call. It has what a call alone in its sandbox has, and nothing of its siblings."""
    try:
        result = call.answer(asked)
        sys.stdout.flush()
        sys.stderr.flush()
        call.send(STREAM, result)
        exit_now(0)
    finally:
        exit_now(1)


def listen(reading, number):
    """What the copy answers, without the length before it, and how it ended if it ended before that."""
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
    """What is still in the pipe of a copy that has ended."""
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
