import pytest

from shop import Inventory, OutOfStock
from shop.inventory import UnknownHold


def test_reserve_commit_release():
    stock = Inventory({"A": 3})
    first, second = stock.reserve("A"), stock.reserve("A", 2)
    assert stock.available("A") == 0
    stock.commit(first)
    stock.release(second)
    assert stock.available("A") == 2
    assert stock.sold == 1


def test_nothing_is_sold_twice():
    stock = Inventory({"A": 1})
    hold = stock.reserve("A")
    with pytest.raises(OutOfStock):
        stock.reserve("A")
    stock.commit(hold)
    with pytest.raises(UnknownHold):
        stock.release(hold)


def test_held_gives_back_on_failure():
    stock = Inventory({"A": 1})
    with pytest.raises(RuntimeError), stock.held("A"):
        raise RuntimeError
    assert stock.available("A") == 1
    with stock.held("A"):
        pass
    assert stock.sold == 1


def test_low_lists_the_scarcest_first():
    assert Inventory({"A": 2, "B": 9, "C": 1}).low() == ["C", "A"]
