from decimal import Decimal

import pytest

from shop import money
from shop.money import Money, MoneyError


def test_arithmetic_keeps_cents_exact():
    assert Money(10) + Money(20) - Money(5) == Money(25)
    assert Money(333) * 3 == Money(999)
    assert money.total([Money(1)] * 100) == Money(100)
    assert money.total([], "USD") == Money(0, "USD")


def test_currencies_do_not_mix():
    with pytest.raises(MoneyError):
        Money(1, "EUR") + Money(1, "USD")


@pytest.mark.parametrize("factor, cents", [("0.5", 53), ("0.19", 20), ("0", 0), ("-0.5", -53)])
def test_scaling_rounds_half_up(factor, cents):
    assert Money(105).scaled(Decimal(factor)).cents == cents


@pytest.mark.parametrize("factor", ["NaN", "Infinity", "1e30"])
def test_scaling_refuses_what_is_not_an_amount(factor):
    with pytest.raises(MoneyError):
        Money(105).scaled(Decimal(factor))


def test_allocation_loses_nothing():
    shares = Money(1000).allocate([3, 3, 1])
    assert [share.cents for share in shares] == [429, 429, 142]
    assert money.total(shares) == Money(1000)


def test_parse():
    assert money.parse(" 12.50 ") == Money(1250)
    assert money.parse("-0.05", "USD") == Money(-5, "USD")
    assert money.parse(None) is None


@pytest.mark.parametrize("text", ["", "abc", "nan", "1e20", "1.005", "9" * 40])
def test_parse_refuses(text):
    with pytest.raises(MoneyError):
        money.parse(text)


def test_text():
    assert str(Money(-1205)) == "-12.05 EUR"
