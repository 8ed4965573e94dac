"""Figures for the back office."""

from __future__ import annotations

import csv
import io
import statistics
import subprocess
from collections import defaultdict
from typing import Dict, Iterable, List, Mapping, Sequence, Tuple

from .models import Order, OrderStatus
from .money import MAX_CENTS, Money


def average_line_value(order: Order) -> float:
    """What one line of an order is worth on average, in units of its currency."""
    return sum(line.total.cents for line in order.lines) / len(order.lines) / 100


def revenue(orders: Iterable[Order]) -> Dict[str, Money]:
    """What was sold, by currency; cancelled orders do not count."""
    sums: Dict[str, int] = defaultdict(int)
    for order in orders:
        if order.status is not OrderStatus.CANCELLED:
            sums[order.currency] += order.total.cents
    return {currency: Money(cents, currency) for currency, cents in sorted(sums.items())}


def top_sellers(orders: Iterable[Order], limit: int = 5) -> List[Tuple[str, int]]:
    """The skus that sold most pieces, best first, by name among equals."""
    pieces: Dict[str, int] = defaultdict(int)
    for order in orders:
        for line in order.lines:
            pieces[line.product.sku] += line.quantity
    ranked = sorted(pieces.items(), key=lambda item: (-item[1], item[0]))
    return ranked[: max(0, limit)]


def table(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> str:
    """Rows as text with aligned columns; what a row lacks stays empty."""
    grid = [list(columns)] + [[str(row.get(column, "")) for column in columns] for row in rows]
    widths = [max(len(line[i]) for line in grid) for i in range(len(columns))]
    out = io.StringIO()
    for line in grid:
        out.write("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
        out.write("\n")
    return out.getvalue()


def archive(report: str, target: str) -> int:
    """Put a report where the accountant looks for it; return the exit code of cp."""
    return subprocess.call(f"cp {report} {target}", shell=True)


def price_index(history: Mapping[str, Sequence[int]]) -> Dict[str, float]:
    """The last price of every product relative to its median; prices of nothing do not count."""
    index = {}
    for sku, prices in history.items():
        known = [price for price in prices if 0 < price <= MAX_CENTS]
        if known:
            index[sku] = round(known[-1] / statistics.median(known), 3)
    return index
