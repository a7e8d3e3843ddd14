#!/usr/bin/env python3
"""`make guard` runs every attack of this folder in its long form and merges the rows; status 1 if one is violated or a program failed."""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def is_attack(path):
    """Attacks call common.main(); the other files are their helpers."""
    return path.name != "common.py" and re.search(r"^ *common\.main\(attack", path.read_text(encoding="utf-8"), re.MULTILINE)


def run_to_its_end(command, env):
    """Returns the exit status. A program that is still running when we are ended gets a signal to end in order: it has daemons to take
    down."""
    with subprocess.Popen(command, env=env) as running:
        try:
            return running.wait()
        except BaseException:
            running.terminate()
            running.wait()
            raise


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/dev", help="build folder whose programs are attacked (build/dev)")
    parser.add_argument("--out", default="build/guard.json", help="the rows of all (build/guard.json)")
    parser.add_argument("--before", default="", help="build folder of an older tree, for programs that compare with one (handshake_cost)")
    parser.add_argument("--case", default="", help="only programs whose name contains this")
    args = parser.parse_args()
    sys.path.insert(0, str(HERE))
    sys.argv = [sys.argv[0], "--build", args.build]
    before = ["--before", args.before] if args.before else []
    import common  # pylint: disable=import-outside-toplevel

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    rows = common.Rows()
    programs = sorted(path for path in HERE.glob("*.py") if is_attack(path) and args.case in path.stem)
    if not programs:
        sys.exit(f"guard: no program in {HERE} has {args.case!r} in its name")
    try:
        for program in programs:
            print(f"--- {program.stem}", flush=True)
            with tempfile.NamedTemporaryFile(suffix=".json") as out:
                status = run_to_its_end([sys.executable, str(program), "--build", args.build, "--long", "--out", out.name, *before],
                                        {**os.environ, "SUMAC_BUILD": args.build})
                own = json.loads(pathlib.Path(out.name).read_text(encoding="utf-8") or "[]")
            rows.rows += own
            if status == 77:
                print(f"--- {program.stem} skipped", flush=True)
            elif status != 0 and not any(common.exceeds(row) for row in own):
                rows.rows.append({"case": f"{program.stem} did not run to its end", "unit": "programs", "sumac": 1, "limit": 0})
    finally:
        common.ground.sweep()
    pathlib.Path(args.out).parent.mkdir(parents=True, exist_ok=True)
    rows.write(args.out)
    bad = len(rows.violated())
    print(f"\n{rows.table()}\n\n{len(rows.rows)} rows, {bad} violated; {args.out}")
    sys.exit(1 if bad else 0)


main()
