#!/usr/bin/env python3
"""The row `debian13` of `make jobs`: what `make systems` found of this commit. Without that run there is nothing to report."""

import json
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(TOP / "tests"))
from harness import rows as results  # noqa: E402  pylint: disable=wrong-import-position


def run(rows):
    found = TOP / "build/systems.json"
    commit = subprocess.run(["git", "-C", TOP, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    measured = [row for row in (json.loads(found.read_text(encoding="utf-8")) if found.exists() else []) if row["case"] == "debian13" and row["commit"] == commit]
    if not measured:
        print(f"skipped: {found} has no row debian13 of this commit: make systems SYSTEM=trixie")
        sys.exit(77)
    rows.rows += measured


results.cases(__doc__, run)
