"""Competing load: processes that consume the CPU quota during a call."""

import os
import signal
import time

# A gap of this length between two clock readings is time without a CPU; this total of gaps counts as contention.
GAP = 0.0005
HELD_BACK = 0.005
# Without contention within this time, there are enough CPUs for all processes.
SECONDS = 0.3


class Load:
    """Load processes during a with block. They end with the process of the call."""

    def __init__(self, fork, count):
        self.fork = fork
        self.count = count
        self.numbers = []
        self.has_to_wait = False

    def __enter__(self):
        reading, writing = os.pipe()
        for _ in range(self.count):
            number = self.fork()
            if number == 0:
                os.close(reading)
                spin(writing)
            if number > 0:
                self.numbers.append(number)
        os.close(writing)
        # The call starts after the first report of contention, so that it does not start on an idle CPU.
        self.has_to_wait = os.read(reading, 1) == b"1"
        os.close(reading)
        return self

    def __exit__(self, *_error):
        for number in self.numbers:
            os.kill(number, signal.SIGKILL)
        for number in self.numbers:
            os.waitpid(number, 0)


def spin(writing):
    clock = time.perf_counter
    began = last = clock()
    waited = 0.0
    while waited < HELD_BACK and last - began < SECONDS:
        now = clock()
        if now - last > GAP:
            waited += now - last
        last = now
    try:
        os.write(writing, b"1" if waited >= HELD_BACK else b"0")
    except BrokenPipeError:
        # Another process has reported.
        pass
    while True:
        pass
