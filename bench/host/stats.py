"""Paired ratios. A pair is one turn of Sumac and one of a peer, milliseconds apart; its ratio is peer / Sumac, so more than 1
means that Sumac is faster. Pairs of one start share its memory layout and are alike, so starts are resampled as well."""

import random

from demolib.stats import median

SAMPLES = 1000
SEED = 20


def interval(groups, samples=SAMPLES):
    """95 % interval of the median of all values, by bootstrap: resample the starts, then the pairs within each."""
    groups = [group for group in groups if group]
    if sum(len(group) for group in groups) < 2:
        return None
    dice = random.Random(SEED)
    medians = sorted(
        median([value for group in dice.choices(groups, k=len(groups)) for value in dice.choices(group, k=len(group))])
        for _ in range(samples))
    return medians[int(0.025 * samples)], medians[min(samples - 1, int(0.975 * samples))]


def same_state(first, second, tolerance=1.2):
    """Whether two turns saw the same machine: all round trips of a cache line, before and after, within 20 %."""
    trips = [trip for turn in (first, second) for trip in turn["round_trip_ns"] if trip > 0]
    return not trips or max(trips) <= tolerance * min(trips)


class Pairs:
    """Ratios of one cell against one peer, by start, and how many were dropped."""

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


class Column:
    """The turns of one program in one cell."""

    def __init__(self):
        self.values, self.trips, self.failures = [], [], []

    @property
    def value(self):
        return median(self.values)


class Table:
    def __init__(self):
        self.columns, self.pairs = {}, {}

    def column(self, cell, program):
        return self.columns.setdefault((cell, program), Column())

    def pair(self, cell, peer):
        return self.pairs.setdefault((cell, peer), Pairs())

    def trip_ns(self, cell):
        """The median round trip of a cache line over all turns of a cell."""
        return median([trip for (name, _), column in self.columns.items() if name == cell for trip in column.trips])
