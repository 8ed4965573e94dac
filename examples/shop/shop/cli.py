"""The command line of the shop."""

from __future__ import annotations

import argparse
import asyncio
import sys
from contextlib import closing
from typing import List, Optional, Sequence, Tuple

from . import cart, catalog, config, discounts, events, orders, reports, search, shipping, tax
from .inventory import Inventory
from .models import Customer, Order
from .money import MoneyError
from .payments import Gateway, PaymentError
from .storage import JsonStore, StorageError
from .storage.files import ensure_directory
from .storage.records import next_number


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run one command and return its exit code.

    Raises:
        SystemExit: when the arguments are invalid, or ask for help.
    """
    given = build_parser().parse_args(argv)
    try:
        return given.run(given)
    except (
        cart.CartError,
        catalog.CatalogError,
        config.ConfigError,
        discounts.CouponError,
        orders.OrderError,
        MoneyError,
        PaymentError,
        StorageError,
    ) as error:
        print(f"shop: {error}", file=sys.stderr)
        return 1


def build_parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    parser = argparse.ArgumentParser(prog="shop", description=__doc__)
    commands = parser.add_subparsers(title="commands", required=True)

    command = commands.add_parser("demo", help="price a small order, offline")
    command.set_defaults(run=lambda given: demo())

    command = commands.add_parser("buy", help="order products from the sample catalog")
    command.add_argument("items", nargs="+", metavar="SKU[=QUANTITY]")
    command.add_argument("--country", default="")
    command.add_argument("--coupon", default="")
    command.add_argument("--email", default="guest@example.org")
    command.set_defaults(
        run=lambda given: buy(given.items, given.country, given.coupon, given.email)
    )

    command = commands.add_parser("find", help="search the sample catalog")
    command.add_argument("query")
    command.set_defaults(run=lambda given: find(given.query))

    command = commands.add_parser("labels", help="print the shelf labels")
    command.set_defaults(run=lambda given: labels())

    command = commands.add_parser("rates", help="ask the carriers for their rates")
    command.add_argument("grams", type=int)
    command.set_defaults(run=lambda given: rates(given.grams))

    command = commands.add_parser("report", help="figures over the saved orders")
    command.set_defaults(run=lambda given: report())
    return parser


def parse_item(text: str) -> Tuple[str, int]:
    """Read ``SKU`` or ``SKU=QUANTITY``."""
    sku, mark, count = text.partition("=")
    quantity = cart.parse_quantity(count) if mark else 1
    if quantity is None:
        raise cart.CartError(f"not a quantity: {count!r}")
    return sku, quantity


def invoice(order: Order) -> str:
    """An order as text."""
    rows = [
        {
            "item": line.product.title,
            "each": line.product.price,
            "qty": line.quantity,
            "total": line.total,
        }
        for line in order.lines
    ]
    for label, amount in (
        ("discount", order.discount * -1),
        ("tax", order.tax),
        ("shipping", order.shipping),
        ("to pay", order.total),
    ):
        rows.append({"item": label, "total": amount})
    return f"order {order.number}\n\n" + reports.table(rows, ("item", "each", "qty", "total"))


def demo() -> int:
    """Price a small order without network and without files."""
    goods = catalog.sample()
    stock = Inventory({product.sku: 20 for product in goods})
    basket = cart.Cart()
    for sku, quantity in (("TEA-100", 12), ("MUG-01", 2), ("BOOK-7", 1)):
        cart.add(basket, goods.get(sku), quantity)
    customer = Customer("ada@example.org", "Ada")
    codes = ["SPRING-5", "TEATIME-10", "EXPIRED"]
    coupon = discounts.best_coupon(codes, basket.lines, "DE") or ""
    order = cart.checkout(basket, customer, {"country": "DE", "coupon": coupon}, stock)
    print(invoice(order), end="")
    left = stock.available("TEA-100")
    print(f"\ncoupon {coupon}, {stock.sold} pieces sold, {left} bags of tea left")
    return 0


def buy(
    items: Sequence[str],
    country: str = "",
    coupon: str = "",
    email: str = "guest@example.org",
) -> int:
    """Order, pay where a gateway is configured, save, and print the invoice."""
    settings = config.load()
    goods = catalog.sample()
    basket = cart.Cart()
    for item in items:
        sku, quantity = parse_item(item)
        cart.add(basket, goods.get(sku), quantity)
    gateway = None
    if settings.gateway_url:
        gateway = Gateway(settings.gateway_url, settings.gateway_secret, settings.gateway_timeout)
    details = {"country": country or settings.country, "coupon": coupon}
    order = cart.checkout(basket, Customer(email), details, gateway=gateway)
    sequence = ensure_directory(settings.data_dir) / "sequence"
    order.number = f"SO-{next_number(sequence):06d}"
    orders.OrderBook(JsonStore(settings.data_dir)).save(order)
    events.default_bus().publish("order.saved", events.describe(order))
    print(invoice(order), end="")
    return 0


def find(query: str) -> int:
    """Print the products that match a query."""
    goods = catalog.sample()
    if not search.is_plain_query(query):
        print("shop: letters, digits and single separators only", file=sys.stderr)
        return 1
    with closing(search.SearchIndex(goods)) as index:
        for sku in index.find(query):
            print(f"{sku}  {goods.get(sku).title}")
    return 0


def labels() -> int:
    """Print the texts of the shelf labels."""
    country = config.load().country
    for product in catalog.sample():
        rate = tax.rate_for(product.category, country)
        print(f"{tax.gross_price(float(product.price.amount), float(rate)):8.2f}  {product.title}")
    return 0


def rates(grams: int) -> int:
    """Print the cheapest rate of every carrier that answers."""
    settings = config.load()
    answers = asyncio.run(shipping.compare(settings.carriers, settings.country, grams))
    for carrier, offers in answers.items():
        best = shipping.cheapest(offers)
        if best is not None:
            print(f"{carrier}  {best[0]}  {best[1]}")
    return 0 if answers else 1


def report() -> int:
    """Print revenue and best sellers of the saved orders."""
    saved: List[Order] = list(orders.OrderBook(JsonStore(config.load().data_dir)))
    for amount in reports.revenue(saved).values():
        print(f"revenue  {amount}")
    for order in saved:
        print(f"{order.number}  {reports.average_line_value(order):.2f} per line")
    for sku, pieces in reports.top_sellers(saved):
        print(f"{pieces:6d}  {sku}")
    return 0
