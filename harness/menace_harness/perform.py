"""One call of one section: imports the module, builds the arguments, makes the call and describes the outcome."""

import contextlib
import importlib
import os
import sys
import time

from menace_harness import classify, coverage, load, locate, observe, values

WORKSPACE = "/workspace"
# Pinned time of calls: 2026-01-01 12:00 UTC.
MOMENT = 1_767_268_800
INFINITY = float("inf")
# Code flags, as in `inspect`.
CO_COROUTINE = 0x80
CO_ASYNC_GENERATOR = 0x200
FunctionType = type(lambda: None)
# Bound here, because the code under test may replace it.
clock = time.perf_counter
nothing = contextlib.nullcontext()
# Created in the zygote; every process makes one call.
observer = observe.Observer()
# Limit on the values taken from a generator.
MOST_YIELDED = 1000
# Limit on the text of one value.
LONGEST_TEXT = 4000
# Pause between repeated calls, and the limit on their number.
PAUSE = 0.01
MOST_REPEATS = 200
# Depth to which values are inspected for the length of their text.
DEEPEST = 5


def perform(request):
    """Makes the call and describes every outcome that does not end the process."""
    stage = "import"
    try:
        module = import_module(request["module"])
        seed(request["seed"])
        if request["function"] == "<module>":
            return {"stage": "done", "value": None, "type": "module"}
        stage = "lookup"
        owner, binding, function = locate.locate(module, request["function"])
        stage = "build"
        prepared = Call(request, owner, binding, function)
        stage = "call"
        observer.begin()
        reached = coverage.Coverage(WORKSPACE) if request.get("cover") else nothing
        result = measured(request, prepared, reached)
        result["seen"] = observer.end()
        if "repeats" in result:
            result["seen"]["repeats"] = result.pop("repeats")
        if reached is not nothing:
            result["seen"]["lines"] = reached.found()
        if result.get("changed") is False:
            result["changed"] = "files" in result["seen"]
    except values.CannotBuild as error:
        return {"stage": "build", "why": str(error)}
    except LookupError as error:
        if stage == "lookup":
            return {"stage": "lookup", "why": str(error)}
        return failed(stage, error) if stage != "build" else refused(error)
    except BaseException as error:  # Includes SystemExit and KeyboardInterrupt of the code under test.
        return failed(stage, error) if stage != "build" else refused(error)
    return result


def measured(request, prepared, reached=nothing):
    """Makes a prepared call under competing load, if requested, and measures its duration."""
    competing = load.Load(fork_with, request["load"]) if request.get("load") else nothing
    with competing, reached:
        waited = run_delay_ms() if request.get("timed") else 0.0
        began = clock()
        result = prepared.run() if "across" not in request else across(prepared, request["across"])
        result["took_ms"] = (clock() - began) * 1e3
    if request.get("timed"):
        # Subtracts the time in which other processes used the CPU.
        result["took_ms"] -= run_delay_ms() - waited
    if competing is not nothing:
        result["starved"] = competing.has_to_wait
    return result


def across(prepared, seconds):
    """Repeats a call for a duration. Records start, end and success of each call, in milliseconds since the first connection,
    which is also the start of the windows of network faults."""
    began, repeats = clock(), []
    while True:
        start = clock()
        result = prepared.run()
        end = clock()
        repeats.append((start, end, result["stage"] == "done"))
        # Without a connection, no window of a network fault can be met.
        if observer.first is None or end - began >= seconds or len(repeats) == MOST_REPEATS:
            zero = began if observer.first is None else observer.first
            times = [[(start - zero) * 1e3, (end - zero) * 1e3, is_well] for start, end, is_well in repeats]
            # A single outcome does not describe all repetitions.
            return {"stage": "done", "value": None, "type": "NoneType", "repeats": times}
        prepared.renew()
        time.sleep(PAUSE)


