#!/usr/bin/env python3
"""`make bench-torch`: PyTorch's collectives by Sumac beside gloo, inside this host and between hosts of an emulated fabric.

In each start the ranks are new processes, which have a group of each backend; the backends take turns in cycles, and a cycle gives
one pair. Cells whose interval holds the limit are measured again while there is time."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

# Behind PyTorch's folder: this one has a folder of the same name.
sys.path.append(str(Path(__file__).resolve().parents[1]))
from core import before as B  # noqa: E402
from core import bounds as limits  # noqa: E402
from core import verdict as V  # noqa: E402
from core.cells import Results  # noqa: E402
from core.table import entry, write  # noqa: E402
from core.verdict import complain  # noqa: E402

import between  # noqa: E402
import component  # noqa: E402
import measured  # noqa: E402
import plan as P  # noqa: E402
import report  # noqa: E402
import suite  # noqa: E402

STARTS, CYCLES, ROUNDS = 3, 6, 2
IDLE_S = 10
REPRODUCIBLE, TREE = "SUMAC_REPRODUCIBLE", "HCOLL_ENABLE_SHARP"


def cacheline_ns(build):
    """The round trip of a cache line just now; None if it cannot be measured."""
    done = subprocess.run([build / "bin" / "cacheline"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["cacheline_ns"] if done.returncode == 0 else None


def measure(cell, results, start, trips):
    """One start of a cell."""
    trips.setdefault(cell.name, []).append(cacheline_ns(measure.build))
    try:
        cycles, older = turns_of_both(cell, start)
        if cell.over_component is not None:
            results.cell(cell.name, P.COMPONENT).values.append(component.allreduce_us(measure.build, cell))
    except RuntimeError as failure:
        results.cell(cell.name, P.SUMAC).failures.append(str(failure))
        return
    for took in cycles:
        for name, value in took.items():
            results.cell(cell.name, name).values.append(value)
        results.pair(cell.name, P.GLOO).add(start, took[P.GLOO] / took[P.SUMAC])
    for ours, theirs in zip(cycles, older):
        results.cell(cell.name, B.COLUMN).values.append(theirs[P.SUMAC])
        results.pair(cell.name, B.COLUMN).add(start, theirs[P.SUMAC] / ours[P.SUMAC])


def turns_of_both(cell, start):
    """The cycles of a start with this build's package, and with the other build's (none if there is none). Which comes first alternates."""
    if not measure.before:
        return measured.turns(cell, CYCLES), []
    if start % 2:
        older = measured.turns_of(measure.before, cell, CYCLES)
        return measured.turns(cell, CYCLES), older
    return measured.turns(cell, CYCLES), measured.turns_of(measure.before, cell, CYCLES)


def collectives(cells, minutes):
    """Measures the cells, and those again whose interval holds the limit."""
    results, trips, end = Results(), {}, time.monotonic() + 60 * minutes
    for again in range(1 + ROUNDS):
        for cell in cells:
            pairs = results.pair(cell.name, P.GLOO)
            if again and (results.cell(cell.name, P.SUMAC).failures or not pairs.interval or not pairs.interval[0] < cell.faster <= pairs.interval[1]):
                continue
            for start in range(again * STARTS, (again + 1) * STARTS):
                if start == 0 or time.monotonic() < end:
                    measure(cell, results, start, trips)
            print(f"{cell.name}: {results.value(cell.name, P.SUMAC) or 0:.1f} us, gloo {results.value(cell.name, P.GLOO) or 0:.1f} us", flush=True)
    known = {name: [trip for trip in found if trip] for name, found in trips.items()}
    return [report.row(cell, results, sorted(known[cell.name])[len(known[cell.name]) // 2] if known[cell.name] else None) for cell in cells]


def other(case):
    """The entry of a case that is no collective."""
    if case == "c10d-suite":
        return suite.measure()
    if case.startswith("idle-cpu"):
        share = measured.idle_share(IDLE_S, case.endswith("waiting"))
        return report.limited(case, "share", share, P.IDLE_SHARE_MAX, ranks=2)
    if case.startswith("ddp-loss"):
        return ddp_loss(case, int(case[-2]))
    return reproducible_cost(case, next(cell for cell in P.cells() if cell.name == "allreduce-8B-2r"))


def ddp_loss(case, size):
    """Two runs on one host and one for each other placement, by messages and by a tree, must have equal bits, and be as near to gloo's as the
    limit says."""
    os.environ[REPRODUCIBLE] = "1"
    ours, again = measured.losses(P.SUMAC, "a" * size), measured.losses(P.SUMAC, "a" * size)
    failure = "two runs differ" if ours != again else None
    for hosts in P.PLACEMENTS[size]:
        for level in ("0", "3"):
            os.environ[TREE] = level
            if measured.losses(P.SUMAC, hosts) != ours:
                failure = failure or f"with ranks on hosts {hosts} and {TREE}={level} the losses differ from those on one host"
    del os.environ[TREE]
    del os.environ[REPRODUCIBLE]
    theirs = measured.losses(P.GLOO, "a" * size)
    apart = max(abs(one - two) / abs(two) for one, two in zip(ours, theirs))
    return report.limited(case, "ratio", apart, 0 if size == 2 else P.LOSS_MAX, failure, ranks=size)


def between_hosts(case, build, results):
    """Sumac beside gloo on lab hosts, and beside the case's bound, one operation alone or an earlier case of `results` where it has one."""
    if case.bound:
        bounds = limits.of_fabric(build / "bin" / "sumac", case.fabric)
        case = replace(case, limit_ms=limits.stream_ms(bounds, (case.bound,), case.bytes))
    try:
        took = between.measure(build, case, 280)
        for name, values in took.items():
            results.cell(case.name, name).values.extend(values)
        for turn, (ours, theirs) in enumerate(zip(took[P.SUMAC], took[P.GLOO])):
            results.pair(case.name, P.GLOO).add(turn, theirs / ours)
    except RuntimeError as failure:
        results.cell(case.name, P.SUMAC).failures.append(str(failure))
    return report.between(case, results)


