"""Competing load: processes beside the call that use up what the CPU quota leaves."""

import os
import signal
import time

# Whoever is not run for so long has to wait for a CPU, and who has waited for so long in all is held back.
GAP = 0.0005
HELD_BACK = 0.005
# If nobody has to wait within this time, there is enough for all.
SECONDS = 0.3


class Load:
    """Runs from the beginning to the end of a with-block. What ends the process of the call ends it, too."""

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
        # The call begins when the first of them has had to wait, so that it finds no CPU that nobody wants.
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
        # Another was the first.
        pass
    while True:
        pass
