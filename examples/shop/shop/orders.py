"""Orders: placing them, moving them along, storing and loading them."""

from __future__ import annotations

import itertools
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence

from . import events
from .models import Address, Category, Customer, Order, OrderLine, OrderStatus, Product
from .money import Money
from .storage import JsonStore

if TYPE_CHECKING:
    from .pricing import Quote

ALLOWED: Mapping[OrderStatus, Sequence[OrderStatus]] = {
    OrderStatus.NEW: (OrderStatus.PAID, OrderStatus.CANCELLED),
    OrderStatus.PAID: (OrderStatus.SHIPPED, OrderStatus.CANCELLED),
    OrderStatus.SHIPPED: (),
    OrderStatus.CANCELLED: (),
}

_numbers = itertools.count(1)


class OrderError(ValueError):
    """An order that is not in a state for this, or a record that is not an order."""


def next_number(prefix: str = "SO") -> str:
    """A number that this process has not given out yet; ``count`` is atomic in CPython."""
    return f"{prefix}-{next(_numbers):06d}"


def place(customer: Customer, lines: Sequence[OrderLine], quote: Quote) -> Order:
    """Make the order for a priced list of lines, and publish it on the bus."""
    order = Order(
        number=next_number(),
        customer=customer,
        lines=list(lines),
        discount=quote.discount,
        tax=quote.tax,
        shipping=quote.shipping,
        placed_at=datetime.now(timezone.utc),
    )
    events.default_bus().publish("order.placed", {"number": order.number})
    return order


def move(order: Order, status: OrderStatus) -> Order:
    """Move ``order`` to ``status``.

    Raises:
        OrderError: when the order cannot go there from where it is.
    """
    if status not in ALLOWED[order.status]:
        raise OrderError(f"{order.status.value} orders cannot become {status.value}")
    order.status = status
    return order


def order_to_record(order: Order) -> Dict[str, Any]:
    """The order as JSON-compatible data, the inverse of :func:`order_from_record`."""
    return {
        "number": order.number,
        "status": order.status.value,
        "placed_at": order.placed_at.isoformat() if order.placed_at else None,
        "customer": {"email": order.customer.email, "name": order.customer.name},
        "discount": order.discount.cents,
        "tax": order.tax.cents,
        "shipping": order.shipping.cents,
        "currency": order.currency,
        "lines": [
            {
                "sku": line.product.sku,
                "title": line.product.title,
                "price": line.product.price.cents,
                "category": line.product.category.value,
                "quantity": line.quantity,
            }
            for line in order.lines
        ],
    }


def order_from_record(record: Mapping[str, Any]) -> Order:
    """The order that a stored or received record describes."""
    currency = record.get("currency", "EUR")
    placed_at = record.get("placed_at")
    return Order(
        number=record["number"],
        customer=Customer(record["customer"]["email"], record["customer"].get("name", "")),
        lines=[line_from_record(line, currency) for line in record["lines"]],
        discount=Money(record["discount"], currency),
        tax=Money(record["tax"], currency),
        shipping=Money(record["shipping"], currency),
        status=OrderStatus(record.get("status", "new")),
        placed_at=datetime.fromisoformat(placed_at) if placed_at else None,
    )


def line_from_record(record: Mapping[str, Any], currency: str = "EUR") -> OrderLine:
    """One line of a record, checked field by field.

    Raises:
        OrderError: when a field is missing or has the wrong type.
    """
    if not isinstance(record, Mapping):
        raise OrderError("a line must be a mapping")
    sku, price = record.get("sku"), record.get("price")
    if not isinstance(sku, str) or not isinstance(price, int):
        raise OrderError("a line needs a sku and a price in cents")
    quantity = record.get("quantity", 1)
    if not isinstance(quantity, int):
        raise OrderError("a quantity is a whole number")
    try:
        category = Category(record.get("category", "standard"))
    except ValueError:
        raise OrderError("no such category") from None
    title = record.get("title")
    if not isinstance(title, str):
        title = sku
    return OrderLine(Product(sku, title, Money(price, currency), category), quantity)


def address_from_record(record: Mapping[str, Any]) -> Address:
    """An address, checked field by field.

    Raises:
        OrderError: when a field is missing or is not text.
    """
    fields = {}
    for name in ("street", "city", "postcode"):
        value = record.get(name)
        if not isinstance(value, str) or not value.strip():
            raise OrderError(f"an address needs a {name}")
        fields[name] = value.strip()
    country = record.get("country", "DE")
    if not isinstance(country, str) or len(country) != 2:
        raise OrderError("a country is a code of two letters")
    return Address(country=country.upper(), **fields)


class OrderBook:
    """Orders in a :class:`JsonStore`, one record each."""

    def __init__(self, store: JsonStore) -> None:
        self._store = store

    def save(self, order: Order) -> None:
        """Write the order, replacing what was stored under its number."""
        self._store.put(order.number, order_to_record(order))

    def load(self, number: str) -> Optional[Order]:
        """The order with that number, if it was saved."""
        record = self._store.get(number)
        return None if record is None else order_from_record(record)

    def __iter__(self) -> Iterator[Order]:
        for _, record in self._store.items():
            yield order_from_record(record)

    def of_customer(self, email: str) -> List[Order]:
        """The orders of one customer, in the order of their numbers."""
        wanted = email.strip().casefold()
        return [order for order in self if order.customer.email.casefold() == wanted]
