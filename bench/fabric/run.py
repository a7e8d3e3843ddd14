#!/usr/bin/env python3
"""The table of `make bench-fabric`: the tree beside Open MPI, its best algorithm, MPICH and what the wires allow, case by case.

Most cases run in an emulated fabric (`sumac lab`) on this machine; all columns of a case take turns, a cell is the median of its
runs, and a run in which the fabric dropped a frame is void."""

import argparse
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from core import before, bounds  # noqa: E402
from core.clock import clock  # noqa: E402
from core.table import write  # noqa: E402
from demolib import cases as C  # noqa: E402
from demolib import report, running  # noqa: E402
from demolib.running import machine  # noqa: E402
from demolib.ways import Tools, sumac_environment  # noqa: E402
from fabric import table  # noqa: E402
from fabric.before import BeforeTools, with_before  # noqa: E402
from fabric.cases import CASES, FabricCase, with_bounds  # noqa: E402
from fabric.columns import columns  # noqa: E402

NEEDED = ("sumac", "sharp_am", "sharp_an", "sharpd", "collbench", "sharp-client", "sharp-memory", "baretree", "cacheline", "mpi-start")
NEEDED_BEFORE = ("sumac", "sharp_am", "sharp_an", "sharpd", "sharp-client", "sharp-memory")


class FabricForm(C.Form):
    """Every case brings its own number of runs and calls."""

    def runs_of(self, case):
        return 1 if self.name == "quick" else case.runs


def form_of(name):
    return FabricForm(**{**C.SHORT.__dict__, "name": name, "small": (200, 20), "large": (10, 5)})


def sized(cases, arguments):
    """The cases as this form takes them: the method's own numbers of calls with --full, few with --quick."""
    def one(case):
        runs = min(case.runs, arguments.runs or case.runs)
        peer_runs = min(case.peer_runs, runs)
        if arguments.full and case.kind in ("calls", "parts", "striped"):
            return {"iterations": (200, 20) if case.size <= 64 << 10 else (10, 5) if case.size <= 16 << 20 else (5, 5),
                    "peer_iterations": None, "runs": runs, "peer_runs": runs}
        if arguments.quick:
            # Processor time of few calls would be that of what is touched for the first time.
            few = case.iterations if case.pairs else (max(1, case.iterations[0] // 4), 1) if case.iterations else None
            return {"iterations": few, "peer_iterations": few and (1, 1), "runs": 1, "tuned": case.tuned[-1:],
                    "pairs": case.pairs and 3}
        return {"runs": runs, "peer_runs": peer_runs}
    return [FabricCase(**{**case.__dict__, **one(case)}) for case in cases]


def bounded(cases, tools):
    """The cases with the limits that depend on a method, which the tool computes."""
    sumac = tools.program("sumac")
    return [with_bounds(case, bounds.of_fabric(sumac, f"{case.fabric.name}.yaml")) if case.bound else case for case in cases]


def footnotes(started, results):
    env = " ".join(f"{name}={value}" for name, value in sumac_environment().items())
    return [
        "ms, but for counts and ratios; median of the runs (least..most), columns taking turns; every result was verified. / bare with "
        "an interval (95 %): the two took turns, and it is the median of their neighbours' ratios.",
        f"This machine: {machine(results)}; {clock(time.monotonic() - started)} min in all"
        + (", interrupted" if results.interrupted else "") + (f", {results.left_out} steps left out for time" if results.left_out else "")
        + ".",
        "payload limit: links up and down x delay, or bytes on the busiest link / rate; wire limit: with every header. bare: the same "
        "messages without MPI, sums, checks or copies.",
        "best tuned: the fastest of the Open MPI algorithms tried, by its number; after the first run only those near it go on. MPICH "
        "has no yield: reported, never the reference.",
        f"Sumac ran with {env}, and with what its case names.",
    ]


def main():
    parser = argparse.ArgumentParser(prog="bench-fabric", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", type=Path, default=Path("build/dev"), help="build directory (default build/dev)")
    parser.add_argument("--out", type=Path, default=Path("build/fabric.json"), help="the table goes there, as JSON and as .txt")
    parser.add_argument("--case", metavar="CASE,...", default="", help="these cases only, names or patterns as '*-500us'; --list names them")
    parser.add_argument("--before", metavar="BUILD", type=Path, help="another build directory: its component and daemons in turns with these, "
                        "and whether this build is slower")
    parser.add_argument("--runs", type=int, help="at most so many runs of each case (default: the case's own, 5 of most)")
    parser.add_argument("--minutes", type=float, default=40, help="in which all must be done: from the fourth run on runs are left out "
                        "rather than taking longer (default 40; not with --full)")
    parser.add_argument("--list", action="store_true", help="the cases, what they are held against, and what must hold")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="one run with few calls: a look, not a measurement")
    size.add_argument("--full", action="store_true", help="as many calls, and runs of the peers, as the method says (hours)")
    arguments = parser.parse_args()
    if arguments.list:
        for case in CASES:
            print(f"{case.name:28} {case.must:28} limit: {case.limit_why}")
        return 0
    if arguments.runs is not None and arguments.runs < 1:
        sys.exit(f"bench-fabric: --runs {arguments.runs}: at least 1")
    cases = sized(running.choose("bench-fabric", arguments.case, CASES), arguments)
    form = form_of("full" if arguments.full else "quick" if arguments.quick else "usual")
    tools, started = Tools(arguments.build), time.monotonic()
    running.need("bench-fabric", tools, arguments.build, NEEDED)
    cases = bounded(cases, tools)
    if arguments.before:
        tools.before = BeforeTools(arguments.before, tools)
        running.need("bench-fabric", tools.before, arguments.before, NEEDED_BEFORE)
    os.environ.setdefault("SUMAC_NODE_LOG_LEVEL", "3")  # nodes say what memory they will hold at most
    results = running.measure("bench-fabric", cases, form, with_before(columns) if arguments.before else columns, tools,
                              arguments.out.resolve().parent, keeps=True, budget_s=None if arguments.full else 60 * arguments.minutes)

    cases = [case if case.limit is not None else type(case)(**{**case.__dict__, "limit": results.value(case.name, "limit")})
             for case in cases]
    entries, notes, status = report.rows(cases, results), footnotes(started, results), 0
    if arguments.before:
        for entry in entries:
            entry.update(before.keys(results.pairs.get((entry["case"], before.COLUMN)), results.value(entry["case"], before.COLUMN)))
        words, status = before.summary(entries)
        notes += [f"before: the build in {arguments.before}.", *words]
    lines = table.table(cases, results, entries if arguments.before else None)
    write(arguments.out, entries, lines + [""] + [f"{note}  " for note in notes])
    print("\n" + "\n".join(lines) + "\n\n" + "\n".join(notes))
    return max(running.verdicts(entries), status, int(results.interrupted))


if __name__ == "__main__":
    sys.exit(main())
