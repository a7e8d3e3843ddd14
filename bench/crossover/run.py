#!/usr/bin/env python3
"""Where a tree pays: Sumac's tree beside Open MPI's algorithms over a grid of hosts, round trips, places of nodes and sizes.

Each cell is held against its bound (the pure function that also selects), and the faster way against what was selected. Fabrics are
emulated on this machine (`sumac lab`), so what the cores take is measured too, on a fabric without delays: a cell in which that is more
than its bound is shown and not judged."""

import argparse
import dataclasses
import fnmatch
import json
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from core.cases import chosen  # noqa: E402
from core.clock import clock  # noqa: E402
from core.table import write  # noqa: E402
from crossover import grid, judging, table  # noqa: E402
from crossover.columns import InTurns, columns  # noqa: E402
from demolib import cases as C  # noqa: E402
from demolib import running  # noqa: E402
from demolib.running import machine  # noqa: E402
from demolib.ways import Tools, sumac_environment  # noqa: E402

NEEDED = ("sumac", "sharp_am", "sharp_an", "sharpd", "collbench", "cacheline")
PROGRAM = "bench-crossover"
TURNS = 5  # starts of a lab's job for each cell that is measured in turns, two pairs each


class CrossForm(C.Form):
    """Every cell brings its own number of calls."""

    def runs_of(self, case):
        return self.runs


def choose(patterns, spots):
    """Those fabrics that the words name: "8h-500us*,16h-5ms-switch"."""
    try:
        names = chosen(patterns, [one.short for one in spots])
    except ValueError as wrong:
        sys.exit(f"{PROGRAM}: {wrong}")
    return [one for one in spots if one.short in names]


def bounds_of(tools, one):
    done = subprocess.run([tools.program("sumac"), "fabric", "bounds", one.file, "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{PROGRAM}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def cells_of(tools, folder, spots):
    folder.mkdir(parents=True, exist_ok=True)
    out = []
    for one in spots:
        Path(one.file).write_text(grid.yaml(one))
        out += grid.cells(one, bounds_of(tools, one))
    return out


def remember(path, results):
    path.write_text(json.dumps({"cells": {case: {column: [cell.values, cell.failures] for column, cell in columns_.items()}
                                          for case, columns_ in results.cells.items()}, "notes": results.notes,
                                "turns": [[*key, list(pairs.starts.values())] for key, pairs in results.pairs.items()]}))


def recall(path, results):
    """What earlier runs measured, where this one has nothing newer."""
    if not path.exists():
        return
    old = json.loads(path.read_text())
    for case, columns_ in old["cells"].items():
        for column, (values, failures) in columns_.items():
            cell = results.cell(case, column)
            if not cell.values and not cell.failures:
                cell.values, cell.failures = values, failures
        results.notes[case] = {**old["notes"].get(case, {}), **results.notes.get(case, {})}
    for case, column, starts in old["turns"]:
        for start, ratios in enumerate(starts) if (case, column) not in results.pairs else ():
            for ratio in ratios:
                results.pair(case, column).add(start, ratio)


def decide(cells, results, form, tools, folder):
    """Measures the undecided cells again, both ways in turns on the cell's own fabric."""
    algorithms = {row.cell.name: row.algorithm for row in judging.undecided(judging.judge(cells, results))}
    again = [cell for cell in cells if cell.name in algorithms]
    if not again or results.interrupted:
        return
    print(f"{len(again)} cells within {(judging.NEAR - 1) * 100:.0f} % of one another, measured again in turns")
    alone = [dataclasses.replace(cell, group=cell.name) for cell in again]
    turns = running.measure(PROGRAM, alone, CrossForm(**{**form.__dict__, "runs": TURNS}),
                            lambda cases, form: [InTurns(cases[0], algorithms[cases[0].name], form)], tools, folder, keeps=True)
    results.interrupted = turns.interrupted
    for (case, column), pairs in turns.pairs.items():
        results.pairs[case, column] = pairs


def footnotes(started, results, rows):
    env = " ".join(f"{name}={value}" for name, value in sumac_environment().items())
    left_out = sorted({f"{row.cell.fabric.place} {grid.size_name(row.cell.size)} of {row.cell.fabric.hosts} hosts: {row.cell.left_out}"
                       for row in rows if row.cell.left_out.startswith("a call")})
    return [
        f"ms, and how many times its bound that is. Ports of {grid.RATE_MBIT} Mbit/s; medians; every result was verified. hosts alone: the "
        "fastest of Open MPI's allreduce algorithms 1 to 6, its number in brackets, against the least bound of hosts without a tree.",
        "Behind each time of a tree: what the selection chose. **bold**: the tree was faster than the hosts alone by more than 10 %; "
        "`=`: within 10 %, or in turns the interval of the ratio contains 1; `~`: the cores take longer than the links, not judged; WRONG: the slower way was chosen.",
        table.sums(rows)[1],
        *([f"Left out ({'; '.join(left_out)}); 16 MiB at other round trips than 500 us, where delay is no matter."] if left_out else []),
        f"This machine: {machine(results)}; {clock(time.monotonic() - started)} min in all. Sumac ran with {env}.",
    ]


def main():
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", type=Path, default=Path("build/dev"), help="build directory (default build/dev)")
    parser.add_argument("--out", type=Path, default=Path("build/crossover.json"), help="the table goes there, as JSON and as .txt")
    parser.add_argument("--case", metavar="FABRIC,...", default="", help="these fabrics only, as '8h-500us*'; --list names them")
    parser.add_argument("--column", default="*", help="these columns only, as 'sumac' or 'Open MPI*'")
    parser.add_argument("--add", action="store_true", help="to what earlier runs measured: the table in several pieces")
    parser.add_argument("--runs", type=int, default=1, help="runs of each cell; its number is their median (default 1)")
    parser.add_argument("--list", action="store_true", help="the fabrics")
    arguments = parser.parse_args()
    folder, tools, started = arguments.out.resolve().parent, Tools(arguments.build), time.monotonic()
    spots = grid.spots(folder / "crossover")
    if arguments.list:
        print("\n".join(one.short for one in spots))
        return 0
    if arguments.runs < 1:
        sys.exit(f"{PROGRAM}: --runs {arguments.runs}: at least 1")
    chosen = choose(arguments.case, spots)
    running.need(PROGRAM, tools, arguments.build, NEEDED)
    cells = cells_of(tools, folder / "crossover", spots)
    form = CrossForm(**{**C.SHORT.__dict__, "name": "grid", "runs": arguments.runs})
    def ways(cases, form):
        return [way for way in columns(cases, form) if fnmatch.fnmatchcase(way.column, arguments.column)]

    results = running.measure(PROGRAM, [cell for cell in cells if cell.fabric in chosen], form, ways, tools, folder,
                              keeps=True)
    raw = folder / "crossover" / "raw.json"
    if arguments.add:
        recall(raw, results)
    decide(cells, results, form, tools, folder)
    remember(raw, results)

    rows = judging.judge(cells, results)
    lines, notes = table.table(rows), footnotes(started, results, rows)
    write(arguments.out, judging.entries(rows, results), lines + [""] + [f"{note}  " for note in notes])
    print("\n" + "\n".join(lines) + "\n\n" + "\n".join(notes))
    wrong = [row for row in rows if row.verdict == "wrong"]
    for row in wrong:
        print(f"WRONG {row.cell.name}: {row.why}")
    return 1 if wrong or results.interrupted else 0


if __name__ == "__main__":
    sys.exit(main())
