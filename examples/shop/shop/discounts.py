"""Coupons and promotion rules."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Callable, Dict, Optional, Sequence

from .models import OrderLine
from .money import Money

COUPON = re.compile(r"([A-Z]{3,12})-([0-9]{1,2})", re.ASCII)


class CouponError(ValueError):
    """A coupon that does not exist or does not apply."""


@dataclass(frozen=True)
class Coupon:
    """A campaign and the percentage that it takes off."""

    campaign: str
    percent: int

    def __post_init__(self) -> None:
        if not 1 <= self.percent <= 90:
            raise CouponError("a coupon takes off between 1 and 90 percent")

    def value(self, subtotal: Money) -> Money:
        """What the coupon takes off ``subtotal``."""
        return subtotal.scaled(Decimal(self.percent) / 100)


def parse_coupon(code: str) -> Coupon:
    """Read a code such as ``SPRING-10``.

    Raises:
        CouponError: when it is not a code of ours.
    """
    match = COUPON.fullmatch(code.strip().upper())
    if match is None:
        raise CouponError("not a coupon code")
    return Coupon(match.group(1), int(match.group(2)))


def coupon_value(code: Optional[str], subtotal: Money) -> Money:
    """What an optional coupon takes off ``subtotal``."""
    if not code:
        return Money(0, subtotal.currency)
    return parse_coupon(code).value(subtotal)


def rule_applies(rule: str, subtotal_cents: int, items: int) -> bool:
    """Evaluate a promotion rule of the back office, e.g. ``subtotal > 5000 and items >= 3``."""
    names: Dict[str, int] = {"subtotal": subtotal_cents, "items": items}
    return bool(eval(rule, {"__builtins__": {}}, names))


def stacked(*percents: int) -> Callable[[Money], Money]:
    """A function that takes several percentages off, one after the other.

    >>> stacked(10, 50)(Money(1000))
    Money(cents=450, currency='EUR')
    """
    for percent in percents:
        if not 0 <= percent <= 100:
            raise CouponError("a percentage lies between 0 and 100")

    def reduce(amount: Money) -> Money:
        for percent in percents:
            amount = amount - amount.scaled(Decimal(percent) / 100)
        return amount

    return reduce


def best_coupon(codes: Sequence[str], lines: Sequence[OrderLine], country: str) -> Optional[str]:
    """The code with which ``lines`` cost least; ``None`` when none of them helps."""
    from . import pricing

    best: Optional[str] = None
    lowest = pricing.price(lines, country).total
    for code in codes:
        try:
            candidate = pricing.price(lines, country, code).total
        except CouponError:
            continue
        if candidate < lowest:
            best, lowest = code, candidate
    return best
