"""The records that the rest of the shop passes around."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import List, Optional, Tuple

from .money import Money, total


class Category(Enum):
    """The tax category of a product."""

    STANDARD = "standard"
    FOOD = "food"
    BOOK = "book"


class OrderStatus(Enum):
    """The status of an order."""

    NEW = "new"
    PAID = "paid"
    SHIPPED = "shipped"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Product:
    """A product for sale."""

    sku: str
    title: str
    price: Money
    category: Category = Category.STANDARD
    weight_grams: int = 0
    tags: Tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.sku:
            raise ValueError("a product needs a sku")
        if self.price < Money(0, self.price.currency):
            raise ValueError("a price cannot be negative")
        if self.weight_grams < 0:
            raise ValueError("a weight cannot be negative")


@dataclass(frozen=True)
class Address:
    """The delivery address of a parcel."""

    street: str
    city: str
    postcode: str
    country: str = "DE"


@dataclass(frozen=True)
class Customer:
    """A customer."""

    email: str
    name: str = ""
    address: Optional[Address] = None


@dataclass(frozen=True)
class OrderLine:
    """A product and how many of it."""

    product: Product
    quantity: int = 1

    def __post_init__(self) -> None:
        if self.quantity < 1:
            raise ValueError("a line needs a quantity of at least one")

    @property
    def total(self) -> Money:
        """Price times quantity, before discounts and tax."""
        return self.product.price * self.quantity

    @property
    def weight_grams(self) -> int:
        """The weight of the whole line."""
        return self.product.weight_grams * self.quantity


@dataclass
class Order:
    """What a customer ordered, and what it costs."""

    number: str
    customer: Customer
    lines: List[OrderLine] = field(default_factory=list)
    discount: Money = Money(0)
    tax: Money = Money(0)
    shipping: Money = Money(0)
    status: OrderStatus = OrderStatus.NEW
    placed_at: Optional[datetime] = None

    @property
    def currency(self) -> str:
        """The currency of the first line, or of the shop."""
        return self.lines[0].product.price.currency if self.lines else "EUR"

    @property
    def subtotal(self) -> Money:
        """The sum of the lines."""
        return total((line.total for line in self.lines), self.currency)

    @property
    def total(self) -> Money:
        """What the customer pays."""
        return self.subtotal - self.discount + self.tax + self.shipping
