"""Differential oracle for the fixture: compares the old and the new code outside of menace."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Optional

WORKER = r'''
import ast, asyncio, atexit, contextlib, functools, importlib, inspect, json, operator, os, shutil, sys, tempfile, threading, traceback
from pathlib import Path
job = json.load(sys.stdin)
sys.dont_write_bytecode = True
sys.path.insert(0, job["root"])
tempfile.tempdir = tempfile.mkdtemp()
atexit.register(shutil.rmtree, tempfile.tempdir, True)
module_name, _, name = job["section"].partition(":")
module = importlib.import_module(module_name)
lines = Path(module.__file__).read_text(encoding="utf-8").splitlines()
names = dict(vars(module), functools=functools)

def outcome(error):
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == module.__file__]
    line = frames[-1].lineno if frames else 0
    deliberate = bool(line) and lines[line - 1].strip().startswith("raise ")
    return {"exception": type(error).__name__, "message": str(error)[:300], "line": line, "deliberate": deliberate}

def call(text):
    try:
        value = eval(text, names)
        if inspect.iscoroutine(value):
            value = asyncio.run(value)
        return {"value": repr(value)[:2000]}
    except Exception as error:
        return outcome(error)

def spike(name):
    owner, _, attribute = name.rpartition(".")
    found = []
    for _ in range(4):
        for left in Path(tempfile.tempdir).iterdir():
            left.rmdir() if left.is_dir() else left.unlink()
        target = getattr(getattr(module, owner)(), attribute) if owner else getattr(module, attribute)
        arguments = [1.0] if name == "Journal.append" else ["here"] if name == "fetch_marked" else []
        if inspect.iscoroutinefunction(target):
            async def all_of_them():
                return await asyncio.gather(*(target(*arguments) for _ in range(20)), return_exceptions=True)
            found += [outcome(e) for e in asyncio.run(all_of_them()) if isinstance(e, BaseException)]
            continue
        barrier = threading.Barrier(10)
        def run():
            barrier.wait()
            try:
                target(*arguments)
            except Exception as error:
                found.append(outcome(error))
        threads = [threading.Thread(target=run) for _ in range(10)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    return [f for f in found if not f["deliberate"]]

def arguments(text):
    tree = ast.parse(text, mode="eval").body
    function = operator.attrgetter(name)(module)
    owner = [object()] if "." in name else []
    bound = inspect.signature(function).bind(*owner, *[ast.unparse(a) for a in tree.args])
    return [[k, v] for k, v in bound.arguments.items() if isinstance(v, str)]

answer = {"ordinary": [call(text) for text in job["ordinary"]]}
if job.get("example"):
    answer["example"] = call(job["example"])
    answer["arguments"] = arguments(job["example"])
if job.get("spike"):
    answer["spike"] = spike(name)
print(json.dumps(answer))
'''

LATE = {
    "is_tag_list": "is_tag_list('a' * 40 + '!')",
    "mentions_address": "mentions_address('a' * 60_000)",
    "compounded": "compounded(1.0, 2**31)",
    "triangle": "triangle(2.5)",
}
ORDINARY = {
    "mean_price": ["mean_price([1.0, 2.0])", "mean_price((3,))"],
    "longest_word": ["longest_word(['a', 'bb'])", "longest_word('ab')"],
    "initial": ["initial('ada')"],
    "page_of": ["page_of(3, 2)", "page_of(-3, -2)"],
    "spread": ["spread(4.0)", "spread(float('nan'))", "spread(0)"],
    "surname": ["surname('Ada Lovelace')", "surname('a b c')"],
    "price_in_cents": ["price_in_cents(1.5)", "price_in_cents(-1)", "price_in_cents(float('inf'))"],
    "progress_bar": ["progress_bar(0.5)", "progress_bar(float('inf'))", "progress_bar(-3)"],
    "backoff_delay": ["backoff_delay(3)", "backoff_delay(-1)"],
    "likelihood": ["likelihood(0.0)", "likelihood(float('inf'))"],
    "title_digest": ["title_digest('abc')", "title_digest('é')"],
    "header_line": ["header_line('a', 'é')"],
    "decode_settings": ["decode_settings('[1]')", "decode_settings('[')"],
    "nesting_depth": ["nesting_depth('((a')", "nesting_depth('')"],
    "is_tag_list": [f"is_tag_list({t!r})" for t in ("a-b", "a-", "-a", "", "a--b", "abc1", "a b", "a\n")],
    "mentions_address": [f"mentions_address({t!r})" for t in ("a@b", "@b", "a@", "x a.b@c.d y", "", "a @ b")],
    "day_of": ["day_of(0)", "day_of(-5)", "day_of(2**40)"],
    "greeting": ["greeting('hi %s', 'ada')", "greeting('hi', 'ada')"],
    "notice": ["notice('hi {customer}', 'ada')", "notice('{other}', 'ada')"],
    "customers_called": ["customers_called('alpha')", "customers_called('beta')", "customers_called('x')"],
    "page_number": ["page_number('7')", "page_number('x')", "page_number('')"],
    "account_number": ["account_number('12-3')", "account_number('')"],
    "upload_size": ["upload_size('none')"],
    "frame_header": ["frame_header(5)", "frame_header(-5)"],
    "sound": ["sound([1, -2])", "sound([])"],
    "expires_at": ["expires_at(datetime(2020, 1, 1), 5)", "expires_at(datetime(2020, 1, 1), -5)"],
    "sort_key": ["sort_key(datetime(2020, 1, 1, tzinfo=timezone.utc))"],
    "rounded_price": ["rounded_price(Decimal('1.234'))", "rounded_price(Decimal('NaN'))"],
    "within_budget": ["within_budget(Decimal(1), Decimal(2))", "within_budget(Decimal(3), Decimal(2))"],
    "histogram": ["histogram([1.0, 2.0, 0.5])", "histogram([])", "histogram([-1.0, float('nan')])"],
    "with_digits": ["with_digits(1.5, 2)", "with_digits(1.5, -2)"],
    "first_line": ["first_line(b'a\\nb')", "first_line('é'.encode())"],
    "tree_height": ["tree_height([[], [[]]])", "tree_height([])"],
    "command_words": ["command_words('a \"b c\"')"],
    "asset_url": ["asset_url('a/b.css')", "asset_url('')"],
    "compounded": ["compounded(1.0, 3)", "compounded(1.0, -3)", "compounded(1.0, 100_000)"],
    "metric_line": ["metric_line('a', 1.5)"],
    "bearing": ["bearing(1.0, 2.0)", "bearing(float('nan'), 1.0)", "bearing(1.0, float('inf'))"],
    "letter_names": ["letter_names('ab')", "letter_names('')"],
    "arrangements": ["arrangements(5)", "arrangements(-1)"],
    "Ledger.post": ["Ledger().post('rent', 3)", "Ledger().post('rent', 2.5)"],
    "Profile.rename": ["Profile().rename(' ada ')"],
    "Account.transfer": ["Account().transfer(Account(), 5)"],
    "restock": ["restock({}, 3, 4)", "restock({3: 1}, 3, -4)"],
    "hand_over": ["hand_over([1, 2], [])", "hand_over([], [])"],
    "seconds_in": ["seconds_in('ms')", "seconds_in('min')"],
    "bytes_in": ["bytes_in('é')", "bytes_in(b'ab')"],
    "leaves": ["leaves([[1], [2, 3]])", "leaves([])"],
    "triangle": ["triangle(4)", "triangle(-4)", "triangle(0)"],
    "chunk": ["chunk(b'IEND', b'ab')", "chunk(bytearray(b'x'), b'')"],
    "money": ["money(123)", "money(-1)"],
    "label": ["label({'recipient': 'a', 'city': 'b'})"],
    "home_town": ["home_town({'address': {'city': 'x'}})"],
    "nicks": ["nicks([{'nick': 'a'}])", "nicks([])"],
    "ranking": ["ranking([{'score': 1}, {'score': 3}])"],
    "reminder": ["reminder({'due': datetime(2020, 1, 1)})", "reminder({})"],
    "user_of": ["user_of({'login': 'a', 'age': 3})"],
    "summary": ["summary({'action': 'created', 'order': 3})"],
    "stock_value": ["stock_value({'pieces': 2, 'price': 1.5})", "stock_value({})"],
    "reading_line": ["reading_line({'sensor': 'a', 'celsius': 1.0})"],
    "basket_total": ["basket_total({'a': 1.5})", "basket_total({})"],
    "ticket_title": ["ticket_title({'id': 1, 'title': 'x'})"],
    "parcel_text": ["parcel_text({'carrier': 'a', 'place': 'b'})"],
    "full_name": ["full_name(Person('a', 'b'))"],
    "Seats.book": ["Seats().book()"],
    "Sessions.expire_oldest": ["Sessions().expire_oldest()"],
    "Presence.report": ["Presence().report()"],
    "Journal.append": ["Journal().append(2)"],
    "Catalog.answer": ["Catalog().answer()"],
    "Outbox.flush": ["Outbox().flush()"],
    "Numbers.draw": ["Numbers().draw()"],
    "fetch_marked": ["fetch_marked('x')"],
}


def asked(root: Path, job: dict[str, Any], limit: float = 30.0) -> Optional[dict[str, Any]]:
    """Evaluates a job on the code in a directory, in a separate process. Returns None after the timeout."""
    command = [sys.executable, "-c", WORKER]
    text = json.dumps({**job, "root": str(root)})
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return None
    return {"broken": done.stderr[-800:]} if done.returncode else json.loads(done.stdout)


def wrong_with(before: Path, after: Path, defect: dict[str, Any]) -> Optional[str]:
    """Error of the code in `after` with respect to one defect, or None if the fix is correct."""
    module, _, name = defect["section"].partition(":")
    job = {
        "section": defect["section"],
        "ordinary": ORDINARY.get(name, []),
        "example": defect.get("example") or LATE.get(name),
        "spike": module.endswith(".concurrency"),
    }
    old = asked(before, {**job, "example": None, "spike": False})
    new = asked(after, job)
    if old is None or "broken" in old:
        raise RuntimeError(f"{defect['section']} cannot be evaluated: {old}")
    if new is None:
        return "timeout"
    if "broken" in new:
        return str(new["broken"])
    example = new.get("example", {})
    if "exception" in example and not example["deliberate"]:
        return f"{job['example']} still raises {example['exception']}"
    if new.get("spike"):
        return f"concurrent calls still raise {new['spike'][0]['exception']}"
    for call, was, now in zip(job["ordinary"], old["ordinary"], new["ordinary"]):
        if ("value" in was or was.get("deliberate")) and not same(was, now):
            return f"{call} was {was} and is {now}"
    return None


def same(was: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether both outcomes have the same value or the same exception."""
    return was["value"] == now.get("value") if "value" in was else was["exception"] == now.get("exception")
