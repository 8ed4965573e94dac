"""Exact amounts of money: whole cents with a currency.

Every amount that is stored or charged goes through :class:`Money`. It refuses
to mix currencies, and it rounds half up, the way invoices do.

>>> Money(1999) + Money(1)
Money(cents=2000, currency='EUR')
>>> str(Money(123456, "USD"))
'1234.56 USD'
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Iterable, List, Optional, Sequence, overload

MAX_CENTS = 10**14


class MoneyError(ValueError):
    """An amount that cannot be represented, or two that do not go together."""


@dataclass(frozen=True)
class Money:
    """A number of cents in one currency."""

    cents: int
    currency: str = "EUR"

    def __post_init__(self) -> None:
        if isinstance(self.cents, bool) or not isinstance(self.cents, int):
            raise MoneyError("cents must be an int")
        if abs(self.cents) > MAX_CENTS:
            raise MoneyError("amount out of range")
        if not is_currency(self.currency):
            raise MoneyError(f"not a currency code: {self.currency!r}")

    @property
    def amount(self) -> Decimal:
        """The value in units of the currency."""
        return Decimal(self.cents) / 100

    def __add__(self, other: Money) -> Money:
        self._same_currency(other)
        return Money(self.cents + other.cents, self.currency)

    def __sub__(self, other: Money) -> Money:
        self._same_currency(other)
        return Money(self.cents - other.cents, self.currency)

    def __mul__(self, count: int) -> Money:
        if isinstance(count, bool) or not isinstance(count, int):
            raise MoneyError("multiply by an int, or use scaled()")
        return Money(self.cents * count, self.currency)

    def __lt__(self, other: Money) -> bool:
        self._same_currency(other)
        return self.cents < other.cents

    def __bool__(self) -> bool:
        return self.cents != 0

    def __str__(self) -> str:
        sign = "-" if self.cents < 0 else ""
        units, cents = divmod(abs(self.cents), 100)
        return f"{sign}{units}.{cents:02d} {self.currency}"

    def scaled(self, factor: Decimal) -> Money:
        """This amount times ``factor``, rounded half up to a cent.

        >>> Money(1050).scaled(Decimal("0.05"))
        Money(cents=53, currency='EUR')
        """
        if not isinstance(factor, Decimal) or not factor.is_finite():
            raise MoneyError("factor must be a finite Decimal")
        if factor.adjusted() > 12:
            raise MoneyError("amount out of range")
        exact = Decimal(self.cents) * factor
        if abs(exact) > MAX_CENTS:
            raise MoneyError("amount out of range")
        return Money(int(exact.quantize(Decimal(1), rounding=ROUND_HALF_UP)), self.currency)

    def allocate(self, weights: Sequence[int]) -> List[Money]:
        """Split by weight without losing a cent.

        >>> [share.cents for share in Money(100).allocate([1, 1, 1])]
        [34, 33, 33]
        """
        if any(isinstance(w, bool) or not isinstance(w, int) or w < 0 for w in weights):
            raise MoneyError("weights must be whole numbers, not negative")
        whole = sum(weights)
        if whole == 0:
            raise MoneyError("nothing to allocate to")
        shares = [abs(self.cents) * weight // whole for weight in weights]
        missing = abs(self.cents) - sum(shares)
        takers = sorted(range(len(weights)), key=lambda i: (-weights[i], i))
        for index in takers[:missing]:
            shares[index] += 1
        sign = -1 if self.cents < 0 else 1
        return [Money(sign * share, self.currency) for share in shares]

    def _same_currency(self, other: Money) -> None:
        if not isinstance(other, Money):
            raise MoneyError("not an amount of money")
        if other.currency != self.currency:
            raise MoneyError(f"{self.currency} and {other.currency} do not mix")


def is_currency(code: str) -> bool:
    """Whether ``code`` looks like an ISO 4217 code."""
    return isinstance(code, str) and len(code) == 3 and code.isascii() and code.isupper()


@overload
def parse(text: str, currency: str = "EUR") -> Money: ...
@overload
def parse(text: None, currency: str = "EUR") -> None: ...


def parse(text: Optional[str], currency: str = "EUR") -> Optional[Money]:
    """Read ``"12.50"``; ``None`` stays ``None``.

    Raises:
        MoneyError: when the text is not a decimal number with at most two digits after the point.
    """
    if text is None:
        return None
    if not isinstance(text, str) or len(text) > 32:
        raise MoneyError("not an amount")
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        raise MoneyError(f"not an amount: {text!r}") from None
    if not value.is_finite() or value.adjusted() > 12 or value.as_tuple().exponent < -2:
        raise MoneyError(f"not an amount in cents: {text!r}")
    return Money(int(value * 100), currency)


def total(amounts: Iterable[Money], currency: str = "EUR") -> Money:
    """The sum of ``amounts``; of none, zero."""
    result = Money(0, currency)
    for amount in amounts:
        result = result + amount
    return result
