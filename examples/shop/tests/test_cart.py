import pytest

from shop import Cart, CartError, Money, OrderStatus, OutOfStock, add, checkout
from shop.cart import parse_quantity


def test_add_sums_up_quantities(goods):
    cart = Cart()
    add(cart, goods.get("mug-01"))
    line = add(cart, goods.get("MUG-01"), 2)
    assert line.quantity == 3
    assert len(cart) == 3
    assert cart.subtotal == Money(3870)


def test_add_refuses_nonsense(goods):
    with pytest.raises(CartError):
        add(Cart(), goods.get("MUG-01"), 0)
    with pytest.raises(CartError):
        add(Cart(), goods.get("MUG-01"), 1000)
    with pytest.raises(CartError):
        add(Cart(currency="USD"), goods.get("MUG-01"))


def test_remove(goods):
    cart = Cart()
    add(cart, goods.get("MUG-01"))
    assert cart.remove("MUG-01")
    assert not cart.remove("MUG-01")
    assert cart.lines == []


@pytest.mark.parametrize(
    "text, quantity", [("3", 3), (" 12 ", 12), ("0", None), ("x", None), ("-1", None)]
)
def test_parse_quantity(text, quantity):
    assert parse_quantity(text) == quantity


def test_checkout_prices_and_takes_stock(goods, stock, ada):
    cart = Cart()
    add(cart, goods.get("MUG-01"), 2)
    order = checkout(cart, ada, {"country": "DE"}, stock)
    assert order.subtotal == Money(2580)
    assert order.tax == Money(490)
    assert order.total == Money(2580 + 490 + 495)
    assert order.status is OrderStatus.NEW
    assert stock.available("MUG-01") == 18
    assert stock.sold == 2


def test_checkout_gives_stock_back_when_it_fails(goods, stock, ada):
    cart = Cart()
    add(cart, goods.get("MUG-01"), 2)
    add(cart, goods.get("POT-2"), 21)
    with pytest.raises(OutOfStock):
        checkout(cart, ada, {"country": "DE"}, stock)
    assert stock.available("MUG-01") == 20


def test_empty_cart_is_refused(ada):
    with pytest.raises(CartError):
        checkout(Cart(), ada, {"country": "DE"})
