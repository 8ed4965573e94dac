"""Products from the exports of the shop system that we used until 2019."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, Iterator, List, Tuple

from . import money
from .csv_compat import LegacyFormatError, read_rows
from .models import Category, Product

GROUPS: Dict[str, Category] = {
    "10": Category.STANDARD,
    "20": Category.FOOD,
    "30": Category.BOOK,
}


def product_from_row(row: Dict[str, str]) -> Product:
    """The product that one row of an export describes.

    Raises:
        LegacyFormatError: when the row has no article number or no readable price.
    """
    number = row.get("ARTNR", "").strip()
    if not number:
        raise LegacyFormatError("a row without ARTNR")
    try:
        price = money.parse(row.get("PREIS", "").replace(",", "."))
    except money.MoneyError as error:
        raise LegacyFormatError(f"{number}: no readable PREIS") from error
    if price < money.Money(0):
        raise LegacyFormatError(f"{number}: negative PREIS")
    group = GROUPS.get(row.get("GRUPPE", ""), Category.STANDARD)
    return Product(number.upper(), row.get("BEZ", number).strip(), price, group)


def import_text(text: str) -> Tuple[List[Product], List[str]]:
    """The products of an export, and what is wrong with the rows left out."""
    products: List[Product] = []
    problems: List[str] = []
    for row in read_rows(text):
        try:
            products.append(product_from_row(row))
        except LegacyFormatError as error:
            problems.append(str(error))
    return products, problems


def import_folder(folder: Path) -> Iterator[Product]:
    """The products of all exports in a folder, file by file.

    Raises:
        LegacyFormatError: when the folder or one of its files cannot be read.
    """
    try:
        texts = [
            path.read_text(encoding="cp1252", errors="replace")
            for path in sorted(folder.glob("*.csv"))
            if path.is_file()
        ]
    except (OSError, ValueError) as error:
        raise LegacyFormatError("the exports cannot be read") from error
    for text in texts:
        yield from import_text(text)[0]
