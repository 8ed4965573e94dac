"""Threads that take turns: one runs at a time, and after every line of the repository chance decides who is next.

The chance is that of the call, so the same threads meet in the same places each time, and what breaks once breaks again.
A thread that waits for something (a lock, an answer) is passed over until it comes back to a line. As long as turns are
taken, sleeping takes no time: whoever sleeps lets others run, and that chance does.
"""

import random
import sys
import threading
import time

from menace_harness import perform

# A thread that has not come to its next line after so long is waiting for something.
PATIENCE = 0.003
# The code under test may put something else in their place.
clock = time.perf_counter
thread_time = time.thread_time
# Turns that are taken; after them all threads run on as they like.
MOST_TURNS = 400


class Turns:
    """Who runs."""

    def __init__(self, prefix, seed, count):
        self.prefix = prefix
        self.chance = random.Random(seed)
        self.lock = threading.Lock()
        # Closed while their threads wait.
        self.gates = [threading.Lock() for _ in range(count)]
        for gate in self.gates:
            gate.acquire()
        self.current = None
        self.left = MOST_TURNS
        # When there were no more turns, so that all run on as they like.
        self.over = None
        # Those that have not ended; of them, those that stand at a line, and those that wait for something else.
        self.running = set(range(count))
        self.standing = set()
        self.absent = set()
        # Since when those wait, and how long each has waited for something else before.
        self.since = {}
        self.waited = [0.0] * count
        # Those that have not begun.
        self.missing = set(range(count))

    def take_part(self, name):
        """From now on this thread, which waits until all others are there, too, takes turns."""
        self.stand(name)

        def enter(frame, _event, _argument):
            return see if frame.f_code.co_filename.startswith(self.prefix) else None

        def see(_frame, event, _argument):
            if event == "line":
                self.stand(name)
            return see

        sys.settrace(enter)

    def leave(self, name):
        """This thread takes no more turns."""
        sys.settrace(None)
        with self.lock:
            self.running.discard(name)
            self.let_go(name)
            self.choose()

    def stand(self, name):
        """Waits for a turn."""
        with self.lock:
            if self.left <= 0:
                return
            self.let_go(name)
            self.missing.discard(name)
            self.standing.add(name)
            self.choose()
        self.gates[name].acquire()

    def spent(self, name):
        """The seconds that this thread took itself: what it computed and waited for, not how long others had their turns,
        which on a busy machine is any time."""
        at_once = 0.0 if self.over is None else clock() - self.over
        return thread_time() + self.waited[name] + at_once

    def run(self, threads):
        """Starts all of them and waits for them; those that wait for something, and so come to no line, are passed over."""
        perform.sleepless_with(1)
        for thread in threads:
            thread.start()
        try:
            self.watch_all(threads)
        finally:
            perform.sleepless_with(0)

    def watch_all(self, threads):
        for thread in threads:
            while thread.is_alive():
                left, current = self.left, self.current
                before = wanted_ns(threads, current)
                thread.join(PATIENCE)
                wanted = wanted_ns(threads, current) - before
                with self.lock:
                    is_same = (self.left, self.current) == (left, current)
                    if is_same and not self.missing and wanted < PATIENCE * 1e9 / 2:
                        self.pass_over()

    def let_go(self, name):
        self.absent.discard(name)
        self.waited[name] += clock() - self.since.pop(name, clock())
        if self.current == name:
            self.current = None

    def pass_over(self):
        waiting = self.running - self.standing if self.current is None else {self.current}
        self.since |= dict.fromkeys(waiting - self.absent, clock())
        self.absent |= waiting
        self.current = None
        self.choose()

    def choose(self):
        """The next one, when everybody who can stand at a line does."""
        if self.current is not None or not self.standing or not self.running - self.absent <= self.standing:
            return
        self.left -= 1
        if self.left > 0:
            self.current = self.chance.choice(sorted(self.standing))
            chosen = {self.current}
        else:
            chosen = self.standing
            self.over = clock()
            perform.sleepless_with(0)
        for name in chosen:
            self.gates[name].release()
        self.standing = self.standing - chosen


def wanted_ns(threads, name):
    """How long a thread has run, or could have run if others had not: a busy machine is nothing that it waits for."""
    if name is None:
        return 0
    try:
        with open(f"/proc/self/task/{threads[name].native_id}/schedstat", encoding="ascii") as file:
            running, runnable, _ = file.read().split()
    except OSError:
        # It has ended, or the kernel does not count it: then a slow thread cannot be told from one that waits.
        return 0
    return int(running) + int(runnable)
