"""Deterministic thread scheduler: one thread runs at a time, and after every line of the repository a random choice selects
the next thread.

The choices derive from the seed of the call, so the interleaving, and with it a race condition, is reproducible. A thread
that blocks (on a lock or I/O) is skipped until it reaches its next line. While threads take turns, sleeping takes no time:
its only effect would be to let other threads run, which the scheduler does.
"""

import random
import sys
import threading
import time

from menace_harness import perform

# A thread that does not reach its next line within this time is blocked.
PATIENCE = 0.003
# Bound here, because the code under test may replace them.
clock = time.perf_counter
thread_time = time.thread_time
# Number of turns; afterwards all threads run freely.
MOST_TURNS = 400


class Turns:
    """Schedules threads in turns."""

    def __init__(self, prefix, seed, count):
        self.prefix = prefix
        self.chance = random.Random(seed)
        self.lock = threading.Lock()
        # One gate per thread, locked while the thread waits.
        self.gates = [threading.Lock() for _ in range(count)]
        for gate in self.gates:
            gate.acquire()
        self.current = None
        self.left = MOST_TURNS
        # Time of the last turn, after which all threads run freely.
        self.over = None
        # Threads that have not finished; of these, threads that wait for a turn, and blocked threads.
        self.running = set(range(count))
        self.standing = set()
        self.absent = set()
        # Time since when a thread is blocked, and the total blocked time of each thread before.
        self.since = {}
        self.waited = [0.0] * count
        # Threads that have not started.
        self.missing = set(range(count))

    def take_part(self, name):
        """Waits for all other threads, then schedules this thread in turns."""
        self.stand(name)

        def enter(frame, _event, _argument):
            return see if frame.f_code.co_filename.startswith(self.prefix) else None

        def see(_frame, event, _argument):
            if event == "line":
                self.stand(name)
            return see

        sys.settrace(enter)

    def leave(self, name):
        """Stops scheduling this thread."""
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
        """Seconds of CPU time and blocked time of this thread, without the turns of other threads."""
        at_once = 0.0 if self.over is None else clock() - self.over
        return thread_time() + self.waited[name] + at_once

    def run(self, threads):
        """Runs all threads to their end, skipping blocked ones."""
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
        """Selects the next thread once every thread that is not blocked waits for a turn."""
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
    """Time in which a thread was running or runnable. A thread that waits for a CPU is not blocked."""
    if name is None:
        return 0
    try:
        with open(f"/proc/self/task/{threads[name].native_id}/schedstat", encoding="ascii") as file:
            running, runnable, _ = file.read().split()
    except OSError:
        # The thread has exited, or the kernel lacks the counter; then slow and blocked threads cannot be distinguished.
        return 0
    return int(running) + int(runnable)
