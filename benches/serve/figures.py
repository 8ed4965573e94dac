"""Statistics of measurements."""

import math
from typing import Any


def percentile(values: list[float], share: float) -> float:
    """Nearest-rank percentile."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def spread(seconds: list[float]) -> dict[str, Any]:
    """Median and percentiles of times, in milliseconds."""
    if not seconds:
        return {"count": 0}
    shares = {"p50_ms": 0.5, "p90_ms": 0.9, "p99_ms": 0.99}
    found = {name: round(percentile(seconds, share) * 1e3, 3) for name, share in shares.items()}
    return {"count": len(seconds), **found, "max_ms": round(max(seconds) * 1e3, 3)}
