"""Zygote: a warm interpreter that forks for every call.

It has one thread and imports no code of the repository. Standard input is the channel to menace: every message requests a slot
supervisor and carries its descriptors: a channel to menace, and the files of the cgroups that calls join. The slot supervisor
forks a process for every call.
"""

import array
import ctypes
import gc
import importlib.machinery
import json
import marshal
import os
import signal
import socket
import sys
import time

# Imported in advance, so that forks need not.
from menace_harness import batch, call, classify, locate, perform, precompiled, values  # noqa: F401

MOST_DESCRIPTORS = 24
# List of the files of the repository that calls will import, one per line.
MODULES = "/menace/modules"
REHEARSAL = "menace_harness.rehearsal"
# The interpreter specialises a function after about a dozen calls.
REHEARSALS = 20
# Descriptor of the stream of a call in its process.
STREAM = 3


def main(library_path, names):
    """Names that start with a slash are import directories; the others are modules to import in advance."""
    roots = [name for name in names if name.startswith("/")]
    warm = [name for name in names if not name.startswith("/")]
    # These were meant for this process only.
    os.environ.pop("LD_BIND_NOW", None)
    os.environ.pop("LD_PRELOAD", None)
    library = load(library_path)
    warm_up(warm)
    # Slot supervisors report over their own channels and are reaped by the kernel.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # Compiled files in a temporary layer are useless, and would count as written files.
    sys.dont_write_bytecode = True
    prepare_imports(roots)
    rehearse()
    # Excludes existing objects from collections, which would touch, and so copy, their pages in every fork.
    gc.collect()
    gc.freeze()
    channel = socket.socket(fileno=0)
    channel.send(b"ready" if is_pinned() else b"ready, but its time cannot be pinned")
    while True:
        descriptors = receive(channel)
        if descriptors is None:
            return
        start(library, channel, descriptors)


def load(path):
    # PyDLL keeps the interpreter lock, so no other Python code runs during calls of the library.
    library = ctypes.PyDLL(path)
    library.menace_slot.argtypes = (ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.c_size_t)
    library.menace_slot.restype = ctypes.c_int
    library.menace_prepare.argtypes = ()
    library.menace_prepare.restype = None
    library.menace_prepare()
    library.menace_pin.argtypes = (ctypes.c_uint64, ctypes.c_int64)
    library.menace_pin.restype = None
    perform.pin_with = library.menace_pin
    library.menace_sleepless.argtypes = (ctypes.c_int,)
    library.menace_sleepless.restype = None
    perform.sleepless_with = library.menace_sleepless
    library.menace_fork.argtypes = ()
    library.menace_fork.restype = ctypes.c_int
    perform.fork_with = library.menace_fork
    library.menace_fork_call.argtypes = (ctypes.c_int,)
    library.menace_fork_call.restype = ctypes.c_int
    library.menace_dumpable.argtypes = (ctypes.c_int,)
    library.menace_dumpable.restype = None
    return library


def is_pinned():
    """Whether the clock is pinned after the rehearsal. A statically linked interpreter bypasses the library."""
    return abs(time.time() - perform.MOMENT) < 100


def warm_up(names):
    """Imports modules of the standard library that calls will import."""
    standard = getattr(sys, "stdlib_module_names", frozenset())
    for name in names:
        if name.partition(".")[0] not in standard:
            continue
        try:
            __import__(name)
        except ImportError:
            # Not a module, or missing in this build of the interpreter. A call that needs it raises the same error.
            pass
    find_temporary_directory()


def find_temporary_directory():
    """Determines the temporary directory in advance. Python does that once per process by writing a file; if writes fail on
    purpose, a function would fail there and not in its own write."""
    tempfile = sys.modules.get("tempfile")
    if tempfile is None:
        return
    try:
        tempfile.gettempdir()
    except OSError:
        # No usable directory here; calls determine it themselves.
        pass


def prepare_imports(roots):
    """Fills the import caches with the contents of the workspace; they are valid while the directory is unchanged."""
    with open(MODULES, encoding="utf-8", errors="surrogateescape") as file:
        precompiled.install(perform.WORKSPACE, file.read().splitlines())
    sys.path[:0] = [*roots, perform.WORKSPACE]
    importlib.machinery.PathFinder.find_spec("no module has this name")


def rehearse():
    """Makes warm-up calls, so that forks inherit specialised bytecode and need not write these pages."""
    request = {"kind": "call", "module": REHEARSAL, "function": "nothing", "seed": 0, "arguments": [1], "keywords": {}}
    for _ in range(REHEARSALS):
        json.dumps(call.answer(marshal.loads(marshal.dumps(request))))
        del sys.modules[REHEARSAL]


def receive(channel):
    """Descriptors of the next slot supervisor; None if menace has exited."""
    space = socket.CMSG_SPACE(MOST_DESCRIPTORS * array.array("i").itemsize)
    message, ancillary, _flags, _address = channel.recvmsg(16, space)
    if not message:
        return None
    descriptors = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    return list(descriptors)


def start(library, channel, descriptors):
    """Starts a slot supervisor. Returns in this process; the forks of the slot supervisor make their calls and exit."""
    control, *joined = descriptors
    numbers = (ctypes.c_int * len(joined))(*joined)
    # PyOS_AfterFork_Child is not needed: this process has one thread, which holds no locks. Its hooks (new locks, a new seed)
    # would touch, and so copy, a third of the pages of a small call.
    if library.menace_slot(control, numbers, len(joined)) == 0:
        try:
            channel.detach()
            run(STREAM, library)
        finally:
            # The fork must never return to the loop of the zygote.
            os._exit(1)
    for descriptor in descriptors:
        os.close(descriptor)


def run(stream, library):
    """Makes the call in this fork, or serves a batch."""
    request = call.receive(stream)
    if request["kind"] == "batch":
        batch.serve(stream, request, library)
    result = call.answer(request)
    sys.stdout.flush()
    sys.stderr.flush()
    call.send(stream, result)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
