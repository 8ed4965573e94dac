"""The back end of a small online shop: catalog, cart, prices, stock, orders."""

from .cart import Cart, CartError, add, checkout
from .catalog import Catalog, CatalogError
from .inventory import Inventory, OutOfStock
from .models import Address, Category, Customer, Order, OrderLine, OrderStatus, Product
from .money import Money, MoneyError

__version__ = "0.3.0"

__all__ = [
    "Address",
    "Cart",
    "CartError",
    "Catalog",
    "CatalogError",
    "Category",
    "Customer",
    "Inventory",
    "Money",
    "MoneyError",
    "Order",
    "OrderLine",
    "OrderStatus",
    "OutOfStock",
    "Product",
    "add",
    "checkout",
]
