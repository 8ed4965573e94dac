"""Rates of the carriers, over HTTP."""

from __future__ import annotations

import asyncio
import json
import urllib.parse
import urllib.request
from typing import Dict, Mapping, Optional, Sequence, Tuple

from .money import Money


class ShippingError(Exception):
    """No carrier accepts the parcel, or none can be reached."""


def fetch_rates(base_url: str, country: str, grams: int, timeout: float = 3.0) -> Dict[str, Money]:
    """Ask a carrier for its rates, by service name.

    Raises:
        ShippingError: when the carrier's address is not a web address.
    """
    if not base_url.startswith(("http://", "https://")):
        raise ShippingError("the carrier's address must be http or https")
    query = urllib.parse.urlencode({"to": country, "grams": grams}, errors="replace")
    with urllib.request.urlopen(f"{base_url}/rates?{query}", timeout=timeout) as response:
        reply = json.loads(response.read())
    return {
        rate["service"]: Money(int(rate["cents"]), reply["currency"]) for rate in reply["rates"]
    }


def cheapest(rates: Mapping[str, Money]) -> Optional[Tuple[str, Money]]:
    """The service that costs least; the first by name among equals."""
    if not rates:
        return None
    return min(rates.items(), key=lambda item: (item[1].cents, item[0]))


async def compare(
    base_urls: Sequence[str], country: str, grams: int, patience: float = 4.0
) -> Dict[str, Dict[str, Money]]:
    """Ask several carriers concurrently; slow and failing ones are left out."""
    loop = asyncio.get_running_loop()

    async def ask(url: str) -> Dict[str, Money]:
        future = loop.run_in_executor(None, fetch_rates, url, country, grams)
        return await asyncio.wait_for(future, patience)

    answers = await asyncio.gather(*(ask(url) for url in base_urls), return_exceptions=True)
    return {url: rates for url, rates in zip(base_urls, answers) if isinstance(rates, dict)}
