import asyncio

import pytest

from shop import Cart, Money, OrderStatus, add, checkout, shipping
from shop.payments import Gateway, PaymentError, PaymentUnavailable, Receipt

RATES = {
    "currency": "EUR",
    "rates": [{"service": "eco", "cents": 390}, {"service": "fast", "cents": "890"}],
}


def test_authorize_repeats_after_an_outage(upstream):
    upstream.replies = [(503, {}), (200, {"status": "authorized", "id": "p1"})]
    receipt = Gateway(upstream.url, "secret").authorize(Money(100), "SO-1")
    assert receipt == Receipt("p1", Money(100), "SO-1")
    assert len(upstream.requests) == 2


def test_authorize_gives_up(upstream):
    upstream.replies = [(500, {})]
    with pytest.raises(PaymentUnavailable):
        Gateway(upstream.url, "secret", retries=1).authorize(Money(100), "SO-1")


@pytest.mark.parametrize("reply", [(402, {}), (200, {"status": "declined"}), (200, [])])
def test_authorize_refused(upstream, reply):
    upstream.replies = [reply]
    with pytest.raises(PaymentError):
        Gateway(upstream.url, "secret").authorize(Money(100), "SO-1")
    assert len(upstream.requests) == 1


def test_checkout_pays(upstream, goods, ada):
    upstream.replies = [(200, {"status": "authorized", "id": "p1"}), (200, {"id": "p1"})]
    cart = Cart()
    add(cart, goods.get("MUG-01"))
    order = checkout(cart, ada, {"country": "DE"}, gateway=Gateway(upstream.url, "secret"))
    assert order.status is OrderStatus.PAID
    assert [path for path, _ in upstream.requests] == ["/authorize", "/capture"]


def test_rates(upstream):
    upstream.replies = [(200, RATES)]
    rates = shipping.fetch_rates(upstream.url, "DE", 500)
    assert shipping.cheapest(rates) == ("eco", Money(390))
    assert upstream.requests[0][0] == "/rates?to=DE&grams=500"
    assert shipping.cheapest({}) is None


def test_compare_leaves_out_who_fails(upstream):
    upstream.replies = [(200, RATES)]
    answers = asyncio.run(shipping.compare([upstream.url, "ftp://carrier"], "DE", 500))
    assert list(answers) == [upstream.url]


def test_only_web_addresses():
    with pytest.raises(PaymentError):
        Gateway("file:///etc/passwd", "secret")
    with pytest.raises(shipping.ShippingError):
        shipping.fetch_rates("file:///etc/passwd", "DE", 1)
