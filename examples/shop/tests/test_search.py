from contextlib import closing

from shop import search


def test_find_needs_every_word(goods):
    with closing(search.SearchIndex(goods)) as index:
        assert index.find("TEA") == ["BOOK-7", "POT-2", "TEA-100"]
        assert index.find("green tea") == ["TEA-100"]
        assert index.find("tea", limit=1) == ["BOOK-7"]
        assert index.find("' OR 1=1 --") == []
        assert index.find("%") == []


def test_in_category(goods):
    with closing(search.SearchIndex(goods)) as index:
        assert index.in_category("book") == ["BOOK-7"]


def test_folding():
    assert list(search.words("Thé_VERT, 100 g")) == ["the", "vert", "100", "g"]


def test_plain_queries():
    assert search.is_plain_query("green tea-pot")
    assert not search.is_plain_query("tea; DROP")


def test_unique_keeps_the_order():
    assert search.unique(["b", "a", "b"]) == ["b", "a"]


def test_rank():
    titles = ["Green tea", "Mug", "Green tea pot, green"]
    assert search.rank("green green tea", titles) == [(3, "Green tea pot, green"), (2, "Green tea")]
