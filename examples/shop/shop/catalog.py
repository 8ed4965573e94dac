"""What the shop sells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Iterable, Iterator, List, Optional

from .models import Category, Product
from .money import Money

if TYPE_CHECKING:
    from .inventory import Inventory


class CatalogError(LookupError):
    """A product that does not exist, or exists twice, or cannot be made."""


class Catalog:
    """Products by their sku, in the order in which they were added."""

    def __init__(self, products: Iterable[Product] = ()) -> None:
        self._products: Dict[str, Product] = {}
        for product in products:
            self.add(product)

    def add(self, product: Product) -> None:
        """Offer ``product``; a sku can be offered once."""
        sku = normalize_sku(product.sku)
        if sku in self._products:
            raise CatalogError(f"already in the catalog: {sku!r}")
        self._products[sku] = product

    def get(self, sku: str) -> Product:
        """The product with that sku.

        Raises:
            CatalogError: when there is none.
        """
        try:
            return self._products[normalize_sku(sku)]
        except KeyError:
            raise CatalogError(f"no such product: {sku!r}") from None

    def find(self, sku: str) -> Optional[Product]:
        """The product with that sku, if there is one."""
        return self._products.get(normalize_sku(sku))

    def by_category(self, category: Category) -> List[Product]:
        """The products of one category."""
        return [product for product in self if product.category is category]

    def in_stock(self, inventory: Inventory) -> Iterator[Product]:
        """The products of which at least one can be sold now."""
        for product in self:
            if inventory.available(product.sku) > 0:
                yield product

    def __iter__(self) -> Iterator[Product]:
        return iter(list(self._products.values()))

    def __len__(self) -> int:
        return len(self._products)


def normalize_sku(sku: str) -> str:
    """Compare skus without case and outer spaces."""
    return sku.strip().upper()


def make_product(sku: str, title: str, price: float, tags: Iterable[str] = ()) -> Product:
    """Build a product from the fields of the back-office form."""
    if not sku.strip():
        raise CatalogError("a product needs a sku")
    if price < 0:
        raise CatalogError("a price cannot be negative")
    cents = int(round(price * 100))
    return Product(normalize_sku(sku), title.strip(), Money(cents), tags=tuple(tags))


def sample() -> Catalog:
    """The catalog of the demo."""
    return Catalog(
        [
            Product(
                "TEA-100", "Green tea, 100 g", Money(649), Category.FOOD, 120, ("tea", "green")
            ),
            Product(
                "MUG-01", "Stoneware mug", Money(1290), Category.STANDARD, 350, ("mug", "kitchen")
            ),
            Product("BOOK-7", "The Book of Tea", Money(995), Category.BOOK, 210, ("tea", "book")),
            Product(
                "POT-2",
                "Cast iron teapot",
                Money(5490),
                Category.STANDARD,
                1900,
                ("tea", "kitchen"),
            ),
        ]
    )
