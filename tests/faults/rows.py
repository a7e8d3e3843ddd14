"""What the cases of `make faults` share: their command line, and rows of results."""

import argparse
import json
import pathlib
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(SOURCE / "tests"))


class Rows:
    def __init__(self):
        self.rows = []

    def add(self, name, unit, sumac, limit, trials):
        self.rows.append({"case": name, "unit": unit, "sumac": sumac, "limit": limit, "trials": trials})
        print(line_of(self.rows[-1]), flush=True)

    def write(self, path):
        pathlib.Path(path).write_text(json.dumps(self.rows, indent=1) + "\n", encoding="utf-8")


def is_violated(row):
    return not row["sumac"] <= row["limit"]  # true also for a NaN


def line_of(row):
    return f"{row['case']:<30} {row['sumac']:>8.4g} {row['unit']} in {row['trials']}, limit {row['limit']}{'   VIOLATED' if is_violated(row) else ''}"


def main(case, about):
    """Runs one case: case(rows, is_short). Ends the program with 1 if a row is violated."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--short", action="store_true", help="a few trials, for ctest")
    parser.add_argument("--out", default="", help="file for the rows, as JSON")
    args = parser.parse_args()
    rows = Rows()
    try:
        case(rows, args.short)
    finally:
        if args.out:
            rows.write(args.out)
    sys.exit(any(is_violated(row) for row in rows.rows))
