"""The dialects of CSV that the old shop system wrote over the years."""

from __future__ import annotations

import csv
from typing import Dict, Iterator

DELIMITERS = (";", "\t", ",", "|")


class LegacyFormatError(ValueError):
    """An export that does not look like one."""


def guess_delimiter(header: str) -> str:
    """The delimiter that occurs most often in the header line."""
    return max(DELIMITERS, key=header.count)


def strip_preamble(text: str) -> str:
    """The text without byte-order mark and comment lines."""
    lines = text.lstrip("\ufeff").splitlines()
    return "\n".join(line for line in lines if line.strip() and not line.startswith("#"))


def read_rows(text: str) -> Iterator[Dict[str, str]]:
    """The rows of an export by column name, in capitals.

    Raises:
        LegacyFormatError: when a field is larger than the old system allowed.
    """
    body = strip_preamble(text)
    if not body:
        return
    header, *lines = body.split("\n")
    delimiter = guess_delimiter(header)
    columns = [name.strip().strip('"').upper() for name in header.split(delimiter)]
    try:
        for fields in csv.reader(lines, delimiter=delimiter):
            yield dict(zip(columns, fields))
    except csv.Error as error:
        raise LegacyFormatError("not a readable export") from error
