"""The runs of a comparison as rows: both medians, the median of the pairs' ratios, and its interval (bench/core/pairs.py)."""

import itertools

from core.pairs import Pairs, interval, median

# With fewer pairs no interval can be one of 95 %: the median lies outside all of n values with a probability of 2 / 2^n, which is 6.25 % of 5.
INTERVAL_PAIRS_LEAST = 6


class Row:
    """One size of one benchmark with one number of ranks. The number of a run is the median over its iterations of the mean over the ranks."""

    def __init__(self, key, measured):
        self.benchmark, self.ranks, self.bytes = key
        both = [(bare.rows[key], ours.rows[key]) for bare, ours in measured if key in bare.rows and key in ours.rows]
        self.mpi_us, self.sumac_us = [bare["median"] for bare, _ in both], [ours["median"] for _, ours in both]
        self.overlaps = [(bare.get("overlap"), ours.get("overlap")) for bare, ours in both]
        self.pairs = Pairs()
        for number, (bare, ours) in enumerate(both):
            # Each pair is a start of its own; a clock that saw no time gives no ratio.
            if ours["median"] > 0:
                self.pairs.add(number, bare["median"] / ours["median"])

    @property
    def mpi(self):
        return median(self.mpi_us)

    @property
    def sumac(self):
        return median(self.sumac_us)

    @property
    def ratio(self):
        return self.pairs.ratio

    @property
    def interval(self):
        return self.pairs.interval if len(self.pairs.values) >= INTERVAL_PAIRS_LEAST else None

    def overlap(self, side):
        values = [pair[side] for pair in self.overlaps]
        return median(values) if values and None not in values else None

    @staticmethod
    def spread(values):
        """The interval of the median of one side's runs, or None."""
        return interval([[value] for value in values]) if len(values) >= INTERVAL_PAIRS_LEAST else None


def size_text(size):
    for unit, power in (("G", 30), ("M", 20), ("K", 10)):
        if size >= 1 << power and size % (1 << power) == 0:
            return f"{size >> power}{unit}"
    return str(size)


def ranks_text(ranks):
    return f"{ranks} rank" if ranks == 1 else f"{ranks} ranks"


class Comparison:
    def __init__(self, title, pairs, measured):
        self.title, self.pairs, self.measured = title, pairs, measured
        keys = dict.fromkeys(key for bare, ours in measured for key in bare.rows if key in ours.rows)
        self.rows = [Row(key, measured) for key in keys]
        self.last_line = next((ours.last_line for _, ours in reversed(measured) if ours.last_line), "")
        self.stood_aside = sum(not ours.last_line for _, ours in measured)
        self.has_intervals = any(row.interval for row in self.rows)

    @property
    def warnings(self):
        """Why the numbers are not, or not all, what they look like. Each makes the exit status 1."""
        out = []
        if self.stood_aside:
            out.append(f"NO COMPARISON: in {self.stood_aside} of {self.pairs} runs with Sumac it printed no last line, so it may have stood aside")
        runs = [run.rows for pair in self.measured for run in pair]
        for key in dict.fromkeys(key for rows in runs for key in rows):
            having = sum(key in rows for rows in runs)
            if having < len(runs):
                out.append(f"{key[0]}, {ranks_text(key[1])}, {size_text(key[2])} bytes: only {having} of {len(runs)} runs have this row")
        return out

    def groups(self):
        """Yields ((benchmark, ranks), rows): a table, and a plot, each."""
        for group, rows in itertools.groupby(self.rows, key=lambda row: (row.benchmark, row.ranks)):
            yield group, list(rows)

    def lines(self):
        out = [f"# {self.title}: {self.pairs} pairs of runs, with Sumac and without in turns",
               "# Times: median of the runs, each the median of its iterations. MPI/Sumac: median of the pairs; above 1: Sumac is faster"]
        if self.pairs < INTERVAL_PAIRS_LEAST:
            out.append(f"# No interval: fewer than {INTERVAL_PAIRS_LEAST} pairs cannot give one of 95 %; see --pairs")
        out += [f"# {warning}" for warning in self.warnings]
        for (benchmark, ranks), rows in self.groups():
            overlaps = rows[0].overlap(0) is not None
            out += ["", f"# {benchmark}, {ranks_text(ranks)}" + (": the communication alone (Pure Comm.)" if overlaps else "")]
            head = f"{'# Size':<10}{'Sumac(us)':>14}{'MPI(us)':>14}{'MPI/Sumac':>12}{'95% interval':>18}"
            out.append(head + (f"{'Overlap(%)':>14}{'of MPI(%)':>12}" if overlaps else ""))
            for row in rows:
                low_high = f"{row.interval[0]:.3f}..{row.interval[1]:.3f}" if row.interval else "-"
                ratio = f"{row.ratio:.3f}" if row.ratio else "-"
                line = f"{size_text(row.bytes) if row.bytes else '-' if len(rows) == 1 else '0':<10}{row.sumac:>14.2f}{row.mpi:>14.2f}{ratio:>12}{low_high:>18}"
                out.append(line + (f"{row.overlap(1):>14.1f}{row.overlap(0):>12.1f}" if overlaps else ""))
        out += ["", *(f"# {line}" for line in [self.last_line, *self.warnings] if line)]
        return out

    def as_json(self, sides):
        rows = []
        for row in self.rows:
            entry = {"benchmark": row.benchmark, "ranks": row.ranks, "bytes": row.bytes, "unit": "us", "sumac": row.sumac, "mpi": row.mpi,
                     "ratio": row.ratio, "interval": row.interval, "runs": {"sumac": row.sumac_us, "mpi": row.mpi_us}}
            if row.overlap(0) is not None:
                entry["overlap_percent"] = {"sumac": row.overlap(1), "mpi": row.overlap(0)}
            rows.append(entry)
        raw = [{"pair": number, "first": "mpi" if number % 2 == 0 else "sumac", "sumac": list(ours.rows.values()), "mpi": list(bare.rows.values())}
               for number, (bare, ours) in enumerate(self.measured)]
        return {"title": self.title, "pairs": self.pairs, "commands": sides, "last_line": self.last_line, "stood_aside": self.stood_aside,
                "warnings": self.warnings, "rows": rows, "runs": raw}
