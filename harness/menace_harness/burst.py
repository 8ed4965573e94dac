"""Burst: concurrent calls of one section by threads, or by tasks of one event loop."""

import threading

from menace_harness import classify, perform
from menace_harness.turns import Turns

# A call may corrupt state that only a later call notices, so each thread makes several calls. Total number of additional calls.
MOST_CALLS = 20
# After this time, without waiting for turns, a thread starts no further call.
LONG_SECONDS = 0.1


class Watch:
    """Counts concurrent calls and records a failure: the first one without a raise statement, else the first one."""

    def __init__(self, wants_traceback):
        self.wants_traceback = wants_traceback
        self.lock = threading.Lock()
        self.running = 0
        self.most = 0
        self.finished = 0
        self.failure = None

    def __enter__(self):
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        return self

    def __exit__(self, _kind, error, _trace):
        with self.lock:
            self.running -= 1
            self.finished += 1
            if error is not None and not self.has_crashed():
                self.see(error)
        return True

    def see(self, error):
        """Records a failure. An unintended one, without a raise statement, replaces an earlier intended one."""
        failure = perform.failed("call", error)
        if self.failure is not None and failure["error"]["raised"]:
            return
        self.failure = failure
        if self.wants_traceback:
            self.failure["error"]["traceback"] = classify.printed(error)

    def has_crashed(self):
        """Whether a call failed without a raise statement. Further calls cannot show more."""
        return self.failure is not None and not self.failure["error"]["raised"]


def run(call, threads, tasks):
    watch = Watch(call.request.get("traceback"))
    calls = [copy_of(call) for _ in range(threads)]
    if calls:
        run_threads(calls, watch)
    if tasks and perform.is_asynchronous(call.function):
        import asyncio

        asyncio.run(run_tasks([copy_of(call) for _ in range(tasks)], watch))
    result = watch.failure or {"stage": "done", "value": None, "type": "burst"}
    result["overlapping"] = watch.most
    result["finished"] = watch.finished
    return result


def copy_of(call):
    """Copies a call: the same section and object, new arguments."""
    copy = object.__new__(type(call))
    copy.__dict__.update(call.__dict__)
    copy.renew()
    return copy


def run_threads(calls, watch):
    most = 1 + MOST_CALLS // len(calls)
    turns = Turns(perform.WORKSPACE + "/", calls[0].request["seed"], len(calls))

    def body(name, call):
        turns.take_part(name)
        end = turns.spent(name) + LONG_SECONDS
        try:
            for _ in range(most):
                with watch:
                    call.once()
                if watch.has_crashed() or turns.spent(name) > end:
                    break
                call.renew()
        finally:
            turns.leave(name)

    running = [threading.Thread(target=body, args=named, daemon=True) for named in enumerate(calls)]
    turns.run(running)


async def run_tasks(calls, watch):
    import asyncio

    start = asyncio.Event()

    async def body(call):
        await start.wait()
        with watch:
            await call.begin()

    running = [asyncio.ensure_future(body(call)) for call in calls]
    await asyncio.sleep(0)
    start.set()
    await asyncio.gather(*running)
