"""How many of each product are left, shared by all request threads."""

from __future__ import annotations

import secrets
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Dict, Iterator, List, Mapping, Optional


class OutOfStock(Exception):
    """Fewer are left than were requested."""


class UnknownHold(LookupError):
    """A hold that was never made, or was already released or committed."""


@dataclass(frozen=True)
class Hold:
    """Stock that is set aside for one customer."""

    token: str
    sku: str
    quantity: int


class Inventory:
    """Stock levels and the holds on them.

    A sku that is sold out has no entry in the levels, so that listing what is
    left stays proportional to what is left.
    """

    def __init__(self, levels: Optional[Mapping[str, int]] = None) -> None:
        self._lock = threading.Lock()
        self._levels: Dict[str, int] = {}
        self._holds: Dict[str, Hold] = {}
        self._sold = 0
        for sku, quantity in (levels or {}).items():
            self.restock(sku, quantity)

    def available(self, sku: str) -> int:
        """How many can be reserved now."""
        with self._lock:
            return self._levels.get(sku, 0)

    def restock(self, sku: str, quantity: int) -> int:
        """Add a delivery and return the new level."""
        if quantity < 0:
            raise ValueError("a delivery cannot be negative")
        with self._lock:
            level = self._levels.get(sku, 0) + quantity
            if level:
                self._levels[sku] = level
            return level

    def reserve(self, sku: str, quantity: int = 1) -> Hold:
        """Set ``quantity`` of ``sku`` aside.

        Raises:
            OutOfStock: when fewer are left.
        """
        if quantity < 1:
            raise ValueError("reserve at least one")
        level = self._levels.get(sku, 0)
        if level < quantity:
            raise OutOfStock(f"{level} of {sku!r} left")
        hold = Hold(secrets.token_hex(8), sku, quantity)
        if level == quantity:
            del self._levels[sku]
        else:
            self._levels[sku] = level - quantity
        self._holds[hold.token] = hold
        return hold

    def release(self, hold: Hold) -> None:
        """Give a hold back to the stock."""
        with self._lock:
            self._take(hold)
            self._levels[hold.sku] = self._levels.get(hold.sku, 0) + hold.quantity

    def commit(self, hold: Hold) -> None:
        """The stock of a hold has left the house."""
        with self._lock:
            self._take(hold)
            self._sold += hold.quantity

    @contextmanager
    def held(self, sku: str, quantity: int = 1) -> Iterator[Hold]:
        """Hold stock for the length of a ``with`` block; commit unless it fails."""
        hold = self.reserve(sku, quantity)
        try:
            yield hold
        except BaseException:
            self.release(hold)
            raise
        self.commit(hold)

    def low(self, threshold: int = 3) -> List[str]:
        """The skus that are nearly sold out, scarcest first."""
        with self._lock:
            scarce = [(level, sku) for sku, level in self._levels.items() if level <= threshold]
        return [sku for _, sku in sorted(scarce)]

    @property
    def sold(self) -> int:
        """How many pieces were committed so far."""
        with self._lock:
            return self._sold

    def _take(self, hold: Hold) -> None:
        if self._holds.pop(hold.token, None) is None:
            raise UnknownHold(f"no such hold: {hold.token!r}")
