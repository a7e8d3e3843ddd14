"""Turns runs into cells. The number of one run or turn of a program is a median over iterations; a cell is the median of those numbers."""

from .pairs import Pairs, median


class Cell:
    """The numbers of one column of one case. A run with dropped frames is void; a run that failed has a message instead of a number."""

    def __init__(self):
        self.values = []
        self.trips = []  # Round trips of a cache line beside each value, in ns.
        self.void = 0
        self.failures = []

    @property
    def value(self):
        return median(self.values)

    @property
    def spread(self):
        return (min(self.values), max(self.values)) if self.values else None


class Results:
    """All cells, by case name and column."""

    def __init__(self):
        self.cells = {}
        self.pairs = {}  # (case name, column) -> Pairs of Sumac and that column, if the two alternate.
        self.rates = set()  # Names of the cases in which more is better.
        self.notes = {}  # case name -> column -> message, such as "not built yet".
        self.busy = {}  # fabric name -> text about other load on the machine, "" if there was none.
        self.interrupted = False
        self.left_out = 0  # Number of steps that were left out for lack of time.

    def any(self):
        return any(cell.values for cells in self.cells.values() for column, cell in cells.items() if column != "cacheline_ns")

    def of(self, case):
        """Returns {column: Cell} of a case, without the state of the machine."""
        return {column: cell for column, cell in self.cells.get(case, {}).items() if column != "cacheline_ns"}

    def cell(self, case, column):
        return self.cells.setdefault(case, {}).setdefault(column, Cell())

    def pair(self, case, column):
        return self.pairs.setdefault((case, column), Pairs())

    def value(self, case, column):
        return self.cells.get(case, {}).get(column, Cell()).value

    def trip_ns(self, case):
        """Returns the median round trip of a cache line over all turns of a case."""
        return median([trip for cell in self.of(case).values() for trip in cell.trips])

    def note(self, case, column, words):
        self.notes.setdefault(case, {})[column] = words

    def bare(self, case):
        """Returns the column of the better bare way; None if none ran."""
        values = {c: self.value(case, c) for c in self.of(case) if c.startswith("bare ") and self.value(case, c) is not None}
        best = max if case in self.rates else min
        return best(values, key=values.get) if values else None

    def fastest(self, case, columns):
        """Returns the column with the least time; None if none of them has a number."""
        values = {column: self.value(case, column) for column in columns if self.value(case, column) is not None}
        return min(values, key=values.get) if values else None
