#!/usr/bin/env python3
"""`make jobs` runs every case of this folder, of tests/decks and of tests/systems, and merges the rows; status 1 if one is violated or a program failed."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from harness import rows as results  # noqa: E402  pylint: disable=wrong-import-position


def main():
    args = results.parser_of(__doc__, "jobs").parse_args()
    results.end_in_order()
    rows = results.Rows()
    results.merge(rows, sorted(path for folder in (HERE, HERE.parent / "decks", HERE.parent / "systems") for path in folder.glob("*_cases.py") if args.case in path.stem), [], args.build)
    results.report(rows, args.out)


main()
