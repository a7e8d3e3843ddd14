"""Numbers of turns, and paired ratios: two programs take turns, and what counts is the ratio of neighbours, because what the machine does meanwhile hits
both of them; two medians apart swing with it. Pairs of one start share its memory layout and are alike, so starts are resampled too."""

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
    """Whether two turns saw the same machine: all round trips of a cache line, before and after, within 20 %."""
    trips = [trip for turn in (first, second) for trip in turn["round_trip_ns"] if trip > 0]
    return not trips or max(trips) <= tolerance * min(trips)


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


class Pairs:
    """Ratios of two programs, by start, and how many were dropped."""

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
    """`count` times what the two functions give, (bare's, ours); who goes first changes each time."""
    for turn in range(count):
        if turn % 2 == 0:
            first = bare()
            yield first, ours()
        else:
            last = ours()
            yield bare(), last
