"""What a list of lines costs: subtotal, discount, tax, shipping."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import List, Optional, Sequence, Tuple

from . import discounts, parcels, tax
from .models import OrderLine
from .money import Money, total

BULK_STEPS: Tuple[Tuple[int, Decimal], ...] = (
    (100, Decimal("0.10")),
    (50, Decimal("0.05")),
)


class PricingError(ValueError):
    """Lines that cannot be priced together."""


@dataclass(frozen=True)
class Quote:
    """A price and the parts it is made of."""

    subtotal: Money
    discount: Money
    tax: Money
    shipping: Money

    @property
    def total(self) -> Money:
        """What the customer pays."""
        return self.subtotal - self.discount + self.tax + self.shipping


def bulk_rate(quantity: int) -> Decimal:
    """The bulk discount of a quantity, as a share of its line."""
    for threshold, rate in BULK_STEPS:
        if quantity >= threshold:
            return rate
    return Decimal(0)


def line_net(line: OrderLine) -> Money:
    """The price of one line after its bulk discount."""
    reduction = line.total.scaled(bulk_rate(line.quantity))
    return line.total - reduction


def currency_of(lines: Sequence[OrderLine]) -> str:
    """The one currency of all lines."""
    currencies = {line.product.price.currency for line in lines}
    if len(currencies) > 1:
        raise PricingError("lines in different currencies")
    return currencies.pop() if currencies else "EUR"


def net_lines(lines: Sequence[OrderLine], coupon: Optional[str] = None) -> List[Money]:
    """The net price of every line, with bulk and coupon discounts taken off."""
    nets = [line_net(line) for line in lines]
    subtotal = total(nets, currency_of(lines))
    reduction = discounts.coupon_value(coupon, subtotal)
    if not reduction:
        return nets
    shares = reduction.allocate([net.cents for net in nets])
    return [net - share for net, share in zip(nets, shares)]


def price(lines: Sequence[OrderLine], country: str, coupon: Optional[str] = None) -> Quote:
    """Price ``lines`` for a customer in ``country``."""
    currency = currency_of(lines)
    subtotal = total((line.total for line in lines), currency)
    nets = net_lines(lines, coupon)
    taxes = [tax.tax_for(net, line.product.category, country) for net, line in zip(nets, lines)]
    return Quote(
        subtotal=subtotal,
        discount=subtotal - total(nets, currency),
        tax=total(taxes, currency),
        shipping=parcels.flat_rate(lines, country),
    )
