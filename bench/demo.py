#!/usr/bin/env python3
"""The tables of `make demo`, which shows Open MPI without and with Sumac, and of `make bench`, which judges Sumac by the limit of the
fabric and by the bare tree.

Everything runs in an emulated fabric (`sumac lab`) on this machine. Within one run all columns take turns, so that drift of
the machine hits all of them; a cell is the median of the runs, and a run in which the fabric dropped a frame is void.
The demo ends with 0 unless a result was wrong or something did not run, the benchmark also where something that must hold does not."""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from core.clock import clock  # noqa: E402
from core.table import write  # noqa: E402
from demolib import cases as C  # noqa: E402
from demolib import hop, picture, report, running, shown  # noqa: E402
from demolib.running import machine  # noqa: E402
from demolib.ways import Tools, sumac_environment, ways  # noqa: E402


def footnotes(form, tools, started, results):
    env = " ".join(f"{name}={value}" for name, value in sumac_environment().items())
    iterations = f"{form.small[0]} iterations up to 64 KiB, {form.large[0]} at 16 MiB"
    return [
        f"ms; median of {form.runs} runs (least..most), {iterations}, columns taking turns.",
        f"This machine: {machine(results)}; {clock(time.monotonic() - started)} min in all.",
        "limit: links up and down x delay, or bytes on the busiest link / rate. bare: the same messages without MPI, sums or checks.",
        "best tuned: fastest of the Open MPI algorithms tried, by its number. Every result was verified; a cell with a dropped frame is void.",
        f"Sumac ran with {env}." if tools.daemons() else "Sumac's columns are empty: not built yet.",
    ]


def shown_notes(cases, started, results, nodes):
    """What stands below the demo's table. `nodes`: the line about their kernels."""
    return [shown.MEANING, *([nodes] if nodes else []),
            f"This machine: {machine(results)}; {clock(time.monotonic() - started)} min in all. Every result was verified; `make bench` measures longer and "
            "judges.",
            *shown.busy(cases, results)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=Path("build/dev"), help="build directory (default build/dev)")
    parser.add_argument("--out", type=Path, default=Path("build/demo.json"), help="the table goes there, as JSON and as .txt")
    parser.add_argument("--only", metavar="CASE,...", help="these cases only, of the demo's or of the others")
    parser.add_argument("--runs", type=int, help="runs per cell (3; --full: 5; --quick: 1)")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="one run with few iterations: a look, not a measurement")
    size.add_argument("--full", action="store_true", help="5 runs, 200 iterations, every tuned algorithm, hpcc, and what must hold (an hour)")
    arguments = parser.parse_args()

    form = C.FULL if arguments.full else C.QUICK if arguments.quick else C.SHORT
    if arguments.runs is not None:
        if arguments.runs < 1:
            sys.exit("demo: --runs must be at least 1")
        form = C.Form(**{**form.__dict__, "runs": arguments.runs, "budget_s": None})
    cases = running.choose("demo", arguments.only, C.CASES) if arguments.only or arguments.full else list(C.DEMO)
    tools, started = Tools(arguments.build), time.monotonic()
    running.need("demo", tools, arguments.build, ("sumac", "collbench", "baretree", "cacheline"), "programs" if arguments.full else "demo")
    # The benchmark compares node processes with bare ones.
    nodes = hop.allow(tools.program("sharp_an")) if tools.daemons() and not arguments.full else ""
    results = running.measure("demo", cases, form, ways, tools, arguments.out.resolve().parent, budget_s=form.budget_s,
                              enough=form.runs_enough)

    judges = arguments.full
    lines = report.table(cases, results) if judges else shown.table(cases, results)
    notes = footnotes(form, tools, started, results) if judges else shown_notes(cases, started, results, nodes)
    entries = report.rows(cases, results, judges)
    write(arguments.out, entries, lines + [""] + [f"{note}  " for note in notes], picture.draw(entries))
    print("\n" + "\n".join(lines) + "\n\n" + "\n".join(notes))
    return running.verdicts(entries) if judges else running.complete(cases, results)


if __name__ == "__main__":
    sys.exit(main())
