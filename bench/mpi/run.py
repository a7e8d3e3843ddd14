#!/usr/bin/env python3
"""`make bench-mpi`: six MPIs, each with the interposed library and without it, inside this host, and two of them among lab hosts.

For each MPI both programs are started together and take turns in pairs a few milliseconds apart, as in bench-host; cells whose
interval holds the limit are measured again while there is time."""

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from core import before  # noqa: E402
from core.cells import Results  # noqa: E402
from core.clock import clock as clock_text, end_as_by_ctrl_c  # noqa: E402
from core.stolen import Stolen  # noqa: E402
from core.table import write  # noqa: E402
from core.verdict import complain  # noqa: E402
from core import tally  # noqa: E402
from demolib.cases import OMPI_DEFAULT  # noqa: E402
from demolib.compiling import Absent  # noqa: E402
from host import measuring  # noqa: E402
from host.progress import Progress  # noqa: E402
from host.report import footnotes  # noqa: E402
from host.running import ProgramFailed, Running  # noqa: E402
from mpi import between, counted as counting, mpis, plan as P, report, suites  # noqa: E402

ROUNDS = 3  # Undecided cells are measured again so often.


def must_serve(program):
    """Raises Absent unless the collectives of this program go through the library."""
    try:
        with Running(program, 2, False, {}) as running:
            running.ask(P.Cell("barrier", "barrier"), measuring.TURN_S_MAX, 10)
            text = running.finish()
    except ProgramFailed as failure:
        raise Absent(f"{program.label}: {failure}") from failure
    found = tally.read(text)
    if found is None or found.part("shared memory").kinds.get("barrier", 0) < 10:
        raise Absent(f"{program.label}: the library served no barrier; it printed: {found.text if found else 'nothing'}")


def find_all(wanted, folder, build, older):
    """Returns ({MPI: Found}, {column: Program}, {MPI: why it is left out})."""
    found, programs, absent = {}, {}, {}
    for name in wanted:
        try:
            mpi = mpis.find(name, folder)
            columns = mpis.programs(name, mpi, folder, build, older)
            must_serve(columns[P.with_sumac(name)])
            found[name] = mpi
            programs.update(columns)
        except Absent as why:
            absent[name] = str(why)
            print(f"without {P.LABELS[name]}: {why}", flush=True)
    return found, programs, absent


def measure(groups, programs, results, clock):
    """Measures all groups, then those cells again that are still undecided."""
    measuring_all, started = measuring.Measuring(results, programs, clock), {}
    for turn in range(1 + ROUNDS):
        again = report.undecided(groups, results) if turn else groups
        progress = Progress(again, clock)
        for group in again:
            first = started.get(group.name, 0)
            if turn and clock.over():
                return
            took = measuring_all.group(group, progress, first)
            started[group.name] = first + group.starts
            cells = f" ({len(group.cells)} undecided cells again)" if turn else ""
            print(f"\r{group.name}{cells}: {clock_text(took)} min{'':<40}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="bench-mpi", description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=Path("build/dev"), help="build directory (default build/dev)")
    parser.add_argument("--out", type=Path, default=Path("build/mpi.json"), help="the table goes there, as JSON and as .txt")
    parser.add_argument("--peers", type=Path, default=Path("build/host-peers"), help="where MPIs are installed; bench-host has the same folder")
    parser.add_argument("--case", metavar="CASE,...", default="", help="these cases only; * stands for any part of a name")
    parser.add_argument("--before", metavar="BUILD", type=Path, help="another build directory: its library in turns with this one's, and "
                        "whether this one is slower")
    parser.add_argument("--without", metavar="MPI,...", default="", help="leave these MPIs out: " + ",".join(P.MPIS))
    parser.add_argument("--minutes", type=float, default=90, help="no new start after so long (90)")
    parser.add_argument("--list", action="store_true", help="the names of the cases")
    arguments = parser.parse_args()
    left_out = [name for name in arguments.without.split(",") if name]
    if unknown := set(left_out) - set(P.MPIS):
        sys.exit(f"bench-mpi: --without {','.join(sorted(unknown))}: the MPIs are {', '.join(P.MPIS)}")
    wanted = [name for name in P.MPIS if name not in left_out]
    try:
        names = P.names_of(arguments.case, P.groups(wanted), [*between.cases(wanted), *suites.cases(wanted), *counting.cases()])
    except ValueError as wrong:
        sys.exit(f"bench-mpi: {wrong}")
    if arguments.list:
        print("\n".join(names))
        return 0
    if len(os.sched_getaffinity(0)) < 2:
        sys.exit("bench-mpi: this process may use one core only; the pinned cells need two")
    wanted = P.wanted_for(names, wanted)
    end_as_by_ctrl_c()
    clock, results, stolen, absent, groups = measuring.Clock(arguments.minutes * 60), Results(), Stolen(), {}, []
    counted, hosts_table = [], []
    try:
        found, programs, absent = find_all(wanted, arguments.peers.resolve(), arguments.build, arguments.before)
        groups = P.choose(P.groups(list(found)), names)
        if arguments.before:
            groups = P.with_before(groups)
        measure(groups, programs, results, clock)
        entries, hosts_table = between.measure(names, found, arguments.build, arguments.out.resolve().parent, clock.budget_s - clock.elapsed)
        counted += entries
        suite = suites.Suites(found, arguments.build, arguments.peers.resolve(), clock)
        for case in names:
            if case in suites.cases(found):
                counted.append(suite.case(case))
            elif case in counting.cases():
                counted.append(counting.Counted(found, arguments.build, arguments.peers.resolve()).case(case))
    except KeyboardInterrupt:
        if not results.any() and not counted:
            sys.exit("\nbench-mpi: interrupted before anything was measured; nothing was written")
        results.interrupted = True
        print("\nbench-mpi: interrupted; what was measured until now is written", file=sys.stderr)
    entries = report.rows(groups, results, names) + counted
    lines = report.table(entries) + ["", *hosts_table] * bool(hosts_table) + [""] + footnotes(results, clock, {}, stolen) + [f"Without {P.LABELS[name]}: {why}." for name, why in absent.items()]
    status = 0
    if arguments.before:
        words, status = before.summary([entry for entry in entries if "before" in entry])
        lines += [f"before: the library of {arguments.before}.", *words]
    write(arguments.out, entries, lines)
    print("\n" + "\n".join(lines))
    return max(complain(entries, lambda column: column in (*P.LABELS.values(), OMPI_DEFAULT)), status, int(results.interrupted))


if __name__ == "__main__":
    sys.exit(main())
