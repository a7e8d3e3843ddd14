#!/usr/bin/env python3
"""The rows of `make jobs` that take hours: what `make systems` and `make arm64` found of this commit. Without those runs there is nothing to report."""

import json
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(TOP / "tests"), str(TOP / "tests/toolkit"), str(TOP / "tests/systems")]
import run as systems  # noqa: E402  pylint: disable=wrong-import-position
from harness import rows as results  # noqa: E402  pylint: disable=wrong-import-position

MEASURED = {"systems.json": ("debian13", "make systems SYSTEM=trixie"), "arm64.json": ("arm64", "make arm64")}


def run(rows):
    for name, (case, command) in MEASURED.items():
        found = TOP / "build" / name
        every = json.loads(found.read_text(encoding="utf-8")) if found.exists() else []
        measured = [row for row in every if row["case"].split("-")[0] == case and row["commit"] == systems.commit()]
        if not measured:
            print(f"left out: {found} has no row {case} of this commit: {command}")
        rows.rows += measured
    if not rows.rows:
        print("skipped: neither was measured")
        sys.exit(77)


results.cases(__doc__, run)
