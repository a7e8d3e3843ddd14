"""Medians and paired ratios. Two programs alternate and the ratio of neighbours counts, because other load on the machine affects both
of them; two medians taken at different times vary with that load. Pairs of one start share its memory layout and are alike, so starts are
resampled too."""

import random

SAMPLES = 1000
SEED = 20


def median(values):
    values = sorted(values)
    if not values:
        return None
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def same_state(first, second, tolerance=1.2):
    """Returns whether two turns saw the machine in one state: all round trips of a cache line, before and after, lie within 20 %."""
    trips = [trip for turn in (first, second) for trip in turn["round_trip_ns"] if trip > 0]
    return not trips or max(trips) <= tolerance * min(trips)


def interval(groups, samples=SAMPLES):
    """Returns the 95 % interval of the median of all values, by bootstrap: it resamples the starts, then the pairs within each."""
    groups = [group for group in groups if group]
    if sum(len(group) for group in groups) < 2:
        return None
    dice = random.Random(SEED)
    medians = sorted(
        median([value for group in dice.choices(groups, k=len(groups)) for value in dice.choices(group, k=len(group))])
        for _ in range(samples))
    return medians[int(0.025 * samples)], medians[min(samples - 1, int(0.975 * samples))]


class Pairs:
    """The ratios of two programs, by start, and the number of dropped pairs."""

    def __init__(self):
        self.starts, self.dropped = {}, 0

    def add(self, start, ratio):
        self.starts.setdefault(start, []).append(ratio)

    @property
    def values(self):
        return [value for group in self.starts.values() for value in group]

    @property
    def ratio(self):
        return median(self.values)

    @property
    def interval(self):
        return interval(list(self.starts.values()))


def take_turns(count, bare, ours):
    """Yields (result of bare, result of ours) `count` times; the function that runs first alternates."""
    for turn in range(count):
        if turn % 2 == 0:
            first = bare()
            yield first, ours()
        else:
            last = ours()
            yield bare(), last
