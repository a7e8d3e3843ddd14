"""Results of `make guard` and `make faults`: rows with a number and its limit, and the runner that merges those of several programs."""

import argparse
import json
import os
import pathlib
import signal
import sys
import tempfile

from . import processes


class Rows:
    """Each row has a number and its limit."""

    def __init__(self):
        self.rows = []

    def add(self, name, unit, sumac, limit, **more):
        self.rows.append({"case": name, "unit": unit, "sumac": sumac, "limit": limit, **more})
        print(line_of(self.rows[-1]), flush=True)

    def violated(self):
        return [row for row in self.rows if exceeds(row)]

    def table(self):
        return "\n".join(line_of(row) for row in self.rows)

    def write(self, path):
        pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(path).write_text(json.dumps(self.rows, indent=1) + "\n", encoding="utf-8")


def exceeds(row):
    return not row["sumac"] <= row["limit"]  # true also for a NaN


def line_of(row):
    number = f"{row['sumac']:.4g}" if isinstance(row["sumac"], float) else str(row["sumac"])
    return f"{row['case']:<54} {number:>10}  limit {row['limit']:<10} {row['unit']}{'   VIOLATED' if exceeds(row) else ''}"


def run_to_its_end(command, env):
    """Returns the exit status. A program that is still running when we are ended, or killed, gets a signal to end in order: it has daemons to
    take down."""
    with processes.start(command, env=env) as running:
        try:
            return running.wait()
        except BaseException:
            running.terminate()
            running.wait()
            raise


def merge(rows, programs, words, build):
    """Runs programs that take `--out FILE`, and adds their rows. One that fails without a violated row becomes a row."""
    for program in programs:
        print(f"--- {program.stem}", flush=True)
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            status = run_to_its_end([sys.executable, str(program), "--out", out.name, *words], {**os.environ, "SUMAC_BUILD": build})
            own = json.loads(pathlib.Path(out.name).read_text(encoding="utf-8") or "[]")
        rows.rows += own
        if status == 77:
            print(f"--- {program.stem} skipped", flush=True)
        elif status != 0 and not any(exceeds(row) for row in own):
            rows.rows.append({"case": f"{program.stem} did not run to its end", "unit": "programs", "sumac": 1, "limit": 0})


def report(rows, path):
    """Writes the rows and prints their table; ends the program with 1 if one is violated."""
    rows.write(path)
    bad = len(rows.violated())
    print(f"\n{rows.table()}\n\n{len(rows.rows)} rows, {bad} violated; {path}")
    sys.exit(1 if bad else 0)


def parser_of(about, name):
    """Returns the options that every runner has."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--build", default="build/dev", help="build folder whose programs run (build/dev)")
    parser.add_argument("--out", default=f"build/{name}.json", help=f"the rows of all (build/{name}.json)")
    parser.add_argument("--case", default="", help="only programs whose name contains this")
    return parser


def cases(about, run, short=None):
    """The main() of a program of cases: run(rows), or run(rows, is_short) where `short` says what `--short` is. Ends it with 1 if a row is
    violated; what there is of the rows is written in any case."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--out", default="", help="file for the rows, as JSON")
    if short:
        parser.add_argument("--short", action="store_true", help=short)
    args = parser.parse_args()
    rows = Rows()
    try:
        run(rows, args.short) if short else run(rows)
    finally:
        if args.out:
            rows.write(args.out)
    sys.exit(bool(rows.violated()))


def end_in_order():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
