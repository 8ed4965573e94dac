"""Bodies of functions that attack their process: time, memory, processes, signals, files, limits.

`$n` is replaced by a number that differs between functions. The second value is the set of valid outcome kinds under
`normal`; an empty set allows all.
"""

Template = tuple[str, frozenset[str]]

HANGS = frozenset({"timeout"})
ENDS = frozenset({"crash"})
ANYTHING: frozenset[str] = frozenset()
EATS = frozenset({"oom", "timeout", "crash"})

TEMPLATES: dict[str, Template] = {
    "loops": ("while True:\n    pass", HANGS),
    "sleeps": ("time.sleep(3600 + $n)", HANGS),
    "sleeps_and_ignores": ("for number in range(1, 32):\n    ignore(number)\nwhile True:\n    time.sleep($n)", HANGS),
    "handles_alarms": (
        "signal.signal(signal.SIGALRM, lambda *_: None)\nsignal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\n"
        "while True:\n    math.factorial(2000 + $n)",
        HANGS,
    ),
    "spins_in_c": ("pow(3, 10 ** (9 + $n % 3))", EATS),
    "busy_threads": (
        "for _ in range(1 + $n % 8):\n    threading.Thread(target=spin).start()\nspin()",
        HANGS,
    ),
    "leaves_a_thread": ("threading.Thread(target=spin).start()\nreturn $n", ANYTHING),
    "many_threads": ("while True:\n    threading.Thread(target=time.sleep, args=(3600,)).start()", EATS),
    "fork_bomb": ("while True:\n    os.fork()", EATS),
    "patient_fork_bomb": (
        "while True:\n    try:\n        os.fork()\n    except OSError:\n        time.sleep(0.001 * $n)",
        HANGS,
    ),
    "fork_chain": ("while True:\n    if os.fork():\n        os._exit($n)", ANYTHING),
    "daemon": (
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(3600)\n    os._exit(0)\n"
        "return $n",
        ANYTHING,
    ),
    "busy_daemon": ("if os.fork() == 0:\n    os.setsid()\n    spin()\nreturn $n", ANYTHING),
    "child_keeps_output": ("subprocess.Popen(['sleep', '3600'])\nreturn $n", ANYTHING),
    "becomes_sleep": ("os.execvp('sleep', ['sleep', str(3600 + $n)])", HANGS),
    "becomes_true": ("os.execvp('true', ['true'])", ENDS),
    "exits": ("os._exit($n % 256)", ENDS),
    "aborts": ("os.abort()", ENDS),
    "segfaults": ("ctypes.string_at($n)", ENDS),
    "writes_memory": ("ctypes.memset($n, 0, 1 << 20)", ENDS),
    "bus_error": ("os.kill(os.getpid(), signal.SIGBUS)", ENDS),
    "kills_itself": ("os.kill(os.getpid(), signal.SIGKILL)", ENDS),
    "kills_its_group": ("os.killpg(0, signal.SIGKILL)", ENDS),
    "kills_everybody": ("os.kill(-1, signal.SIGKILL)\nwhile True:\n    pass", frozenset({"timeout", "crash"})),
    "kills_its_parent": ("os.kill(os.getppid(), signal.SIGKILL)\nreturn $n", ANYTHING),
    "kills_by_number": (
        "for pid in range(1, 400):\n    if pid != os.getpid():\n        with suppress(OSError):\n"
        "            os.kill(pid, signal.SIGKILL)\nreturn $n",
        ANYTHING,
    ),
    "stops_itself": ("os.kill(os.getpid(), signal.SIGSTOP)", HANGS),
    "stops_its_group": ("os.killpg(0, signal.SIGSTOP)", HANGS),
    "eats_memory": ("kept = []\nwhile True:\n    kept.append(bytearray(b'x' * (1 << 20)))", EATS),
    "doubles_a_text": ("text = 'x' * ($n + 1)\nwhile True:\n    text += text", EATS),
    "eats_in_children": (
        "for _ in range(4):\n    if os.fork() == 0:\n        break\nkept = []\nwhile True:\n"
        "    kept.append(bytearray(b'x' * (1 << 20)))",
        EATS,
    ),
    "fills_the_disk": (
        "with open('fill-$n', 'wb', buffering=0) as file:\n    while True:\n        file.write(b'x' * (1 << 20))",
        frozenset({"disk_full", "oom", "timeout"}),
    ),
    "makes_files": ("for number in itertools.count():\n    open(f'file-{number}', 'w').close()", ANYTHING),
    "deep_directories": (
        "while True:\n    os.mkdir('deeper')\n    os.chdir('deeper')",
        ANYTHING,
    ),
    "deletes_the_directory": ("shutil.rmtree(os.getcwd(), ignore_errors=True)\nreturn os.path.exists('.')", ANYTHING),
    "deletes_everything": ("shutil.rmtree('/', ignore_errors=True)\nreturn $n", ANYTHING),
    "prints_a_gigabyte": (
        "for _ in range(1024):\n    os.write($n % 2 + 1, b'x' * (1 << 20))\nreturn $n",
        frozenset({"ok", "timeout"}),
    ),
    "reads_stdin": ("return sys.stdin.read() + input()", ANYTHING),
    "closes_files": ("os.closerange(0, 4096)\nreturn $n", ANYTHING),
    "closes_and_loops": ("os.closerange(0, 4096)\nwhile True:\n    pass", HANGS),
    "writes_to_all_files": (
        "for number in range(21):\n    with suppress(OSError):\n"
        "        os.write(number, b'{\"stage\": \"done\"}' * ($n + 1))\nreturn $n",
        ANYTHING,
    ),
    "forges_an_answer": (
        "answer = b'{\"stage\": \"done\", \"value\": \"forged\", \"type\": \"str\"}'\n"
        "for number in range(3, 64):\n    with suppress(OSError):\n"
        "        os.write(number, len(answer).to_bytes(4, 'little') + answer)\nos._exit($n % 256)",
        ENDS,
    ),
    "swaps_files": (
        "empty = os.open('/dev/null', os.O_RDWR)\nfor number in range(64):\n    if number != empty:\n"
        "        os.dup2(empty, number)\nreturn $n",
        ANYTHING,
    ),
    "limits_files": ("resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))\nreturn $n", ANYTHING),
    "limits_memory": ("resource.setrlimit(resource.RLIMIT_AS, (1, 1))\nreturn [0] * 10 ** 6", ANYTHING),
    "limits_time": (
        "resource.setrlimit(resource.RLIMIT_CPU, (0, 0))\nwhile True:\n    pass",
        frozenset({"crash", "timeout"}),
    ),
    "limits_output": ("resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\nreturn $n", ANYTHING),
    "unshares": (
        "ctypes.CDLL(None).unshare(0x10000000)\nreturn ctypes.CDLL(None).mount(b'none', b'/', b'tmpfs', 0, 0)",
        ANYTHING,
    ),
    "traces_its_parent": ("return ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0)", ANYTHING),
    "listens": ("place = socket.socket()\nplace.bind(('127.0.0.1', 0))\nplace.listen()\nplace.accept()", HANGS),
    "calls_out": ("socket.create_connection(('192.0.2.$n', 80), timeout=3600)", ANYTHING),
}
