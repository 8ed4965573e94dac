"""Competing load: a process beside the call that uses up what the CPU quota leaves."""

import os
import signal
import time

# Of each period this is more than its quota, so that the group has been held back before the call begins.
HEAD_START = 0.004


class Load:
    """Runs from the beginning to the end of a with-block. What ends the process of the call ends it, too."""

    def __init__(self, fork):
        self.fork = fork
        self.number = None

    def __enter__(self):
        reading, writing = os.pipe()
        self.number = self.fork()
        if self.number == 0:
            spin(writing)
        os.close(writing)
        # One byte, when the load has begun to count.
        os.read(reading, 1)
        os.close(reading)
        return self

    def __exit__(self, *_error):
        os.kill(self.number, signal.SIGKILL)
        os.waitpid(self.number, 0)


def spin(writing):
    while time.process_time() < HEAD_START:
        pass
    os.write(writing, b"1")
    os.close(writing)
    while True:
        pass