def reproducible_cost(case, small):
    """The time with SUMAC_REPRODUCIBLE=1 by that without, in starts that take turns. It is reported."""
    cell = replace(small, name=case, bytes=P.SIZES[case.split("-")[-1]])
    took = {"0": [], "1": []}
    for start in range(2 * STARTS):
        for value in ("0", "1") if start % 2 == 0 else ("1", "0"):
            os.environ[REPRODUCIBLE] = value
            took[value].append(measured.alone(cell))
    del os.environ[REPRODUCIBLE]
    ratio = statistics.median(took["1"]) / statistics.median(took["0"])
    return entry(case, "ratio", ratio, {}, None, None, ranks=cell.ranks, bytes=cell.bytes, best_peer=None, ratio=None, ratio_interval=None,
                 cacheline_ns=None, failures={}, **V.keys(V.REPORTED, f"{ratio:.2f} x the time without", "reported"))


def main():
    """Measures, and writes the table."""
    parser = argparse.ArgumentParser(prog="bench-torch", description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=Path("build/dev"), help="build directory (default build/dev)")
    parser.add_argument("--out", type=Path, default=Path("build/torch.json"), help="the table goes there, as JSON and as .txt")
    parser.add_argument("--case", metavar="CASE,...", default="", help="these cases only; * stands for any part of a name")
    parser.add_argument("--before", metavar="BUILD", type=Path, help="another build directory: its package in turns with this one's inside "
                        "this host, and whether this one is slower")
    parser.add_argument("--minutes", type=float, default=20, help="no new start after so long (20)")
    parser.add_argument("--list", action="store_true", help="the names of the cases")
    arguments = parser.parse_args()
    try:
        names = P.names_of(arguments.case)
    except ValueError as wrong:
        sys.exit(f"bench-torch: {wrong}")
    if arguments.list:
        print("\n".join(names))
        return 0
    if len(os.sched_getaffinity(0)) < 2:
        sys.exit("bench-torch: this process may use one core only; the ranks need two")
    measure.build, measure.before = arguments.build, arguments.before and arguments.before.resolve()
    os.environ["SUMAC_HOME"] = str(arguments.build.resolve())  # A tree of the job's own is of this build.
    entries = collectives([cell for cell in P.cells() if cell.name in names], arguments.minutes)
    entries += [other(case) for case in P.OTHERS if case in names]
    results = Results()
    entries += [between_hosts(case, arguments.build, results) for case in P.BETWEEN if case.name in names]
    lines, status = report.table(entries), 0
    if measure.before:
        words, status = B.summary([one for one in entries if "before" in one])
        lines += ["", f"before: the package of {arguments.before}.", *words]
    write(arguments.out, entries, lines)
    print("\n" + "\n".join(lines))
    return max(complain(entries, lambda column: column != "sumac"), status)


if __name__ == "__main__":
    sys.exit(main())
