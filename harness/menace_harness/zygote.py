"""The waiting interpreter, whose copies make the calls, each in a sandbox of its own.

It has one thread and imports nothing of the repository. Standard input is the channel to menace: every message on it
asks for a keeper, with the descriptors that it needs: its own channel to menace and the files of the cgroups that its
calls join. The keeper makes a copy for every call.
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

# All that a call needs is imported before the first one.
from menace_harness import batch, call, classify, locate, perform, precompiled, values  # noqa: F401

MOST_DESCRIPTORS = 24
# The files of the repository that calls will import, one a line.
MODULES = "/menace/modules"
REHEARSAL = "menace_harness.rehearsal"
# An interpreter adapts a function to its use after a dozen runs or so.
REHEARSALS = 20
# Where the stream of a call is, in the copy that makes it.
STREAM = 3


def main(library_path, names):
    """Names that begin with a slash are directories from which modules are imported; the others are modules."""
    roots = [name for name in names if name.startswith("/")]
    warm = [name for name in names if not name.startswith("/")]
    # It was for this process alone.
    os.environ.pop("LD_BIND_NOW", None)
    os.environ.pop("LD_PRELOAD", None)
    library = load(library_path)
    warm_up(warm)
    # Keepers report over their own channels and are reaped by the kernel.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # A layer that is thrown away has no use for compiled files, and they would be listed as written.
    sys.dont_write_bytecode = True
    prepare_imports(roots)
    rehearse()
    # What is there now stays: a collection in a fork would touch, and so copy, every page of it.
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
    # PyDLL does not let go of the interpreter lock, so nothing else of the interpreter can run in between.
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
    """After the rehearsal the time is that of calls; an interpreter with a C library of its own does not ask ours."""
    return abs(time.time() - perform.MOMENT) < 100


def warm_up(names):
    """Imports what calls will import of the standard library, so that they get it without reading a file."""
    standard = getattr(sys, "stdlib_module_names", frozenset())
    for name in names:
        if name.partition(".")[0] not in standard:
            continue
        try:
            __import__(name)
        except ImportError:
            # A member that is no module, or an interpreter that was built without a part of the standard library; what
            # needs it will say so.
            pass
    find_temporary_directory()


def find_temporary_directory():
    """Python looks for it by writing a file, once in a process; where writes fail, every function that wants a temporary file
    would fail there and not where it writes."""
    tempfile = sys.modules.get("tempfile")
    if tempfile is None:
        return
    try:
        tempfile.gettempdir()
    except OSError:
        # There is none here; calls look for it themselves.
        pass


def prepare_imports(roots):
    """Lets the interpreter look into the workspace once; what it sees there holds as long as the directory is the same."""
    with open(MODULES, encoding="utf-8", errors="surrogateescape") as file:
        precompiled.install(perform.WORKSPACE, file.read().splitlines())
    sys.path[:0] = [*roots, perform.WORKSPACE]
    importlib.machinery.PathFinder.find_spec("no module has this name")


def rehearse():
    """Makes a few calls here: what the interpreter learns from them it need not learn, and write, in every copy."""
    request = {"kind": "call", "module": REHEARSAL, "function": "nothing", "seed": 0, "arguments": [1], "keywords": {}}
    for _ in range(REHEARSALS):
        json.dumps(call.answer(marshal.loads(marshal.dumps(request))))
        del sys.modules[REHEARSAL]


def receive(channel):
    """The descriptors of the next call; None when menace is gone."""
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
    """Starts a keeper. Returns in this process; the copies that the keeper makes run their calls and end."""
    control, *joined = descriptors
    numbers = (ctypes.c_int * len(joined))(*joined)
    # What PyOS_AfterFork_Child repairs is not broken here: a copy has the one thread that there was, which holds no lock.
    # Its hooks (new locks for threads, a new seed) would touch, and so copy, a third of the pages of a small call.
    if library.menace_slot(control, numbers, len(joined)) == 0:
        try:
            channel.detach()
            run(STREAM, library)
        finally:
            # Whatever happens, this copy must never go back to waiting.
            os._exit(1)
    for descriptor in descriptors:
        os.close(descriptor)


def run(stream, library):
    """The copy that makes the call, or copies of itself that make many."""
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
