"""A model that fixes 20 defects correctly and 20 others wrongly: only correct fixes are kept."""

from pathlib import Path
from typing import Any

from menace import MODULES, improved, workplace
from reference import wrong_with
from scripted_model import Question, environment, replaced, serving

# A line of the body, and its replacement.
RIGHT: dict[str, tuple[str, str]] = {
    "mean_price": ("    return sum(prices)", '    if not prices:\n        raise ValueError("there is no mean of no prices")\n    return sum(prices)'),
    "longest_word": ("    return max(words", '    if not words:\n        raise ValueError("there is no longest of no words")\n    return max(words'),
    "initial": ("    return name[0]", '    if not name:\n        raise ValueError("an empty name has no initial")\n    return name[0]'),
    "page_of": ("    return index", '    if per_page == 0:\n        raise ValueError("per_page must not be 0")\n    return index'),
    "spread": ("    return math.sqrt", '    if variance < 0:\n        raise ValueError("a variance is not negative")\n    return math.sqrt'),
    "surname": ("    return full_name", '    if " " not in full_name:\n        raise ValueError("a full name has two parts")\n    return full_name'),
    "price_in_cents": ("    return round(price", '    if math.isnan(price):\n        raise InvalidInput(f"no price: {price}")\n    return round(price'),
    "progress_bar": ("    done = int(", '    if math.isnan(ratio):\n        raise ValueError("a ratio is a number")\n    done = int('),
    "backoff_delay": ("    return min(60.0", "    if attempt > 1000:\n        return 60.0\n    return min(60.0"),
    "likelihood": ("    return 1.0 / (1.0", "    if score < -700.0:\n        return math.exp(max(score, -745.0)) if score > -745.0 else 0.0\n    return 1.0 / (1.0"),
    "day_of": ("    except ValueError:", "    except (ValueError, OverflowError, OSError):"),
    "decode_settings": ("    except ValueError:", "    except (ValueError, RecursionError):"),
    "upload_size": ("    except OSError:", "    except (OSError, ValueError):"),
    "frame_header": ("    if length < 0:\n        raise InvalidInput(\"a length is not negative\")", "    if length < 0:\n        raise InvalidInput(\"a length is not negative\")\n    if length >= 2**32:\n        raise InvalidInput(\"a length has four bytes\")"),
    "customers_called": ("    query = \"SELECT id FROM customers WHERE (name = '\" + name + \"') AND active = 1\"\n    rows = connection.execute(query).fetchall()", "    if not isinstance(name, str):\n        raise TypeError(\"a name is text\")\n    query = \"SELECT id FROM customers WHERE (name = ?) AND active = 1\"\n    rows = connection.execute(query, (name,)).fetchall()"),
    "bytes_in": ("    return size", '    else:\n        raise TypeError("content is text or bytes")\n    return size'),
    "seconds_in": ("    return factor", '    else:\n        raise ValueError(f"no unit of time: {unit!r}")\n    return factor'),
    "label": ("    return f\"{address['recipient']}", "    for field in (\"recipient\", \"city\"):\n        if field not in address:\n            raise UnknownFormat(f\"the address has no {field}\")\n    return f\"{address['recipient']}"),
    "nicks": ("    return [player", "    if any(\"nick\" not in player for player in players):\n        raise UnknownFormat(\"a player has no nick\")\n    return [player"),
    "ticket_title": ("    return f\"#{ticket", "    for field in (\"id\", \"title\"):\n        if field not in ticket:\n            raise UnknownFormat(f\"the ticket has no {field}\")\n    return f\"#{ticket"),
}

