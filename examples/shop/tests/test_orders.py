import pytest

from shop import Cart, OrderStatus, add, checkout, events, orders
from shop.storage import JsonStore


@pytest.fixture
def order(goods, ada):
    cart = Cart()
    add(cart, goods.get("TEA-100"), 2)
    add(cart, goods.get("BOOK-7"))
    return checkout(cart, ada, {"country": "AT"})


def test_numbers_differ():
    assert orders.next_number() != orders.next_number()


def test_states(order):
    orders.move(order, OrderStatus.PAID)
    orders.move(order, OrderStatus.SHIPPED)
    with pytest.raises(orders.OrderError):
        orders.move(order, OrderStatus.CANCELLED)


def test_records_round_trip(order):
    loaded = orders.order_from_record(orders.order_to_record(order))
    assert loaded.total == order.total
    assert loaded.placed_at == order.placed_at
    assert [line.product.sku for line in loaded.lines] == ["TEA-100", "BOOK-7"]


@pytest.mark.parametrize(
    "record",
    [{}, {"sku": "A"}, {"sku": "A", "price": "1"}, {"sku": "A", "price": 1, "category": "?"}, []],
)
def test_lines_are_checked(record):
    with pytest.raises(orders.OrderError):
        orders.line_from_record(record)


def test_order_book(order, tmp_path):
    book = orders.OrderBook(JsonStore(tmp_path / "orders"))
    book.save(order)
    assert book.load(order.number).total == order.total
    assert book.load("SO-999999") is None
    assert len(book.of_customer("ADA@example.org ")) == 1


def test_placing_is_announced(goods, ada):
    heard = []
    stop = events.default_bus().subscribe("order.placed", lambda *event: heard.append(event))
    cart = Cart()
    add(cart, goods.get("MUG-01"))
    number = checkout(cart, ada, {"country": "DE"}).number
    stop()
    checkout(cart, ada, {"country": "DE"})
    assert heard == [("order.placed", {"number": number})]


def test_replay_skips_what_is_no_event(tmp_path):
    journal = tmp_path / "journal"
    journal.write_text(events.journal_line("a", {"n": 1}) + '\n[]\n{"topic": "b", "pay')
    assert list(events.replay(journal)) == [("a", {"n": 1})]
    assert list(events.replay(tmp_path / "missing")) == []
