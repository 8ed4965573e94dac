"""Value-added tax by country and category."""

from __future__ import annotations

from decimal import Decimal
from typing import Dict, Mapping

from .models import Category
from .money import Money

STANDARD_RATES: Mapping[str, Decimal] = {
    "AT": Decimal("0.20"),
    "DE": Decimal("0.19"),
    "ES": Decimal("0.21"),
    "FR": Decimal("0.20"),
    "IT": Decimal("0.22"),
    "NL": Decimal("0.21"),
}

REDUCED_RATES: Mapping[str, Dict[Category, Decimal]] = {
    "AT": {Category.FOOD: Decimal("0.10"), Category.BOOK: Decimal("0.10")},
    "DE": {Category.FOOD: Decimal("0.07"), Category.BOOK: Decimal("0.07")},
    "ES": {Category.FOOD: Decimal("0.10"), Category.BOOK: Decimal("0.04")},
    "FR": {Category.FOOD: Decimal("0.055"), Category.BOOK: Decimal("0.055")},
    "IT": {Category.FOOD: Decimal("0.10"), Category.BOOK: Decimal("0.04")},
    "NL": {Category.FOOD: Decimal("0.09"), Category.BOOK: Decimal("0.09")},
}


def rate_for(category: Category, country: str) -> Decimal:
    """The rate for one category; countries that we do not list are exports, without tax.

    >>> rate_for(Category.BOOK, "de")
    Decimal('0.07')
    """
    code = country.strip().upper()
    reduced = REDUCED_RATES.get(code, {})
    if category in reduced:
        return reduced[category]
    return STANDARD_RATES.get(code, Decimal(0))


def tax_for(net: Money, category: Category, country: str) -> Money:
    """The tax on a net amount, rounded half up to a cent."""
    return net.scaled(rate_for(category, country))


def net_of(gross: Money, category: Category, country: str) -> Money:
    """The net amount inside a gross one.

    >>> net_of(Money(1190), Category.STANDARD, "DE")
    Money(cents=1000, currency='EUR')
    """
    return gross.scaled(1 / (1 + rate_for(category, country)))


def gross_price(net: float, rate: float) -> float:
    """The price on the shelf label, with tax, rounded half up to a cent.

    >>> gross_price(10.0, 0.19)
    11.9
    >>> gross_price(1.5, 0.19)
    1.79
    """
    return round(net * (1 + rate), 2)
