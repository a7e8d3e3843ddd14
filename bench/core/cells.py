"""From turns and runs to cells. What one program gives at once (a run, a turn) is a median over iterations; a cell is the median of those."""

from .pairs import Pairs, median


class Cell:
    """One column of one case: its numbers; a run with drops is void, a run that failed has words instead."""

    def __init__(self):
        self.values = []
        self.trips = []  # round trips of a cache line beside them, in ns
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
        self.pairs = {}  # (case name, column) -> Pairs of Sumac and that column, where the two take turns
        self.rates = set()  # names of the cases where more is better
        self.notes = {}  # case name -> column -> words, e.g. "not built yet"
        self.busy = {}  # fabric name -> what else used the machine meanwhile, "" if nothing did
        self.interrupted = False
        self.left_out = 0  # steps, for lack of time

    def any(self):
        return any(cell.values for cells in self.cells.values() for column, cell in cells.items() if column != "cacheline_ns")

    def of(self, case):
        """{column: Cell} of a case, without the state of the machine."""
        return {column: cell for column, cell in self.cells.get(case, {}).items() if column != "cacheline_ns"}

    def cell(self, case, column):
        return self.cells.setdefault(case, {}).setdefault(column, Cell())

    def pair(self, case, column):
        return self.pairs.setdefault((case, column), Pairs())

    def value(self, case, column):
        return self.cells.get(case, {}).get(column, Cell()).value

    def trip_ns(self, case):
        """The median round trip of a cache line over all turns of a case."""
        return median([trip for cell in self.of(case).values() for trip in cell.trips])

    def note(self, case, column, words):
        self.notes.setdefault(case, {})[column] = words

    def bare(self, case):
        """The better way of waiting, as a column name; None if neither ran."""
        values = {c: self.value(case, c) for c in ("bare spin", "bare epoll") if self.value(case, c) is not None}
        best = max if case in self.rates else min
        return best(values, key=values.get) if values else None

    def fastest(self, case, columns):
        """The column with the least time; None if none of them has a number."""
        values = {column: self.value(case, column) for column in columns if self.value(case, column) is not None}
        return min(values, key=values.get) if values else None
