import os

import pytest

from shop.storage import JsonStore, StorageError, read_json, write_json
from shop.storage.records import dump_session, load_session, next_number


def test_put_get_delete(tmp_path):
    store = JsonStore(tmp_path / "records")
    store.put("b", {"n": 2})
    store.put("a", {"n": 1})
    assert list(store.items()) == [("a", {"n": 1}), ("b", {"n": 2})]
    assert store.delete("a")
    assert not store.delete("a")
    assert store.get("a") is None


@pytest.mark.parametrize("key", ["", ".", "..", "../x", "a/b", "a\0", "a\n", "x" * 65])
def test_keys_stay_in_the_directory(tmp_path, key):
    with pytest.raises(StorageError):
        JsonStore(tmp_path).put(key, {})


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.json"
    write_json(path, {"n": 1})
    with pytest.raises(StorageError):
        write_json(path, {"n": float("nan")})
    assert read_json(path) == {"n": 1}
    assert os.listdir(tmp_path) == ["x.json"]


def test_broken_json_is_named(tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(b'{"n": \xff')
    with pytest.raises(StorageError, match="x.json"):
        read_json(path)
    assert read_json(tmp_path / "missing", 7) == 7


def test_running_numbers(tmp_path):
    assert [next_number(tmp_path / "invoices") for _ in range(3)] == [1, 2, 3]


def test_sessions_round_trip():
    assert load_session(dump_session({"cart": ["A"]})) == {"cart": ["A"]}
