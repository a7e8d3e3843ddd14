#!/usr/bin/env python3
"""`make faults` runs every case of this folder and merges the rows; status 1 if one is violated or a program failed."""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import rows as shared

HERE = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/dev", help="build folder whose programs run (build/dev)")
    parser.add_argument("--out", default="build/faults.json", help="the rows of all (build/faults.json)")
    parser.add_argument("--case", default="", help="only programs whose name contains this")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    programs = sorted(path for path in HERE.glob("*_cases.py") if args.case in path.stem)
    if not programs:
        sys.exit(f"faults: no program in {HERE} has {args.case!r} in its name")
    rows = shared.Rows()
    for program in programs:
        print(f"--- {program.stem}", flush=True)
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            status = subprocess.call([sys.executable, program, "--out", out.name], env={**os.environ, "SUMAC_BUILD": args.build})
            own = json.loads(pathlib.Path(out.name).read_text(encoding="utf-8") or "[]")
        rows.rows += own
        if status != 0 and not any(shared.is_violated(row) for row in own):
            rows.add(f"{program.stem} to its end", "failures", 1, 0, 1)
    rows.write(args.out)
    bad = sum(shared.is_violated(row) for row in rows.rows)
    print(f"{len(rows.rows)} rows, {bad} violated; {args.out}")
    sys.exit(1 if bad else 0)


main()