def run_delay_ms():
    """Time in which this thread was runnable but waited for a CPU. The kernel counts nanoseconds."""
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) / 1e6
    except OSError:
        # Without kernel support, waiting for a CPU is part of the duration.
        return 0.0


def refused(error):
    """Result for an argument that cannot be built."""
    return {"stage": "build", "why": f"{type(error).__name__}: {error}"[:500]}


def try_to_build(request):
    """Tests which values can be built after importing a module."""
    try:
        import_module(request["module"])
    except BaseException as error:
        return failed("import", error)
    return {"stage": "done", "made": [can_be_made(recipe) for recipe in request["recipes"]]}


def can_be_made(recipe):
    try:
        values.build(recipe)
    except Exception:  # Constructors are code of the repository.
        return False
    return True


def failed(stage, error):
    return {"stage": stage, "error": classify.facts(error, WORKSPACE)}


def import_module(name):
    """Imports a module with pinned time and random numbers, the same for all of its calls."""
    module = sys.modules.get(name)
    if module is not None:
        return module
    pin(0)
    module = importlib.import_module(name)
    if any(is_asynchronous(function) for function in functions_of(module)):
        # Calls of asynchronous functions need it, and a batch shares the import.
        import asyncio  # noqa: F401
    return module


def functions_of(module):
    """Functions of a module and of its classes. Other objects are not accessed, because access may execute code."""
    for value in list(vars(module).values()):
        if type(value) is FunctionType:
            yield value
        elif issubclass(type(value), type):
            yield from (
                inner.__func__ if type(inner) in (staticmethod, classmethod) else inner
                for inner in list(type.__getattribute__(value, "__dict__").values())
            )


def is_asynchronous(function):
    """Whether the function is asynchronous. Checked without `inspect`, whose import takes longer than most calls."""
    return type(function) is FunctionType and bool(function.__code__.co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR))


def pin(number):
    pin_with(number, MOMENT * 1_000_000_000)


def fork_with():
    """Forks. Replaced by the library, whose fork bypasses the hooks of the interpreter."""
    return os.fork()


def sleepless_with(_is_sleepless):
    """Makes sleeping take no real time. Replaced by the library."""


def pin_with(_number, _moment):
    """Pins time and random numbers. Replaced by the library that intercepts the clock; without it this has no effect."""


def seed(number):
    """Pins the time and seeds the random number generators that are imported."""
    pin(number)
    chance = sys.modules.get("random")
    if chance is not None:
        chance.seed(number)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(number % 2**32)


class Call:
    """A section with its arguments."""

    def __init__(self, request, owner, binding, function):
        self.request = request
        self.owner = owner
        self.binding = binding
        self.function = function
        self.instance = None
        if binding in ("instance", "property"):
            self.instance = values.build(request["owner"])
        self.arguments = None
        self.renew()

    def renew(self):
        """Builds new arguments, because a call may modify its arguments."""
        self.arguments = (
            values.build_all(self.request["arguments"]),
            {name: values.build(recipe) for name, recipe in self.request["keywords"].items()},
        )

    def run(self):
        threads, tasks = self.request.get("threads", 0), self.request.get("tasks", 0)
        if threads or tasks:
            from menace_harness import burst

            return burst.run(self, threads, tasks)
        before = text_of((self.instance, self.arguments)) if self.request.get("watch") else None
        try:
            value = self.once()
        except BaseException as error:
            result = failed("call", error)
            if self.request.get("traceback"):
                result["error"]["traceback"] = classify.printed(error)
            if before is not None:
                result["changed"] = text_of((self.instance, self.arguments)) != before
            return result
        return done(value)

    def once(self):
        return finish(self.begin())

    def begin(self):
        arguments, keywords = self.arguments
        if self.binding == "instance":
            return self.function.__get__(self.instance)(*arguments, **keywords)
        if self.binding == "property":
            return self.function(self.instance)
        if self.binding == "class":
            return self.function(self.owner, *arguments, **keywords)
        return self.function(*arguments, **keywords)


