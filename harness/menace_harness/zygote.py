"""The waiting interpreter, whose copies make the calls, each in a sandbox of its own.

It has one thread and imports nothing of the repository. Standard input is the channel to menace: every message on it
asks for a keeper, with the descriptors that it needs: its own channel to menace and the files of the cgroups that its
calls join. The keeper makes a copy for every call.
"""

import array
import ctypes
import gc
import os
import signal
import socket
import sys

from menace_harness import call

# Modules that almost every program imports: a call gets them without reading a file.
WARM = (
    "abc asyncio base64 collections concurrent.futures contextlib copy csv dataclasses datetime decimal email.message "
    "enum fractions functools glob hashlib heapq hmac html http.client importlib.metadata inspect io itertools json "
    "locale logging math numbers operator os.path pathlib pickle platform queue random re secrets select shlex shutil "
    "socket sqlite3 ssl stat statistics string struct subprocess tempfile textwrap threading time traceback types "
    "typing unittest urllib.parse urllib.request uuid warnings weakref xml.etree.ElementTree zlib"
).split()

MOST_DESCRIPTORS = 24
# Where the stream of a call is, in the copy that makes it.
STREAM = 3


def main(library_path):
    library = load(library_path)
    warm_up()
    # Keepers report over their own channels and are reaped by the kernel.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # A layer that is thrown away has no use for compiled files, and they would be listed as written.
    sys.dont_write_bytecode = True
    # What is there now stays: a collection in a fork would touch, and so copy, every page of it.
    gc.collect()
    gc.freeze()
    channel = socket.socket(fileno=0)
    channel.send(b"ready")
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
    return library


def warm_up():
    for name in WARM:
        try:
            __import__(name)
        except ImportError:
            # An interpreter that was built without a part of the standard library; what needs it will say so.
            pass


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
    ctypes.pythonapi.PyOS_BeforeFork()
    if library.menace_slot(control, numbers, len(joined)) == 0:
        try:
            ctypes.pythonapi.PyOS_AfterFork_Child()
            channel.detach()
            run(STREAM)
        finally:
            # Whatever happens, this copy must never go back to waiting.
            os._exit(1)
    ctypes.pythonapi.PyOS_AfterFork_Parent()
    for descriptor in descriptors:
        os.close(descriptor)


def run(stream):
    """The copy that makes the call."""
    request = call.receive(stream)
    os.environ.clear()
    os.environ.update(request["environment"])
    result = call.perform(request)
    sys.stdout.flush()
    sys.stderr.flush()
    call.send(stream, result)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