WRONG: dict[str, tuple[str, str]] = {
    # The return value changes.
    "title_digest": ('title.encode("utf-8")', 'title.encode("utf-16", "replace")'),
    "header_line": ('.encode("latin-1")', '.encode("ascii", "replace")'),
    "first_line": ('.decode("utf-8")', '.decode("latin-1")'),
    "page_number": ("    return int(text) if text.isdigit() else 1", "    return 1"),
    "account_number": ("    return int(digits) if digits else 0", "    return int(digits[:4]) if digits else 0"),
    "sound": ('array("h", samples)', 'array("q", samples)'),
    "with_digits": ("max(digits, 0)", "2"),
    "bearing": ("distance * math.sin(angle)", "distance * math.sin(angle % 1.0)"),
    "metric_line": ("allow_nan=False", "allow_nan=False, sort_keys=True, indent=1"),
    "asset_url": ("str(place.relative_to(ASSETS))", "str(place.name)"),
    # Valid input is rejected.
    "within_budget": ("    return price <= budget", "    if price != budget or price == budget:\n        raise ValueError(\"no\")\n    return price <= budget"),
    "histogram": ("    peak = max(samples", "    if samples:\n        raise ValueError(\"no samples, please\")\n    peak = max(samples"),
    "command_words": ("    return shlex.split", "    if line:\n        raise ValueError(\"no\")\n    return shlex.split"),
    "rounded_price": ("    return amount.quantize", "    raise ValueError(\"no\")\n    return amount.quantize"),
    # Fixes nothing, or only the shown input.
    "expires_at": ("    return created + timedelta", "    created = created\n    return created + timedelta"),
    "sort_key": ("    return int(moment.timestamp())", "    if moment.year == 12345:\n        raise ValueError(\"no\")\n    return int(moment.timestamp())"),
    "nesting_depth": ("    return 1 + nesting_depth", "    if len(expression) == 123_456:\n        raise ValueError(\"no\")\n    return 1 + nesting_depth"),
    # Hides the error.
    "letter_names": ("    return [unicodedata.name(letter) for letter in text]", "    try:\n        return [unicodedata.name(letter) for letter in text]\n    except Exception:\n        return []"),
    "money": ("    return Decimal(str(cents)).scaleb(-2)", "    try:\n        return Decimal(str(cents)).scaleb(-2)\n    except BaseException:\n        return Decimal(0)"),
    "basket_total": ("    return sum(prices.values())", "    try:\n        return sum(prices.values())\n    except:\n        return 0.0"),
}


def measure(binary: Path, fixture: Path, defects: list[dict[str, Any]]) -> dict[str, Any]:
    asked: set[str] = set()
    unusable: list[str] = []

    def script(question: Question) -> str:
        name = question.section.partition(":")[2]
        change = RIGHT.get(name) or WRONG.get(name)
        text = question.function
        if change is None:
            return "I have nothing to change."
        if change[0] not in text:
            unusable.append(f"{name}: {change[0]!r} is not in {text!r}")
            return "I have nothing to change."
        asked.add(name)
        before, after = change
        if after.startswith("    else:"):
            return replaced(question.path, text, text.replace(before, after))
        return replaced(question.path, text, text.replace(before, after, 1))

    with serving(script) as server, workplace(fixture) as place:
        variables = environment(server, SANDBOX_PATCH_RETRIES="1", SANDBOX_CYCLES="1")
        report, seconds = improved(binary, place.repository, place.work, *MODULES, "--seed", "1", variables=variables)
        kept = {patch["section"].partition(":")[2] for patch in report["patches"] if patch["state"] == "kept"}
        after = place.tree(report["run"])
        by_name = {defect["section"].partition(":")[2]: defect for defect in defects}
        wrong = [f"{name}: {said}" for name in sorted(kept) if (said := wrong_with(place.repository, after, by_name[name]))]
    rejected = {patch["section"].partition(":")[2]: reason(patch) for patch in report["patches"] if patch["state"] != "kept"}
    return {
        "right": len(RIGHT),
        "right_kept": len(kept & RIGHT.keys()),
        "right_not_kept": {name: rejected.get(name, "not proposed") for name in sorted(RIGHT.keys() - kept)},
        "wrong": len(WRONG),
        "wrong_kept": sorted(kept & WRONG.keys()),
        "wrong_not_asked": sorted(WRONG.keys() - asked),
        "kept_and_wrong_by_reference": wrong,
        "unusable": unusable,
        "seconds": seconds,
    }


def reason(patch: dict[str, Any]) -> str:
    failed = [f"{one['name']}: {one['figure']}" for one in patch["verdict"]["conditions"] if one["state"] == "fails"]
    return failed[0] if failed else "verification incomplete"
