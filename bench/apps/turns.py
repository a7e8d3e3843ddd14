"""One turn of a case: the program without Sumac, with Open MPI's best tuned algorithms and with Sumac, one behind the other.

The first turn also looks: which algorithms are the best, how much of the time collectives take, and whether the bits are the same."""

from demolib import cases as C
from core import tally
from demolib import profile
from demolib.compiling import Absent
from demolib.ways import NotBuilt, WayFailed

from . import inputs, reading
from .places import Host, Start

RUN_S = 60.0  # One run takes at most so long.
PLAIN, TUNED, SUMAC = C.OMPI_DEFAULT, "Open MPI best tuned", "sumac"
TUNINGS = (C.Tuned(allreduce=1, barrier=1, bcast=1, reduce=1), C.Tuned(allreduce=3, barrier=4, bcast=6, reduce=5), C.Tuned(allreduce=2, barrier=6))
# With all of these left to the next module, a profile says how long Open MPI's own collectives take.
LEFT = {f"HCOLL_ML_DISABLE_{kind}": "1" for kind in (
    "BARRIER", "ALLREDUCE", "REDUCE", "BCAST", "ALLGATHER", "ALLGATHERV", "ALLTOALL", "ALLTOALLV", "REDUCE_SCATTER_BLOCK", "GATHER", "GATHERV",
    "SCATTER", "SCATTERV")}


def tuning_text(tuning):
    return ", ".join(f"{name} {value}" for name in ("allreduce", "barrier", "bcast", "reduce") if (value := getattr(tuning, name)) is not None)


