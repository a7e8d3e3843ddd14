"""Cells of one host: what each program took, and how often faster Sumac was than a peer. A pair is one turn of each, milliseconds
apart; its ratio is peer / Sumac, so more than 1 means that Sumac is faster."""

from demolib.pairs import Pairs
from demolib.stats import median


def same_state(first, second, tolerance=1.2):
    """Whether two turns saw the same machine: all round trips of a cache line, before and after, within 20 %."""
    trips = [trip for turn in (first, second) for trip in turn["round_trip_ns"] if trip > 0]
    return not trips or max(trips) <= tolerance * min(trips)


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