def done(value):
    return {"stage": "done", "value": text_of(value), "type": type(value).__name__, "json": as_json(value)}


def as_json(value):
    """The value, if it is short and JSON represents it exactly; else None."""
    return value if not is_long(value) and is_plain(value, DEEPEST) else None


def is_plain(value, depth):
    """Whether a value survives a round trip through JSON with any parser."""
    kind = type(value)
    if value is None or kind is bool:
        return True
    if kind is str:
        return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)
    if kind is int:
        # Not every parser supports larger integers.
        return -(10**18) < value < 10**18
    if kind is float:
        return -INFINITY < value < INFINITY
    if kind is list:
        return depth > 0 and all(is_plain(item, depth - 1) for item in value)
    if kind is dict:
        is_plain_key = all(type(key) is str and is_plain(key, 0) for key in value)
        return depth > 0 and is_plain_key and all(is_plain(item, depth - 1) for item in value.values())
    return False


def finish(value):
    """Awaits coroutines, exhausts generators, and enters and exits context managers."""
    kind = type(value).__name__
    if kind == "coroutine":
        import asyncio

        return asyncio.run(settle(value))
    if kind == "generator":
        return [item for item, _ in zip(value, range(MOST_YIELDED))]
    if kind == "async_generator":
        import asyncio

        return asyncio.run(take(value))
    if kind == "_GeneratorContextManager":
        with value as inner:
            return inner
    return value


async def settle(coroutine):
    with counted_tasks():
        return await coroutine


async def take(generator):
    taken = []
    with counted_tasks():
        async for item in generator:
            taken.append(item)
            if len(taken) == MOST_YIELDED:
                break
    return taken


@contextlib.contextmanager
def counted_tasks():
    """Counts tasks that the code starts, for which there is no audit event. Excludes tasks of the event loop's shutdown."""
    import asyncio

    def start(loop, coroutine, **named):
        if observer.is_on:
            observer.counts["tasks"] += 1
        return asyncio.Task(coroutine, loop=loop, **named)

    loop = asyncio.get_running_loop()
    loop.set_task_factory(start)
    try:
        yield
    finally:
        loop.set_task_factory(None)


def text_of(value):
    """Repr of a value without memory addresses, shortened if it is long."""
    try:
        if not is_long(value):
            text = repr(value)
        elif isinstance(value, (str, bytes)) or len(value) > LONGEST_TEXT:
            text = f"{type(value).__name__} of {len(value)}: {shortened(value)}"
        else:
            text = excerpt(value)
    except BaseException as error:
        return f"<{type(value).__name__} whose repr raises {type(error).__name__}>"
    if " at 0x" in text:
        text = without_addresses(text)
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "…"


def is_long(value):
    """Whether the text of a value, including nested values, exceeds the limit."""
    return room_beside(value, LONGEST_TEXT, DEEPEST) < 0


def room_beside(value, room, depth):
    """Subtracts the minimum length of the text of a value from `room`. The result is negative if the text is too long."""
    if isinstance(value, (str, bytes, bytearray)):
        return room - len(value)
    if not isinstance(value, (list, tuple, set, frozenset, dict)):
        return room
    room -= len(value)
    if room >= 0 and depth:
        for item in value.values() if isinstance(value, dict) else value:
            room = room_beside(item, room, depth - 1)
            if room < 0:
                break
    return room


def shortened(value):
    if isinstance(value, (str, bytes)):
        return repr(value[: LONGEST_TEXT // 4])
    return excerpt([item for item, _ in zip(value, range(LONGEST_TEXT // 4))])


def excerpt(value):
    """Shortened repr of a value with long items. The full repr would use memory of the call only to be cut off."""
    import reprlib

    short = reprlib.Repr()
    short.maxstring = short.maxother = 200
    short.maxlist = short.maxtuple = short.maxset = short.maxfrozenset = short.maxdict = 100
    return short.repr(value)


def without_addresses(text):
    import re

    return re.sub(r" at 0x[0-9a-f]+", "", text)
