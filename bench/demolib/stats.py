"""From runs to cells. A run is the median over iterations (the program's), a cell the median of runs."""


def median(values):
    values = sorted(values)
    if not values:
        return None
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


class Cell:
    """One column of one case: a number per run; a run with drops is void, a run that failed has words instead."""

    def __init__(self):
        self.values = []
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
        self.rates = set()  # names of the cases where more is better
        self.pairs = {}  # case name -> demolib.pairs.Pairs of Sumac / bare, where these two take turns
        self.notes = {}  # case name -> column -> words, e.g. "not built yet"
        self.busy = {}  # fabric name -> what else used the machine meanwhile, "" if nothing did
        self.interrupted = False
        self.left_out = 0  # steps, for lack of time

    def any(self):
        return any(cell.values for cells in self.cells.values() for column, cell in cells.items() if column != "cacheline_ns")

    def cell(self, case, column):
        return self.cells.setdefault(case, {}).setdefault(column, Cell())

    def value(self, case, column):
        return self.cells.get(case, {}).get(column, Cell()).value

    def note(self, case, column, words):
        self.notes.setdefault(case, {})[column] = words

    def bare(self, case):
        """The better way of waiting, as a column name; None if neither ran."""
        values = {c: self.value(case, c) for c in ("bare spin", "bare epoll") if self.value(case, c) is not None}
        best = max if case in self.rates else min
        return best(values, key=values.get) if values else None

    def best_tuned(self, case):
        """The fastest of the tuned algorithms, as a column name; None if none ran."""
        from .cases import OMPI_DEFAULT
        values = {c: cell.value for c, cell in self.cells.get(case, {}).items()
                  if c.startswith("Open MPI ") and c != OMPI_DEFAULT and cell.value is not None}
        return min(values, key=values.get) if values else None
