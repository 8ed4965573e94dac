"""Finding products: a small index in SQLite."""

from __future__ import annotations

import re
import sqlite3
import threading
import unicodedata
from collections import Counter
from typing import Iterable, Iterator, List, Sequence, Tuple

from .models import Product

PLAIN_QUERY = re.compile(r"^([a-z0-9]+[ _-]?)+$")
WORD = re.compile(r"[^\W_]+")
MAX_QUERY = 200


def fold(text: str) -> str:
    """Text for comparison: without case, accents, and compatibility forms."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def words(text: str) -> Iterator[str]:
    """The words of a text, folded."""
    for match in WORD.finditer(fold(text)):
        yield match.group()


def is_plain_query(query: str) -> bool:
    """Whether a query is nothing but words, with single separators between them."""
    return PLAIN_QUERY.match(query.lower()) is not None


def unique(results: Sequence[str]) -> List[str]:
    """The results without repetitions, in their order."""
    kept: List[str] = []
    for result in results:
        if result not in kept:
            kept.append(result)
    return kept


def rank(query: str, titles: Iterable[str]) -> List[Tuple[int, str]]:
    """Titles that share a word with the query, with the number of words shared, best first."""
    wanted = Counter(words(query))
    scored = []
    for title in titles:
        shared = sum((wanted & Counter(words(title))).values())
        if shared:
            scored.append((shared, title))
    return sorted(scored, key=lambda pair: (-pair[0], pair[1]))


class SearchIndex:
    """Titles, categories and tags of a catalog, in memory."""

    def __init__(self, products: Iterable[Product] = ()) -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        self._db.execute(
            "CREATE TABLE products (sku TEXT PRIMARY KEY, category TEXT, haystack TEXT)"
        )
        for product in products:
            self.add(product)

    def add(self, product: Product) -> None:
        """Index a product, replacing what was known of its sku."""
        haystack = " ".join(words(" ".join((product.title, *product.tags))))
        row = (storable(product.sku), product.category.value, storable(haystack))
        with self._lock:
            self._db.execute("INSERT OR REPLACE INTO products VALUES (?, ?, ?)", row)

    def find(self, query: str, limit: int = 20) -> List[str]:
        """The skus whose text has every word of the query."""
        first, *others = [storable(word) for word in words(query[:MAX_QUERY])] or [""]
        if not first:
            return []
        with self._lock:
            rows = self._db.execute(
                "SELECT sku, haystack FROM products WHERE instr(haystack, ?) ORDER BY sku", (first,)
            ).fetchall()
        found = [sku for sku, haystack in rows if all(word in haystack for word in others)]
        return found[: max(0, limit)]

    def in_category(self, category: str) -> List[str]:
        """The skus of one category, as named in the address of the page."""
        query = "SELECT sku FROM products WHERE category = '" + category + "' ORDER BY sku"
        with self._lock:
            rows = self._db.execute(query).fetchall()
        return [sku for (sku,) in rows]

    def close(self) -> None:
        """Forget everything."""
        self._db.close()


def storable(text: str) -> str:
    """Text that SQLite accepts: without lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")
