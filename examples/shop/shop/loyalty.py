"""Points for loyal customers. Designed for the spring release; not connected yet."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Iterable


class Tier(IntEnum):
    """The level of a customer, by points of the last year."""

    BASIC = 0
    SILVER = 500
    GOLD = 2000


@dataclass
class Account:
    """The points of one customer."""

    points: int = 0

    @property
    def tier(self) -> Tier:
        """The highest tier that the points reach."""
        return max((tier for tier in Tier if self.points >= tier), default=Tier.BASIC)

    def earn(self, cents: int) -> int:
        """Book a purchase: a point for every full euro, double from gold on."""
        if cents < 0:
            raise ValueError("a purchase cannot be negative")
        earned = cents // 100 * (2 if self.tier is Tier.GOLD else 1)
        self.points += earned
        return earned

    def spend(self, points: int) -> int:
        """Use points and return their value in cents."""
        if not 0 <= points <= self.points:
            raise ValueError("not that many points")
        self.points -= points
        return points * 2


def points_for(purchases: Iterable[int]) -> int:
    """The points that a history of purchases, in cents, is worth to a new customer."""
    account = Account()
    return sum(account.earn(cents) for cents in purchases)
