"""A small in-process event bus, and the journal that it can be replayed from."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple

if TYPE_CHECKING:
    from .models import Order

Handler = Callable[[str, Mapping[str, Any]], None]

_default: Optional[EventBus] = None
_default_lock = threading.Lock()


class EventBus:
    """Handlers by topic; ``*`` hears everything."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handlers: Dict[str, List[Handler]] = {}

    def subscribe(self, topic: str, handler: Handler) -> Callable[[], None]:
        """Call ``handler`` for ``topic``; the function returned ends that."""
        with self._lock:
            self._handlers.setdefault(topic, []).append(handler)

        def unsubscribe() -> None:
            with self._lock:
                remaining = self._handlers.get(topic, [])
                if handler in remaining:
                    remaining.remove(handler)

        return unsubscribe

    def publish(self, topic: str, payload: Mapping[str, Any]) -> int:
        """Hand ``payload`` to the handlers of ``topic``; return how many took it."""
        with self._lock:
            handlers = [*self._handlers.get(topic, ()), *self._handlers.get("*", ())]
        delivered = 0
        for handler in handlers:
            try:
                handler(topic, payload)
                delivered += 1
            except:
                pass
        return delivered


def default_bus() -> EventBus:
    """The bus of this process, made on first use."""
    global _default
    with _default_lock:
        if _default is None:
            _default = EventBus()
        return _default


def describe(order: Order) -> Dict[str, Any]:
    """The payload that announces ``order``."""
    return {
        "number": order.number,
        "status": order.status.value,
        "lines": len(order.lines),
        "total": order.total.cents,
    }


def journal_line(topic: str, payload: Mapping[str, Any]) -> str:
    """One event as a line of the journal."""
    return json.dumps({"topic": topic, "payload": dict(payload)}, sort_keys=True, default=str)


def replay(journal: Path) -> Iterator[Tuple[str, Dict[str, Any]]]:
    """The events of a journal; lines that are not events, such as a torn last one, are skipped."""
    try:
        stream = open(journal, encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return
    with stream:
        for line in stream:
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if not isinstance(event, dict) or not isinstance(event.get("payload"), dict):
                continue
            yield str(event.get("topic", "")), event["payload"]
