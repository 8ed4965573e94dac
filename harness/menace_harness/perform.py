"""One call of one section: import, build, call, and say what came of it."""

import contextlib
import importlib
import os
import sys
import time

from menace_harness import classify, coverage, load, locate, observe, values

WORKSPACE = "/workspace"
# When calls are made: noon in Greenwich on the first day of 2026.
MOMENT = 1_767_268_800
INFINITY = float("inf")
# As `inspect` names them.
CO_COROUTINE = 0x80
CO_ASYNC_GENERATOR = 0x200
FunctionType = type(lambda: None)
# The code under test may put something else in its place.
clock = time.perf_counter
nothing = contextlib.nullcontext()
# Made before the first call, of which every process makes one.
observer = observe.Observer()
# Of what a generator yields, this many values are asked for.
MOST_YIELDED = 1000
# A longer text of one value says no more about the call.
LONGEST_TEXT = 4000
# A call that is made again and again leaves others some time, and is not made more often than this.
PAUSE = 0.01
MOST_REPEATS = 200
# So deep it is looked into values for how long their text is.
DEEPEST = 5


def perform(request):
    """Makes the call. Only what ends the process itself is not described here."""
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
    except BaseException as error:  # SystemExit and KeyboardInterrupt of the code under test are its results too.
        return failed(stage, error) if stage != "build" else refused(error)
    return result


def measured(request, prepared, reached=nothing):
    """What came of a call that is ready, beside what competes with it, and how long it took."""
    competing = load.Load(fork_with, request["load"]) if request.get("load") else nothing
    with competing, reached:
        waited = run_delay_ms() if request.get("timed") else 0.0
        began = clock()
        result = prepared.run() if "across" not in request else across(prepared, request["across"])
        result["took_ms"] = (clock() - began) * 1e3
    if request.get("timed"):
        # On a machine that is busy with others the call would have taken less by this.
        result["took_ms"] -= run_delay_ms() - waited
    if competing is not nothing:
        result["starved"] = competing.has_to_wait
    return result


def across(prepared, seconds):
    """The call again and again for so long: when each began and ended, in milliseconds since the first connection, as the
    windows of the network are counted, and whether it ended well."""
    began, repeats = clock(), []
    while True:
        start = clock()
        result = prepared.run()
        end = clock()
        repeats.append((start, end, result["stage"] == "done"))
        # What does not connect meets no window, however often it is called.
        if observer.first is None or end - began >= seconds or len(repeats) == MOST_REPEATS:
            zero = began if observer.first is None else observer.first
            times = [[(start - zero) * 1e3, (end - zero) * 1e3, is_well] for start, end, is_well in repeats]
            # How one of them ended says nothing about all.
            return {"stage": "done", "value": None, "type": "NoneType", "repeats": times}
        prepared.renew()
        time.sleep(PAUSE)


def run_delay_ms():
    """How long this thread could have run, and others did; the kernel counts it in nanoseconds."""
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) / 1e6
    except OSError:
        # On a kernel that does not count it, waiting for others is part of what a call takes.
        return 0.0


def refused(error):
    """An argument that cannot be made."""
    return {"stage": "build", "why": f"{type(error).__name__}: {error}"[:500]}


def try_to_build(request):
    """Which of several values can be made, after the import of a module."""
    try:
        import_module(request["module"])
    except BaseException as error:
        return failed("import", error)
    return {"stage": "done", "made": [can_be_made(recipe) for recipe in request["recipes"]]}


def can_be_made(recipe):
    try:
        values.build(recipe)
    except Exception:  # A constructor is code of the repository.
        return False
    return True


def failed(stage, error):
    return {"stage": stage, "error": classify.facts(error, WORKSPACE)}


def import_module(name):
    """Imports a module, at the same time of day and with the same chances for all of its calls."""
    module = sys.modules.get(name)
    if module is not None:
        return module
    pin(0)
    module = importlib.import_module(name)
    if any(is_asynchronous(function) for function in functions_of(module)):
        # Its calls need it, and they may share this.
        import asyncio  # noqa: F401
    return module


def functions_of(module):
    """Those that a module defines, and those of its classes. No other object is touched: it may do anything then."""
    for value in list(vars(module).values()):
        if type(value) is FunctionType:
            yield value
        elif issubclass(type(value), type):
            yield from (
                inner.__func__ if type(inner) in (staticmethod, classmethod) else inner
                for inner in list(type.__getattribute__(value, "__dict__").values())
            )


def is_asynchronous(function):
    """Whether calling it gives something that is awaited; to import what else could say so takes longer than most calls."""
    return type(function) is FunctionType and bool(function.__code__.co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR))


def pin(number):
    pin_with(number, MOMENT * 1_000_000_000)


def fork_with():
    """Replaced by the library, whose copies the interpreter is not told about."""
    return os.fork()


def sleepless_with(_is_sleepless):
    """Replaced by the library, too: whether sleeping takes no real time."""


def pin_with(_number, _moment):
    """Replaced by the library that stands in front of the clock; without it nothing is pinned."""


def seed(number):
    """The time and the chances of this call, the same each time. Modules that nobody imported need none."""
    pin(number)
    chance = sys.modules.get("random")
    if chance is not None:
        chance.seed(number)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(number % 2**32)


class Call:
    """A section with its arguments, ready to be called."""

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
        """Arguments of its own for every call: a call may change what it was given."""
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
    """The value, if JSON can hold it unchanged and it is short."""
    return value if not is_long(value) and is_plain(value, DEEPEST) else None


def is_plain(value, depth):
    """Whether a value is the same after it was written as JSON and read by any reader."""
    kind = type(value)
    if value is None or kind is bool:
        return True
    if kind is str:
        return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)
    if kind is int:
        # Not every reader takes larger numbers.
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
    """Waits for what is awaited, takes what is yielded, enters and leaves what is a context."""
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
    """Lets the running loop say when somebody starts a task, which is no audit event. Its own at its end do not count."""
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
    """How Python shows the value, without where it lies in memory."""
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
    """Whether the whole text of a value, with what is in it, is longer than anybody reads."""
    return room_beside(value, LONGEST_TEXT, DEEPEST) < 0


def room_beside(value, room, depth):
    """How much of the room for a text is left after that of a value, at least; less than nothing when it is too long."""
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
    """The text of a value with long items, which would take memory of the call only to be cut off."""
    import reprlib

    short = reprlib.Repr()
    short.maxstring = short.maxother = 200
    short.maxlist = short.maxtuple = short.maxset = short.maxfrozenset = short.maxdict = 100
    return short.repr(value)


def without_addresses(text):
    import re

    return re.sub(r" at 0x[0-9a-f]+", "", text)
