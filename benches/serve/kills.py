"""Kills the gateway with SIGKILL while clients use it, and kills the sandbox daemon."""

import os
import random
import signal
import time
from typing import Any

from failed import PartFailed
from load import TRUE, Load
from say import say
from server import Server, serving, wait_until

SEED = 20240521
SERVER_KILLS, QUICK_SERVER_KILLS = 100, 10
KEEPER_KILLS, QUICK_KEEPER_KILLS = 10, 2
CALLERS = 4
LONGEST_DELAY_SECONDS = 0.3
SANDBOXES_OF_A_KEEPER = 8


def measure(menace: str, options: Any) -> dict[str, Any]:
    with serving(menace) as server:
        of_server = kill_servers(server, QUICK_SERVER_KILLS if options.quick else SERVER_KILLS)
        of_keeper = kill_keepers(server, QUICK_KEEPER_KILLS if options.quick else KEEPER_KILLS)
    return {"seed": SEED, "server": of_server, "keeper": of_keeper, "left_at_the_end": list(map(str, server.groups()))}


def figures(measured: dict[str, Any]) -> dict[str, float]:
    of_server, of_keeper = measured["server"], measured["keeper"]
    return {
        "kills_of_server": of_server["kills"],
        "kills_of_server_unusable": len(of_server["unusable"]),
        "kills_of_server_vanished": len(of_server["vanished"]),
        "kills_of_server_other_answers": of_server["errors"],
        "kills_of_server_left": sum(map(len, of_server["left"].values())),
        "kills_of_keeper": of_keeper["kills"],
        "kills_of_keeper_left": sum(len(found) for left in of_keeper["left"] for found in left.values()),
        "kills_of_keeper_still_known": len(of_keeper["still_known"]),
        "kills_left_at_the_end": len(measured["left_at_the_end"]),
    }


def kill_servers(server: Server, times: int) -> dict[str, Any]:
    """Kills the gateway repeatedly. The sandbox daemon survives, so all known sandboxes must still exist."""
    chance, keeper, restarts = random.Random(SEED), server.keeper(), []
    with Load("churn", server.port, callers=CALLERS) as load:
        for number in range(times):
            time.sleep(chance.uniform(0.02, LONGEST_DELAY_SECONDS))
            server.kill()
            began = time.monotonic()
            server.start()
            server.wait_until_it_answers()
            restarts.append(time.monotonic() - began)
            if number % 25 == 24:
                say(f"kills: killed the gateway {number + 1} times")
        seen = load.result()
    listed = settled(server)
    unusable = [identifier for identifier in listed if problem(server, identifier)]
    there = [identifier for identifier, state in seen["live"].items() if state == "there"]
    with Load("delete", server.port, ids=listed, callers=CALLERS) as load:
        deleted = load.result()
    return {
        "kills": times,
        "keeper_is_the_same": keeper == server.keeper(),
        **{name: seen[name] for name in ("created", "executed", "deleted", "broken", "errors", "examples")},
        "longest_restart_ms": round(max(restarts) * 1e3, 1),
        "listed": len(listed),
        "nobody_was_told_of": len(set(listed) - set(seen["live"])),
        "unusable": [f"{identifier}: {problem(server, identifier)}" for identifier in unusable],
        "vanished": sorted(set(there) - set(listed)),
        "errors_of_delete": deleted["examples"],
        "left": {"listed": server.sandboxes(), **server.left()},
    }


def settled(server: Server) -> list[str]:
    """Lists sandboxes after all interrupted requests have finished in the server."""
    seen: list[list[str]] = [[], server.sandboxes()]

    def is_settled() -> bool:
        time.sleep(0.5)
        seen.append(server.sandboxes())
        return seen[-1] == seen[-2]

    wait_until(is_settled)
    return seen[-1]


def problem(server: Server, identifier: str) -> str | None:
    """Error of a command in a sandbox, or None."""
    with server.connection() as connection:
        status, answer = connection.call("POST", f"/api/sandboxes/{identifier}/execute", TRUE)
    return None if status == 200 and answer["exit_code"] == 0 else f"{status} {answer}"


def kill_keepers(server: Server, times: int) -> dict[str, Any]:
    """Kills the sandbox daemon repeatedly. Its sandboxes and their processes must be gone, and the server must start a new daemon."""
    left, known, answered, processes_of_each = [], [], [], []
    for _ in range(times):
        keeper, ids = server.keeper(), busy_sandboxes(server)
        held = server.held_by(keeper)
        processes_of_each.append(len(held))
        os.kill(keeper, signal.SIGKILL)
        wait_for_end(keeper)
        answered.append(server.wait_until_it_answers())
        # The first sandbox starts the launcher, which cleans up.
        fresh = busy_sandboxes(server, 1)
        known += [identifier for identifier in server.sandboxes() if identifier in ids]
        left.append(server.left_of(keeper, held))
        with Load("delete", server.port, ids=fresh, callers=1) as load:
            load.result()
        if server.keeper() == keeper:
            raise PartFailed("the killed sandbox daemon is still running")
    return {
        "kills": times,
        "sandboxes_of_each": SANDBOXES_OF_A_KEEPER,
        "processes_of_each": processes_of_each,
        "longest_until_an_answer_ms": round(max(answered) * 1e3, 1),
        "left": left,
        "still_known": known,
    }


def busy_sandboxes(server: Server, count: int = SANDBOXES_OF_A_KEEPER) -> list[str]:
    """Creates sandboxes with a background process."""
    with Load("create", server.port, count=count, callers=1) as load:
        made = load.result()
    if made["errors"]:
        raise PartFailed(f"failed to create sandboxes: {made['examples'][0]}")
    with server.connection() as connection:
        for identifier in made["ids"]:
            path = f"/api/sandboxes/{identifier}/processes"
            status, answer = connection.call("POST", path, {"command": ["sleep", "600"]})
            if status != 201:
                raise PartFailed(f"failed to start a background process: {status} {answer}")
    return made["ids"]


def wait_for_end(pid: int) -> None:
    """Waits for the end of a process. Orphans are adopted by this process, not by a restarted server."""
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        wait_until(lambda: not os.path.exists(f"/proc/{pid}/exe"))
