"""Parcels: weights, packing, and the offline rate table."""

from __future__ import annotations

from typing import List, Mapping, Sequence, Tuple

from .models import OrderLine
from .money import Money

FREE_FROM = 6000
PARCEL_LIMIT_GRAMS = 20_000

TABLE: Tuple[Tuple[int, int], ...] = ((500, 295), (2_000, 495), (5_000, 795), (20_000, 1295))
ZONES: Mapping[str, int] = {"DE": 1, "AT": 2, "NL": 2, "FR": 2, "IT": 3, "ES": 3}


def weight(lines: Sequence[OrderLine]) -> int:
    """The weight of all lines in grams."""
    return sum(line.weight_grams for line in lines)


def flat_rate(lines: Sequence[OrderLine], country: str) -> Money:
    """The rate of the offline table; free within zone 1 from a subtotal on."""
    currency = lines[0].product.price.currency if lines else "EUR"
    if not lines:
        return Money(0, currency)
    zone = ZONES.get(country.strip().upper(), 5)
    subtotal = sum(line.total.cents for line in lines)
    if zone == 1 and subtotal >= FREE_FROM:
        return Money(0, currency)
    full, rest = divmod(weight(lines), PARCEL_LIMIT_GRAMS)
    cents = full * TABLE[-1][1]
    if rest or not full:
        cents += next(price for limit, price in TABLE if rest <= limit)
    return Money(cents * zone, currency)


def pack(lines: Sequence[OrderLine], parcels: List[List[str]] = []) -> List[List[str]]:
    """Put the pieces of an order into parcels, in order, by weight."""
    room = 0
    for line in lines:
        for _ in range(min(line.quantity, 1000)):
            if line.product.weight_grams > room or not parcels:
                parcels.append([])
                room = PARCEL_LIMIT_GRAMS
            parcels[-1].append(line.product.sku)
            room -= line.product.weight_grams
    return parcels