class Turn:
    """A way of bench/demolib's runner whose every run is one turn."""

    column, guess_s = SUMAC, 40.0

    def __init__(self, case, folder, quick=False, limit_s=RUN_S):
        self.cases, self.case, self.folder, self.quick, self.limit_s = [case], case, folder / case.name, quick, limit_s
        self.argv, self.turn = None, 0
        self.tuning, self.share, self.share_sumac, self.tally, self.same_bits = None, None, None, None, None
        self.ratios, self.failures = {}, {}

    def run(self, lab, tools, _seconds):
        self.ratios, self.failures = {}, {}
        if self.argv is None:
            try:
                self.prepare()
            except Absent as absent:
                raise NotBuilt(str(absent)) from absent
        if self.turn == 0:
            self.look(lab, tools)
        columns = [PLAIN, *([TUNED] if self.tuning else []), SUMAC]
        at = self.turn % len(columns)
        self.turn += 1
        found = {}
        for column in columns[at:] + columns[:at]:
            try:
                found[column] = self.timed(lab, tools, column)
            except WayFailed as failure:
                self.fail(column, str(failure))
        return self.filed(found)

    def prepare(self):
        app = self.case.app
        self.folder.mkdir(parents=True, exist_ok=True)
        program = app.program.find(self.folder.parent / "programs")
        prepared = inputs.empty(self.folder / "prepared")
        self.size = app.size(self.case.place.name)
        if app.prepare:
            app.prepare(prepared, self.case.place.ranks, self.size)
        self.argv = [*program, *app.words]

    def fail(self, column, words):
        self.failures[self.case.name, column] = words
        print(f"{column} FAILED: {words};", end=" ", flush=True)

    def start(self, lab, tools, column, mca=(), variables=None, place=None, more_words=()):
        """Runs the program once in a folder of its own. Returns (output, all that it wrote for people)."""
        app, place = self.case.app, place or self.case.place
        folder = inputs.fresh(self.folder / "run", self.folder / "prepared")
        words = {**self.size, "folder": folder, "backend": "sumac" if column == SUMAC else "gloo", "where": "lab" if place.fabric.root else "host"}
        argv = [str(word).format(**words) for word in (*self.argv, *more_words)]
        more = {**app.variables, **({"PYTHONPATH": str(tools.build / "python")} if app.torch else {}), **(variables or {})}
        output = place.run(lab, tools, Start(argv, folder, self.limit_s, mca, more, column == SUMAC and not app.torch, self.case.place.ranks))
        return output, output.out + ((folder / app.reads).read_text() if app.reads else "")

    def timed(self, lab, tools, column):
        """Returns (seconds, lines of results)."""
        app = self.case.app
        output, text = self.start(lab, tools, column, tuple(self.tuning.flags()) if column == TUNED else ())
        seconds = reading.seconds(app.seconds, text, app.clock) if app.seconds else output.wall
        if column == SUMAC:
            self.tally = tally.read(output.err) or self.tally
        print(f"{column.removeprefix('Open MPI ')} {seconds:.2f} s;", end=" ", flush=True)
        return seconds, reading.found(app.results, text, "result")

    def filed(self, found):
        """Compares the results, and files the ratios of columns whose results are right."""
        app, case = self.case.app, self.case
        if PLAIN in found:
            for column in [column for column in found if column != PLAIN]:
                if wrong := reading.difference(found[column][1], found[PLAIN][1], app.tolerance, app.floor):
                    self.fail(column, f"another result: {wrong}")
                    del found[column]
        if SUMAC in found:
            self.ratios = {(case.name, column): [seconds / found[SUMAC][0]] for column, (seconds, _) in found.items() if column != SUMAC}
        return {(case.name, column): seconds for column, (seconds, _) in found.items()}

    # The first look.

    def look(self, lab, tools):
        if self.case.app.torch:
            return
        print("looks:", end=" ", flush=True)
        try:
            self.share = self.profiled(lab, tools, LEFT)
            if not self.quick:
                self.tuning = self.best_tuning(lab, tools)
                self.share_sumac = self.profiled(lab, tools, {})
            self.same_bits = self.compare_bits(lab, tools) if self.case.app.shows_bits else None
        except WayFailed as failure:
            self.fail(SUMAC, f"in the first look: {failure}")
        print(f"collectives {percent(self.share)}{'' if self.quick else f', with Sumac {percent(self.share_sumac)}'}"
              f"{'' if self.same_bits is None else ', same bits' if self.same_bits else ''}; in turns:", end=" ", flush=True)

    def best_tuning(self, lab, tools):
        seconds = {}
        for tuning in TUNINGS:
            self.tuning = tuning
            try:
                seconds[tuning] = self.timed(lab, tools, TUNED)[0]
            except WayFailed as failure:
                print(f"{tuning_text(tuning)}: {failure};", end=" ", flush=True)
        return min(seconds, key=seconds.get) if seconds else None

    def profiled(self, lab, tools, more):
        """Returns the share of the ranks' time that collectives take."""
        output, _ = self.start(lab, tools, SUMAC, variables={"SUMAC_PROFILE": "1", **more})
        found = profile.read(output.err)
        return found.share / 100 if found else None

    def compare_bits(self, lab, tools):
        """Returns whether two runs with SUMAC_REPRODUCIBLE=1 have the same bits; of a lab's hosts the second run is on this host, with as many
        ranks."""
        own = self.case.place
        first, second = (self.bits(lab, tools, place) for place in (own, Host("alone", own.ranks) if own.fabric.root else own))
        if first != second:
            self.fail(SUMAC, "other bits in the second run with SUMAC_REPRODUCIBLE=1")
        return first == second

    def bits(self, lab, tools, place):
        app = self.case.app
        _, text = self.start(lab, tools, SUMAC, variables={"SUMAC_REPRODUCIBLE": "1"}, place=place, more_words=app.bits_words)
        return reading.bits(app, text, self.folder / "run")


def percent(share):
    return "?" if share is None else f"{100 * share:.0f} %"


class Turns:
    """Makes the turns of all cases, each once: a case that is measured again goes on where it was."""

    def __init__(self, folder, quick=False, limit_s=RUN_S):
        self.folder, self.quick, self.limit_s, self.made = folder, quick, limit_s, {}

    def of(self, case):
        if case.name not in self.made:
            self.made[case.name] = Turn(case, self.folder, self.quick, self.limit_s)
        return self.made[case.name]

    def __call__(self, cases, _form):
        return [self.of(case) for case in cases]
