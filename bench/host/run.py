#!/usr/bin/env python3
"""`make bench-host`: Sumac's shared memory against every MPI a person can install, inside this host.

All programs of a group are started together, pinned, and take turns in pairs (Sumac, a peer) a few milliseconds apart; a pair
whose two turns saw different machines (the round trip of a cache line differs by more than 20 %) is dropped and taken again."""

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
from host import measuring, plan as P, report  # noqa: E402
from host.programs import Absent, Program  # noqa: E402
from host.progress import Progress  # noqa: E402


PEER_LABELS = {P.LABELS[peer] for peer in (*P.PEERS, *P.BEFORE_OF.values())}


def programs_of(groups, build, folder, before=None):
    """{name: Program}, and {name: why not}."""
    names = dict.fromkeys(name for group in groups for name in (group.reference, *group.peers, *([P.BARE] if group.bare else [])))
    found, absent = {}, {}
    for name in names:
        try:
            found[name] = Program(name, build, folder, before)
        except Absent as why:
            absent[name] = str(why)
            print(f"without {P.LABELS[name]}: {why}", flush=True)
    return found, absent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=Path("build/dev"), help="build directory (default build/dev)")
    parser.add_argument("--out", type=Path, default=Path("build/host.json"), help="the table goes there, as JSON and as .txt")
    parser.add_argument("--peers", type=Path, default=Path("build/host-peers"), help="where the peers are installed")
    parser.add_argument("--case", metavar="CASE,...", default="", help="these cases only; * stands for any part of a name")
    parser.add_argument("--before", metavar="BUILD", type=Path, help="another build directory: its component in turns with this one's, and "
                        "whether this one is slower")
    parser.add_argument("--starts", type=int, help="starts of each group, instead of the plan's")
    parser.add_argument("--without", default="", help="leave these programs out: " + ",".join(P.PEERS))
    parser.add_argument("--minutes", type=float, default=20, help="no new start after so long (20)")
    arguments = parser.parse_args()

    cores = len(os.sched_getaffinity(0))
    every = P.groups(cores)
    if arguments.case.split(",")[0] == "cliffs":
        groups = P.cliffs(cores)
    else:
        try:
            groups = P.choose(every, arguments.case)
        except ValueError as wrong:
            sys.exit(f"bench-host: {wrong}")
    if cores < 2:
        sys.exit("bench-host: this process may use one core only; the pinned cells need two")
    left_out = set(arguments.without.split(","))
    groups = [P.Group(**{**group.__dict__, "peers": tuple(p for p in group.peers if p not in left_out),
                         "starts": arguments.starts or group.starts}) for group in groups]
    if arguments.before:
        groups = P.with_before(groups)
    end_as_by_ctrl_c()
    clock, results, stolen = measuring.Clock(arguments.minutes * 60), Results(), Stolen()
    try:
        programs, absent = programs_of(groups, arguments.build, arguments.peers.resolve(), arguments.before)
        measure, progress = measuring.Measuring(results, programs, clock), Progress(groups, clock)
        for group in groups:
            took = measure.group(group, progress)
            print(f"\r{group.name}: {clock_text(took)} min{'':<60}" if progress.tty else f"{group.name}: {took:.0f} s",
                  flush=True)
    except KeyboardInterrupt:
        if not results.any():
            sys.exit("\nbench-host: interrupted before anything was measured; nothing was written")
        results.interrupted = True
        print("\nbench-host: interrupted; what was measured until now is written", file=sys.stderr)
    entries = report.rows(groups, results, absent)
    lines = report.table(entries) + [""] + report.footnotes(results, clock, absent, stolen)
    status = 0
    if arguments.before:
        words, status = before.summary([entry for entry in entries if "before" in entry])
        lines += [f"before: the component of {arguments.before}.", *words]
    write(arguments.out, entries, lines)
    print("\n" + "\n".join(lines))
    return max(complain(entries, lambda column: column in PEER_LABELS), status, int(results.interrupted))


if __name__ == "__main__":
    sys.exit(main())
