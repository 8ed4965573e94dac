import pytest

from shop import Money, Order, OrderLine, OrderStatus, config, reports
from shop.cli import main


def test_demo(capsys):
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    assert "109.96 EUR" in out
    assert "15 pieces sold, 8 bags of tea left" in out


def test_buy_and_report(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("SHOP_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("SHOP_GATEWAY_URL", raising=False)
    assert main(["buy", "MUG-01=2", "--country", "DE"]) == 0
    assert main(["buy", "TEA-100", "--country", "DE"]) == 0
    capsys.readouterr()
    assert main(["report"]) == 0
    out = capsys.readouterr().out
    assert "SO-000001  25.80 per line" in out
    assert "SO-000002  6.49 per line" in out


@pytest.mark.parametrize("arguments", [["buy", "NOPE"], ["buy", "MUG-01=x"], ["find", "a;b"]])
def test_mistakes_are_explained(arguments, capsys):
    assert main(arguments) == 1
    assert capsys.readouterr().err.startswith("shop: ")


def test_settings():
    settings = config.load({"SHOP_COUNTRY": "at ", "SHOP_DEBUG": "yes", "SHOP_CARRIERS": "a, ,b"})
    assert (settings.country, settings.debug, settings.carriers) == ("AT", True, ("a", "b"))
    for name, value in (("SHOP_GATEWAY_TIMEOUT", "nan"), ("SHOP_DEBUG", "maybe")):
        with pytest.raises(config.ConfigError, match=name):
            config.load({name: value})


def test_reports(goods, ada):
    mugs = Order("1", ada, [OrderLine(goods.get("MUG-01"), 2)])
    pots = Order("2", ada, [OrderLine(goods.get("POT-2"))], status=OrderStatus.CANCELLED)
    assert reports.revenue([mugs, pots]) == {"EUR": Money(2580)}
    assert reports.top_sellers([mugs, pots], 1) == [("MUG-01", 2)]
    assert reports.average_line_value(mugs) == 25.8
    assert reports.price_index({"A": [100, 200, 300], "B": [], "C": [0]}) == {"A": 1.5}
    assert reports.table([{"a": 1}], ("a", "bb")) == "a  bb\n1\n"
