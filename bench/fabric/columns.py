"""How each column of a case is run in the lab. A way serves the cases of a group with one start and gives back numbers."""

import re

from core.pairs import take_turns
from demolib import cases as C
from core import tally
from demolib.ways import (Bare, Mpi, Tools, WayFailed, lib_flags, parse_results, run_mpi, take)

from . import local, mpich, overlap, start
from .cases import pipeline_ms

BOTH_WAITS = ("spin", "epoll")
# Open MPI's rings, by their numbers: the only algorithms that move no more than a ring does.
RING = {"reduce_scatter": ("Open MPI reduce_scatter 2", "coll_tuned_reduce_scatter_algorithm", "2"),
        "allgather": ("Open MPI allgather 4", "coll_tuned_allgather_algorithm", "4")}


class Peer(Mpi):
    """A way that takes part in fewer runs and has its own number of iterations; `races`: only while it is near the best."""

    def __init__(self, column, cases, form, races=False, **more):
        short = [with_iterations(case, case.peer_iterations or case.iterations) for case in cases]
        super().__init__(column, short, form, **more)
        self.runs, self.races = cases[0].peer_runs, races


def with_iterations(case, iterations):
    return type(case)(**{**case.__dict__, "iterations": iterations})


def tuned_ways(cases, form):
    for tuned in cases[0].tuned:
        served = [case for case in cases if tuned.serves(case.collective)]
        if served:
            yield Peer(tuned.peer(served[0].collective), served, form, races=True, flags=lambda _, t=tuned: t.flags(),
                       peers=tuned.peer)


def sumac_by_mpi(cases, form):
    more = cases[0].environment
    return Mpi("sumac", cases, form, flags=lambda tools: Tools.sumac_flags(tools, more))


def sumac_ways(cases, form, library_only=False):
    more = cases[0].environment
    library = Mpi("sumac" if library_only else "sumac-lib", cases, form, program="sharp-client",
                  flags=lambda tools: lib_flags(tools, more))
    if library_only:
        return [library]
    return [library, sumac_by_mpi(cases, form)]


def calls(cases, form):
    out = [Bare(wait, cases, form) for wait in (BOTH_WAITS if cases[0].size <= 64 << 10 else ("epoll",))]
    out.append(Peer(C.OMPI_DEFAULT, cases, form))
    out += tuned_ways(cases, form)
    if cases[0].mpich:
        out.append(mpich.Mpich(cases, form))
    return out + (sumac_ways(cases, form) if cases[0].library else [sumac_by_mpi(cases, form)])


def rows(cases, form):
    return [Peer(C.OMPI_DEFAULT, cases, form), *tuned_ways(cases, form), mpich.Mpich(cases, form), sumac_by_mpi(cases, form)]


class Together(Mpi):
    """Each case, and one of its operations alone (as "bare") in the same start."""

    def run(self, lab, tools, seconds):
        alone = [type(case)(**{**case.__dict__, "collective": C.base_of(case.collective)}) for case in self.cases]
        texts = dict.fromkeys(C.program_case(case, self.form) for case in (*alone, *self.cases))
        out, _ = run_mpi(lab, self.cases[0].fabric.hosts, self.flags(tools),
                         [tools.program(self.program), *(word for text in texts for word in ("--case", text))], seconds)
        found = parse_results(out, self.program)
        numbers, single = take(found, self.cases), take(found, alone)
        return {(name, column): value for name in numbers for column, value in ((self.column, numbers[name]), ("bare one", single[name]))}


def together(cases, form):
    return [Peer(C.OMPI_DEFAULT, cases, form), mpich.Mpich(cases, form),
            Together("sumac", cases, form, flags=lambda tools: Tools.sumac_flags(tools, cases[0].environment))]


def parts(cases, form):
    """Open MPI's component of ours leaves these two to the next module: it is the library that is measured."""
    column, parameter, number = RING[cases[0].collective]
    flags = ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", parameter, number]
    return [Peer(C.OMPI_DEFAULT, cases, form), Peer(column, cases, form, flags=lambda _: flags), mpich.Mpich(cases, form),
            *sumac_ways(cases, form, library_only=True)]


class OrRefused(Mpi):
    """Striped over several trees; or the library says beforehand that the trees would lose, and why."""

    def run(self, lab, tools, seconds):
        numbers = super().run(lab, tools, seconds)
        found = tally.read(getattr(self, "summary", "") or "")
        if found and found.part("tree").count == 0 and found.part("next module").why:
            self.notes = {(self.cases[0].name, "refused"): found.part("next module").why}
        return numbers


