from decimal import Decimal

import pytest

from shop import Category, Money, OrderLine, Product, discounts, parcels, pricing, tax


def lines_of(goods, **quantities):
    return [OrderLine(goods.get(sku.replace("_", "-")), count) for sku, count in quantities.items()]


def test_quote_adds_up(goods):
    quote = pricing.price(lines_of(goods, TEA_100=12, MUG_01=2, BOOK_7=1), "DE", "TEATIME-10")
    assert quote.subtotal == Money(11363)
    assert quote.discount == Money(1347)
    assert quote.shipping == Money(0)
    assert quote.total == quote.subtotal - quote.discount + quote.tax


def test_bulk_rates():
    assert [pricing.bulk_rate(n) for n in (1, 10, 50, 500)] == [
        Decimal(0),
        Decimal("0.03"),
        Decimal("0.08"),
        Decimal("0.12"),
    ]


def test_lines_in_two_currencies_are_refused(goods):
    foreign = Product("X", "X", Money(100, "USD"))
    with pytest.raises(pricing.PricingError):
        pricing.price([*lines_of(goods, MUG_01=1), OrderLine(foreign)], "DE")


@pytest.mark.parametrize(
    "category, country, rate",
    [
        (Category.BOOK, "de", "0.07"),
        (Category.STANDARD, " FR ", "0.20"),
        (Category.FOOD, "US", "0"),
    ],
)
def test_tax_rates(category, country, rate):
    assert tax.rate_for(category, country) == Decimal(rate)


def test_coupons():
    assert discounts.parse_coupon(" spring-10 ") == discounts.Coupon("SPRING", 10)
    assert discounts.stacked(10, 50)(Money(1000)) == Money(450)
    for code in ("", "SPRING", "SPRING-0", "SPRING-99", "SPRING-\u0661"):
        with pytest.raises(discounts.CouponError):
            discounts.parse_coupon(code)


def test_best_coupon(goods):
    lines = lines_of(goods, MUG_01=1)
    assert discounts.best_coupon(["SPRING-5", "nonsense", "TEA-20"], lines, "DE") == "TEA-20"
    assert discounts.best_coupon(["nonsense"], lines, "DE") is None


def test_promotion_rules():
    assert discounts.rule_applies("subtotal > 5000 and items >= 3", 6000, 3)
    assert not discounts.rule_applies("items >= 3", 6000, 2)


def test_flat_rate_by_weight_and_zone(goods):
    pots = lines_of(goods, POT_2=1)
    assert parcels.flat_rate(pots, "DE") == Money(495)
    assert parcels.flat_rate(pots, "AT") == Money(990)
    assert parcels.flat_rate(lines_of(goods, POT_2=11), "US") == Money((1295 + 495) * 5)
    assert parcels.flat_rate([], "DE") == Money(0)


def test_pack_into_a_given_list(goods):
    assert parcels.pack(lines_of(goods, POT_2=11), []) == [["POT-2"] * 10, ["POT-2"]]
