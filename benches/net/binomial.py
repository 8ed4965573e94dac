"""Intervals of the binomial distribution."""

import math


def interval(trials: int, chance: float, confidence: float) -> tuple[int, int]:
    """Exact two-sided interval of the number of events."""
    tail = (1 - confidence) / 2
    return least(trials, chance, tail), trials - least(trials, 1 - chance, tail)


def least(trials: int, chance: float, tail: float) -> int:
    """Smallest count such that the probability of fewer events is at most `tail`."""
    below = 0.0
    for count in range(trials + 1):
        below += probability(trials, chance, count)
        if below > tail:
            return count
    return trials


def probability(trials: int, chance: float, count: int) -> float:
    """Probability of exactly this count, computed with the log-gamma function."""
    ways = math.lgamma(trials + 1) - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
    return math.exp(ways + count * math.log(chance) + (trials - count) * math.log1p(-chance))
