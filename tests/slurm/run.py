#!/usr/bin/env python3
"""`make jobs` runs every case of this folder, of tests/decks, tests/older and tests/systems, and merges the rows; status 1 if one is violated or a program
failed."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from harness import rows as results  # noqa: E402  pylint: disable=wrong-import-position


def main():
    args = results.parser_of(__doc__, "jobs").parse_args()
    results.end_in_order()
    rows = results.Rows()
    folders = (HERE, *(HERE.parent / name for name in ("decks", "older", "systems")))
    results.merge(rows, sorted(path for folder in folders for path in folder.glob("*_cases.py") if args.case in path.stem), [], args.build)
    results.report(rows, args.out)


main()
