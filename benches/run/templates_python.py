"""Bodies of functions that attack the interpreter and the harness."""

from templates_process import ANYTHING, EATS, HANGS, Template

REJECTED = frozenset({"rejected"})
FINE = frozenset({"ok"})

TEMPLATES: dict[str, Template] = {
    "leaves_the_program": ("sys.exit($n)", REJECTED),
    "leaves_with_a_text": ("raise SystemExit('$n times goodbye')", REJECTED),
    "interrupts": ("raise KeyboardInterrupt($n)", REJECTED),
    "raises_a_base": ("raise OwnBase('$n')", REJECTED),
    "generator_exit": ("raise GeneratorExit($n)", REJECTED),
    "error_text_hangs": ("raise HangingText($n)", frozenset({"rejected", "timeout"})),
    "error_text_raises": ("raise RaisingText($n)", REJECTED),
    "error_in_a_ring": (
        "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    error.__cause__ = error\n    raise",
        frozenset({"crash", "rejected"}),
    ),
    "repr_hangs": ("return HangingRepr()", HANGS),
    "repr_raises": ("return RaisingRepr()", FINE),
    "repr_exits": ("return ExitingRepr()", frozenset({"ok", "crash"})),
    "repr_is_no_text": ("return NumberRepr()", FINE),
    "repr_is_huge": ("return HugeRepr()", frozenset({"ok", "oom", "timeout"})),
    "length_raises": ("return RaisingLength([1] * $n)", FINE),
    "deletion_loops": ("HangingEnd()\nreturn $n", HANGS),
    "deletion_at_exit": ("keep.append(HangingEnd())\nreturn $n", ANYTHING),
    "at_exit": ("atexit.register(spin)\nreturn $n", ANYTHING),
    "deep_recursion": (
        "sys.setrecursionlimit(10 ** 9)\ndef deeper(depth):\n    return deeper(depth + 1)\nreturn deeper($n)",
        EATS,
    ),
    "deep_value": (
        "value = []\nfor _ in range(100_000 + $n):\n    value = [value]\nreturn value",
        frozenset({"ok", "crash"}),
    ),
    "value_in_itself": ("value = {'n': $n}\nvalue['self'] = value\nreturn value", FINE),
    "large_value": ("return list(range(1_000_000 + $n))", FINE),
    "large_number": ("return 7 ** (100_000 + $n)", FINE),
    "no_number": ("return [float('nan'), float('inf'), -float('inf'), $n]", FINE),
    "half_characters": ("return '\\ud800' * ($n + 1)", FINE),
    "endless_generator": ("while True:\n    yield $n", FINE),
    "slow_generator": ("while True:\n    time.sleep(0.5)\n    yield $n", HANGS),
    "endless_async": ("while True:\n    await asyncio.sleep(0)", HANGS),
    "blocking_async": ("await asyncio.sleep(0)\nspin()", HANGS),
    "endless_async_generator": ("while True:\n    await asyncio.sleep(0)\n    yield $n", FINE),
    "deadlocks": ("lock = threading.Lock()\nlock.acquire()\nlock.acquire()", HANGS),
    "holds_the_import_lock": ("_imp.acquire_lock()\nimport fractions\nreturn $n", ANYTHING),
    "breaks_builtins": (
        "for name in ('len', 'isinstance', 'type', 'repr', 'open'):\n    setattr(builtins, name, None)\nreturn $n",
        ANYTHING,
    ),
    "breaks_imports": ("builtins.__import__ = None\nsys.modules.clear()\nreturn $n", ANYTHING),
    "breaks_json": ("json.dumps = lambda *_, **__: '{\"stage\": \"done\"}'\nreturn $n", ANYTHING),
    "breaks_the_end": ("os._exit = lambda *_: None\nos.write = lambda *_: 0\nreturn $n", ANYTHING),
    "breaks_the_harness": (
        "for name, module in list(sys.modules.items()):\n    if 'harness' in name:\n        vars(module).clear()\n"
        "return $n",
        ANYTHING,
    ),
    "breaks_frames": ("sys.settrace(raising_trace)\nreturn $n", ANYTHING),
    "profiles": ("sys.setprofile(raising_trace)\nreturn $n", ANYTHING),
    "no_recursion": ("sys.setrecursionlimit(60)\nreturn $n", ANYTHING),
    "stops_collection": ("gc.disable()\ngc.callbacks.append(lambda *_: spin())\ngc.collect()", HANGS),
    "raises_by_timer": (
        "signal.signal(signal.SIGALRM, raising_trace)\nsignal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)\nreturn $n",
        ANYTHING,
    ),
    "lies_about_its_class": ("raise Lying($n)", ANYTHING),
    "regex_bait": ("return re.match(r'^(a+)+$$', 'a' * (40 + $n) + '!')", HANGS),
    "nested_source": ("return eval('(' * (10_000 + $n))", ANYTHING),
    "changes_directory": ("os.chdir('/')\nsys.path.clear()\nos.environ.clear()\nreturn $n", FINE),
    "nothing_hostile": ("return $n", FINE),
}

ASYNC = {"endless_async", "blocking_async", "endless_async_generator"}

# Imports and names used by the bodies. Harmless, because the module is imported.
SUPPORT = '''"""What the hostile functions share."""

import signal

keep = []


class OwnBase(BaseException):
    pass


class HangingText(Exception):
    def __str__(self):
        while True:
            pass


class RaisingText(Exception):
    def __str__(self):
        raise ValueError("no text")


class HangingRepr:
    def __repr__(self):
        while True:
            pass


class RaisingRepr:
    def __repr__(self):
        raise OwnBase("no repr")


class ExitingRepr:
    def __repr__(self):
        raise SystemExit(0)


class NumberRepr:
    def __repr__(self):
        return 7


class HugeRepr:
    def __repr__(self):
        return "x" * (1 << 30)


class RaisingLength(list):
    def __len__(self):
        raise OwnBase("no length")


class HangingEnd:
    def __del__(self):
        while True:
            pass


class Lying(Exception):
    __module__ = property(lambda self: 1 / 0)


def raising_trace(*arguments):
    raise OwnBase("from the outside")


def spin():
    while True:
        pass


def ignore(number):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
'''
