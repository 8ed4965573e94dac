"""How many of so many happen by chance."""

import math


def interval(trials: int, chance: float, confidence: float) -> tuple[int, int]:
    """The exact two-sided interval: fewer happen with at most half of what the confidence leaves, and so do more."""
    tail = (1 - confidence) / 2
    return least(trials, chance, tail), trials - least(trials, 1 - chance, tail)


def least(trials: int, chance: float, tail: float) -> int:
    """The smallest count such that fewer happen with at most this probability."""
    below = 0.0
    for count in range(trials + 1):
        below += probability(trials, chance, count)
        if below > tail:
            return count
    return trials


def probability(trials: int, chance: float, count: int) -> float:
    """Of exactly this count; the logarithm of a factorial is that of the gamma function."""
    ways = math.lgamma(trials + 1) - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
    return math.exp(ways + count * math.log(chance) + (trials - count) * math.log1p(-chance))
