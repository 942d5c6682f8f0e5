"""Quantiles, and medians with the interval they may be in."""
import random
import statistics

RESAMPLES = 2000
SEED = 1  # fixed: the same values give the same interval
LEAST_VALUES = 5  # fewer give no interval, as in profiler/README.md


def quantile(values, q):
    """Between order statistics, as profiler/README.md has it."""
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def estimate(values):
    """The median and its 95 % percentile interval of a bootstrap; no values: no median."""
    if not values:
        return {"median": None, "ci95": None, "count": 0}
    found = {"median": statistics.median(values), "ci95": None, "count": len(values)}
    if len(values) >= LEAST_VALUES:
        generator = random.Random(SEED)
        medians = [statistics.median(generator.choices(values, k=len(values)))
                   for _ in range(RESAMPLES)]
        found["ci95"] = [quantile(medians, 0.025), quantile(medians, 0.975)]
    return found