def striped(cases, form):
    more = cases[0].environment + (("SUMAC_EXPLAIN", "1"),)
    return [Peer(C.OMPI_DEFAULT, cases, form), *tuned_ways(cases, form),
            Mpi("sumac-lib", cases, form, program="sharp-client", flags=lambda tools: lib_flags(tools, cases[0].environment)),
            OrRefused("sumac", cases, form, flags=lambda tools: Tools.sumac_flags(tools, more))]


# The library says at level 3 what group 0 was granted: "quota: ( osts:2 user_data_per_ost:128 )".
GROUP_QUOTA = re.compile(r"group id: \S+ tree idx:.*quota: \( osts:(\d+) user_data_per_ost:(\d+) \)")


class Pipeline:
    """The same 2 KiB in 16 fragments of 128 B, 2 in flight, and in 8 of 256 B, 8 in flight; both within one step."""

    WAYS = ((128, 2, (("SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST", "128"), ("SHARP_COLL_JOB_QUOTA_OSTS", "2"),
                      ("SHARP_COLL_JOB_QUOTA_MAX_GROUPS", "1"))),
            (256, 8, (("SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST", "256"), ("SHARP_COLL_JOB_QUOTA_OSTS", "128"),
                      ("SHARP_COLL_JOB_QUOTA_MAX_GROUPS", "16"))))
    COMMON = (("SHARP_COLL_ENABLE_SAT", "0"), ("SHARP_COLL_LOG_LEVEL", "3"))

    def __init__(self, column, cases, form):
        self.column, self.cases, self.form = column, cases, form
        self.guess_s = 15.0

    def run(self, lab, tools, seconds):
        case, took = self.cases[0], []
        for payload, osts, more in self.WAYS:
            text = C.program_case(case, self.form)
            out, err = run_mpi(lab, case.fabric.hosts, lib_flags(tools, more + self.COMMON),
                               [tools.program("sharp-client"), "--case", text], seconds)
            granted = GROUP_QUOTA.search(err) or GROUP_QUOTA.search(out)
            if granted is None or granted.groups() != (str(osts), str(payload)):
                raise WayFailed(f"asked for {osts} OSTs of {payload} B, granted {granted.groups() if granted else 'nobody says what'}")
            entry = parse_results(out, "sharp-client").get((case.collective, case.size))
            if entry is None or entry["errors"]:
                raise WayFailed(f"{osts} OSTs of {payload} B: no or wrong results")
            took.append(entry["median"])
            print(f"{case.size // payload} fragments, {osts} in flight: {entry['median']:.1f} ms, predicted "
                  f"{pipeline_ms(case.size // payload, osts, 20.0):.0f};", end=" ", flush=True)
        return {(case.name, self.column): took[0] / took[1]}


def pipeline(cases, form):
    return [Pipeline("sumac", cases, form)]


class InTurns:
    """A bare way and ours in turns within one run: cells get the numbers of all turns, the verdict the ratios of neighbours."""

    def __init__(self, bare, ours, pairs):
        self.column, self.cases, self.bare, self.ours, self.pairs = ours.column, ours.cases, bare, ours, pairs
        self.guess_s = 10.0 * pairs

    def run(self, lab, tools, seconds):
        (case,), each = self.cases, seconds / self.pairs

        def number(way):
            return lambda: way.run(lab, tools, each)[case.name, way.column]

        found = list(take_turns(self.pairs, number(self.bare), number(self.ours)))
        self.ratios = {(case.name, "bare"): [ours / bare for bare, ours in found]}
        return {(case.name, self.bare.column): [bare for bare, _ in found], (case.name, self.column): [ours for _, ours in found]}


def client_cpu(cases, form):
    """The bare program that sleeps at once: looking first only takes processor time."""
    (ours,) = sumac_ways(cases, form, library_only=True)
    return [InTurns(Bare("epoll", cases, form), ours, cases[0].pairs)]


def hidden(cases, form):
    more = cases[0].environment
    return [overlap.Overlap(C.OMPI_DEFAULT, cases, lambda tools: [], runs=cases[0].peer_runs),
            overlap.Overlap("sumac", cases, lambda tools: Tools.sumac_flags(tools, more))]


def node(cases, form):
    return [local.Node(case) for case in cases]


def memory(cases, form):
    return [local.Memory(cases)]


def starts(cases, form):
    return [start.Start(case) for case in cases]


def run_starts(cases, form):
    return [start.RunStart(case) for case in cases]


KINDS = {"calls": calls, "rows": rows, "together": together, "parts": parts, "striped": striped, "pipeline": pipeline, "client-cpu": client_cpu, "overlap": hidden,
         "node": node, "memory": memory, "start": starts, "start-run": run_starts}


def columns(cases, form):
    return KINDS[cases[0].kind](cases, form)
