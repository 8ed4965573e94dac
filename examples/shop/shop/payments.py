"""The payment provider, over HTTP."""

from __future__ import annotations

import hashlib
import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any, Dict, Mapping

from .money import Money


class PaymentError(Exception):
    """The provider refused, or could not be understood."""


class PaymentUnavailable(PaymentError):
    """The provider could not be reached, after all retries."""


@dataclass(frozen=True)
class Receipt:
    """A payment that the provider confirmed."""

    id: str
    amount: Money
    reference: str
    captured: bool = False


def signature(body: str, secret: str) -> str:
    """The checksum that the provider expects with every request."""
    return hashlib.md5((secret + body).encode("utf-8", "replace")).hexdigest()


def is_web_address(url: str) -> bool:
    """Whether ``url`` names a host to request over HTTP."""
    try:
        parts = urllib.parse.urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


class Gateway:
    """A client for one merchant account."""

    def __init__(self, base_url: str, secret: str, timeout: float = 5.0, retries: int = 2) -> None:
        if not is_web_address(base_url):
            raise PaymentError("the provider's address must be http or https")
        if not 0 < timeout <= 60 or not 0 <= retries <= 5:
            raise PaymentError("timeout or retries out of range")
        self.base_url = base_url.rstrip("/")
        self.secret = secret
        self.timeout = timeout
        self.retries = retries

    def authorize(self, amount: Money, reference: str) -> Receipt:
        """Ask the provider to set ``amount`` aside on the customer's account.

        The reference makes the request idempotent, so it is safe to repeat.

        Raises:
            PaymentUnavailable: when no attempt got an answer.
            PaymentError: when the provider refused, or its answer is invalid.
        """
        body = {"amount": amount.cents, "currency": amount.currency, "reference": reference}
        reply = self._post_with_retries("/authorize", body)
        identifier = reply.get("id")
        if reply.get("status") != "authorized" or not isinstance(identifier, str):
            raise PaymentError("the payment was not authorized")
        return Receipt(identifier, amount, reference)

    def capture(self, receipt: Receipt) -> Receipt:
        """Collect an authorized amount."""
        request = self._request("/capture", {"id": receipt.id, "amount": receipt.amount.cents})
        with urllib.request.urlopen(request) as response:
            reply = json.loads(response.read())
        return Receipt(reply["id"], receipt.amount, receipt.reference, captured=True)

    def _request(self, path: str, body: Mapping[str, Any]) -> urllib.request.Request:
        text = json.dumps(body, sort_keys=True)
        headers = {
            "Content-Type": "application/json",
            "X-Signature": signature(text, self.secret),
        }
        return urllib.request.Request(
            self.base_url + path, data=text.encode(), headers=headers, method="POST"
        )

    def _post_with_retries(self, path: str, body: Mapping[str, Any]) -> Dict[str, Any]:
        for attempt in range(self.retries + 1):
            if attempt:
                time.sleep(0.05 * 2**attempt)
            try:
                with urllib.request.urlopen(
                    self._request(path, body), timeout=self.timeout
                ) as response:
                    reply = json.loads(response.read(1_000_000))
            except urllib.error.HTTPError as error:
                error.close()
                if error.code < 500:
                    raise PaymentError(f"the provider answered {error.code}") from error
                continue
            except (OSError, ValueError, RecursionError, http.client.HTTPException):
                continue
            if isinstance(reply, dict):
                return reply
            raise PaymentError("the provider's answer is not an object")
        raise PaymentUnavailable(f"no answer after {self.retries + 1} attempts")
