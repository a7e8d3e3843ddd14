#!/usr/bin/env python3
"""Times real programs: unmodified, without Sumac, with Open MPI's best tuned algorithms and with Sumac, in turns.

They run on this host with 2 and 4 ranks, and among 16 hosts of an emulated fabric. Results are compared in each turn."""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from apps import picture, report  # noqa: E402
from apps.cases import CASES, Form  # noqa: E402
from apps.turns import RUN_S, Turns  # noqa: E402
from core.clock import clock  # noqa: E402
from core.table import write  # noqa: E402
from demolib import running  # noqa: E402
from demolib.ways import Tools  # noqa: E402

NEEDED = ("sumac", "sharp_am", "sharp_an", "sharpd", "cacheline")
PAIRS, ROUNDS = 7, 2  # Open cases are measured again so often.


def chosen(program, place):
    """Returns the cases of these programs at these places; both are names or patterns with commas between them, or nothing."""
    own = running.choose("bench-apps --app", program, [Named(name) for name in dict.fromkeys(case.app.name for case in CASES)])
    where = running.choose("bench-apps --place", place, [Named(name) for name in dict.fromkeys(case.place.name for case in CASES)])
    names = {one.name for one in own}, {one.name for one in where}
    return [case for case in CASES if case.app.name in names[0] and case.place.name in names[1]]


class Named:
    def __init__(self, name):
        self.name = name


def measure(cases, arguments, turns, tools):
    """Measures all cases, then those again that are still open and for which there is time."""
    until = time.monotonic() + 60 * arguments.minutes
    form, folder = Form("quick" if arguments.quick else "usual", 1 if arguments.quick else arguments.pairs), arguments.out.resolve().parent
    results = running.measure("bench-apps", cases, form, turns, tools, folder, keeps=True, budget_s=60 * arguments.minutes)
    for _ in range(0 if arguments.quick else ROUNDS):
        still = [case for case in cases if report.is_open(case, results)]
        left_s = until - time.monotonic()
        if not still or results.interrupted or left_s <= 0:
            break
        print(f"{len(still)} open cases again", flush=True)
        running.measure("bench-apps", still, form, turns, tools, folder, keeps=True, budget_s=left_s, enough=0, results=results)
    return results


def footnotes(results, seconds):
    return [
        "Seconds of one run, by the program's own clock where it has one; median. Open MPI / Sumac: the median of the ratios of neighbours in turns.",
        "collectives: the share of the ranks' time without Sumac, by SUMAC_PROFILE with every call left to Open MPI. Results were compared in each turn.",
        f"This machine: {running.machine(results)}; {clock(seconds)} min in all{', interrupted' if results.interrupted else ''}"
        + (f", {results.left_out} turns left out for time." if results.left_out else "."),
    ]


def main():
    parser = argparse.ArgumentParser(prog="bench-apps", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", type=Path, default=Path("build/dev"), help="build directory (default build/dev)")
    parser.add_argument("--out", type=Path, default=Path("build/apps.json"), help="the table goes there, as JSON, .txt and .svg")
    parser.add_argument("--app", metavar="APP,...", default="", help="these programs only, names or patterns as 'petsc-*'; --list names them")
    parser.add_argument("--place", metavar="PLACE,...", default="", help="at these places only: 2r, 4r, 16h-500us, 16h-5ms")
    parser.add_argument("--pairs", type=int, default=PAIRS, help=f"turns of each case (default {PAIRS})")
    parser.add_argument("--minutes", type=float, default=240, help="in which all must be done: from the fourth turn on turns are left out rather than "
                        "taking longer (default 240)")
    parser.add_argument("--seconds", type=float, default=RUN_S, help=f"the most that one run may take (default {RUN_S:.0f}); more where the machine is busy")
    parser.add_argument("--list", action="store_true", help="the cases, and what must hold")
    parser.add_argument("--quick", action="store_true", help="one turn of each without tuned algorithms: whether it works, not how fast it is")
    arguments = parser.parse_args()
    if arguments.pairs < 1:
        sys.exit(f"bench-apps: --pairs {arguments.pairs}: at least 1")
    cases = chosen(arguments.app, arguments.place)
    if arguments.list:
        for case in cases:
            print(f"{case.name:28} {case.must:10} {case.app.what}")
        return 0
    tools, started = Tools(arguments.build), time.monotonic()
    running.need("bench-apps", tools, arguments.build, NEEDED)
    turns = Turns(arguments.out.resolve().parent / "apps", arguments.quick, arguments.seconds)
    results = measure(cases, arguments, turns, tools)
    entries = [report.entry(case, results, turns.of(case)) for case in cases]
    lines, notes = report.table(entries), footnotes(results, time.monotonic() - started)
    write(arguments.out, entries, lines + [""] + [f"{note}  " for note in notes], picture.draw(entries))
    print("\n" + "\n".join(lines) + "\n\n" + "\n".join(notes))
    return max(running.complete(cases, results) if arguments.quick else running.verdicts(entries), int(results.interrupted))


if __name__ == "__main__":
    sys.exit(main())
