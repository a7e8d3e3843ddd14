"""Measures the column of another build: our own columns alternate with the same in a lab of the other build's daemons."""

from core import before
from demolib.ways import NotBuilt, Tools, WayFailed


class BeforeTools(Tools):
    """The tools of the other build. collbench is this build's, because it only loads the component that is measured."""

    def __init__(self, build, current):
        super().__init__(build)
        self.current = current

    def program(self, name):
        return self.current.program(name) if name == "collbench" else super().program(name)


def times_as_long(case, ours, theirs):
    """Returns the ratio of this build's time to the other's; for a rate or a share, where more is better, the inverse ratio."""
    more_is_better = case.bare_share is not None or case.share_min is not None
    return theirs / ours if more_is_better else ours / theirs


class BesideBefore:
    """A column of ours and the same of the other build; the build that runs first alternates from pair to pair. A column that alternates with
    the bare program within a run does so pair by pair."""

    column = "sumac"

    def __init__(self, way):
        self.way, self.cases, self.rounds = way, way.cases, getattr(way, "pairs", None) or 1
        self.turn, self.notes, self.ratios, self.failures = 0, {}, {}, {}
        if hasattr(way, "pairs"):
            way.pairs = 1
        if hasattr(way, "guess_s"):
            self.guess_s = 2 * way.guess_s

    def theirs(self, lab, tools, seconds):
        """Returns {case name: number}, empty if the other build failed, which is no failure of ours."""
        try:
            numbers = self.way.run(lab.before, tools.before, seconds)
        except WayFailed as failure:
            self.failures = {(case.name, before.COLUMN): str(failure) for case in self.cases}
            return {}
        except NotBuilt as missing:
            self.notes = {(case.name, before.COLUMN): str(missing) for case in self.cases}
            return {}
        return {case: value for (case, column), value in numbers.items() if column == "sumac"}

    def pair(self, lab, tools, seconds):
        """Returns (numbers of this build, numbers of the other build)."""
        self.turn += 1
        theirs = self.theirs(lab, tools, seconds) if self.turn % 2 else None
        ours = self.way.run(lab, tools, seconds)
        self.notes.update(getattr(self.way, "notes", {}))
        for key, ratios in getattr(self.way, "ratios", {}).items():
            self.ratios[key] = self.ratios.get(key, []) + ratios
        return ours, self.theirs(lab, tools, seconds) if theirs is None else theirs

    def run(self, lab, tools, seconds):
        self.ratios, self.failures, self.notes, out = {}, {}, {}, {}
        for _ in range(self.rounds):
            ours, theirs = self.pair(lab, tools, seconds / 2 / self.rounds)
            for key, value in ours.items():
                out[key] = out.get(key, []) + one_or_more(value)
            for case in self.cases:
                if case.name not in theirs or (case.name, "sumac") not in ours:
                    continue
                other, mine = one_or_more(theirs[case.name]), one_or_more(ours[case.name, "sumac"])
                out[case.name, before.COLUMN] = out.get((case.name, before.COLUMN), []) + other
                self.ratios.setdefault((case.name, before.COLUMN), []).extend(times_as_long(case, *both) for both in zip(mine, other))
        return out


def one_or_more(value):
    return value if isinstance(value, list) else [value]


def with_before(columns):
    """Returns the same columns, each of ours together with the other build's."""
    return lambda cases, form: [BesideBefore(way) if way.column == "sumac" else way for way in columns(cases, form)]
