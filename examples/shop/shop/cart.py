"""The cart, and the way from a cart to an order."""

from __future__ import annotations

from typing import Dict, Iterable, Iterator, List, Mapping, Optional

from . import orders, pricing
from .inventory import Hold, Inventory
from .models import Customer, Order, OrderLine, OrderStatus, Product
from .money import Money, total
from .payments import Gateway

MAX_QUANTITY = 999


class CartError(ValueError):
    """A cart that cannot hold this, or cannot be checked out."""


class Cart:
    """Lines by sku, with one currency for all of them."""

    def __init__(self, lines: Iterable[OrderLine] = (), currency: str = "EUR") -> None:
        self.currency = currency
        self._lines: Dict[str, OrderLine] = {}
        for line in lines:
            add(self, line.product, line.quantity)

    @property
    def lines(self) -> List[OrderLine]:
        """The lines, oldest first."""
        return list(self._lines.values())

    @property
    def subtotal(self) -> Money:
        """The sum of the lines, before discounts and tax."""
        return total((line.total for line in self.lines), self.currency)

    def quantity(self, sku: str) -> int:
        """How many of that sku are in the cart."""
        line = self._lines.get(sku)
        return line.quantity if line else 0

    def put(self, line: OrderLine) -> None:
        """Set the line of a product, replacing the one it had."""
        if line.product.price.currency != self.currency:
            raise CartError(f"this cart is in {self.currency}")
        if line.quantity > MAX_QUANTITY:
            raise CartError(f"at most {MAX_QUANTITY} of one product")
        self._lines[line.product.sku] = line

    def remove(self, sku: str) -> bool:
        """Take a product out; return whether it was there."""
        return self._lines.pop(sku, None) is not None

    def __iter__(self) -> Iterator[OrderLine]:
        return iter(self.lines)

    def __len__(self) -> int:
        return sum(line.quantity for line in self.lines)


def add(cart: Cart, product: Product, quantity: int = 1) -> OrderLine:
    """Put ``quantity`` more of ``product`` into ``cart`` and return its line.

    Raises:
        CartError: when the quantity is not positive, or the line would become too large.
    """
    if quantity < 1:
        raise CartError("add at least one")
    line = OrderLine(product, cart.quantity(product.sku) + quantity)
    cart.put(line)
    return line


def parse_quantity(text: str) -> Optional[int]:
    """The quantity that a customer typed, or ``None`` when it is not one."""
    text = text.strip()
    if not text.isdigit() or len(text) > 3:
        return None
    return int(text) or None


def checkout(
    cart: Cart,
    customer: Customer,
    details: Mapping[str, str],
    inventory: Optional[Inventory] = None,
    gateway: Optional[Gateway] = None,
) -> Order:
    """Turn ``cart`` into an order: price it, reserve the stock, charge the customer.

    ``details`` comes from the checkout form: ``country``, and optionally ``coupon``.
    When anything fails, the stock that was reserved is given back.

    Raises:
        CartError: when the cart is empty.
    """
    country = details["country"]
    if not cart.lines:
        raise CartError("the cart is empty")
    quote = pricing.price(cart.lines, country, details.get("coupon"))
    order = orders.place(customer, cart.lines, quote)
    holds: List[Hold] = []
    try:
        if inventory is not None:
            for line in cart.lines:
                holds.append(inventory.reserve(line.product.sku, line.quantity))
        if gateway is not None:
            receipt = gateway.authorize(order.total, order.number)
            gateway.capture(receipt)
            orders.move(order, OrderStatus.PAID)
    except BaseException:
        if inventory is not None:
            for hold in holds:
                inventory.release(hold)
        raise
    if inventory is not None:
        for hold in holds:
            inventory.commit(hold)
    return order
