#!/usr/bin/env python3
"""`make reports` runs what each report left behind (cases/*.py) and prints a row for each; status 1 if one is violated."""

import argparse
import importlib.util
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent)]
import run as suite  # noqa: E402  pylint: disable=wrong-import-position
from case import Case  # noqa: E402  pylint: disable=wrong-import-position


def load(path: pathlib.Path) -> list[Case]:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.CASES


def numbers_of(build: str) -> dict[str, int]:
    """Returns ctest's number of each test. One that is disabled is half of another one, which starts it as another user."""
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    return {test["name"]: number for number, test in enumerate(json.loads(listed.stdout)["tests"], start=1)
            if not any(each["name"] == "DISABLED" and each["value"] for each in test.get("properties", []))}


def run_tests(build: str, known: dict[str, int], names: set[str]) -> set[str]:
    """Returns the names that were not seen to pass. A skipped test has shown nothing, so it is among them."""
    # ctest's expressions have a limit that so many names exceed, and it takes names from a file since 3.29 only: it gets their numbers.
    numbers = ",".join(str(known[name]) for name in sorted(names))
    with tempfile.NamedTemporaryFile(suffix=".xml") as report:
        subprocess.run(["ctest", "--test-dir", build, "-I", f"0,0,0,{numbers}", "--output-on-failure", "--output-junit", report.name], check=False)
        return names - suite.passed(pathlib.Path(report.name))


def run_program(case: Case, build: str) -> int:
    """Returns the number of violations. The program gets SIGTERM when its time is over, since it may have daemons to end."""
    command = [sys.executable, str(HERE / case.program[0]), *case.program[1:]]
    with subprocess.Popen(command, env={**os.environ, "SUMAC_BUILD": build}, stdin=subprocess.DEVNULL) as running:
        try:
            return int(running.wait(timeout=60 * case.minutes) != 0)
        except BaseException as stopped:
            running.terminate()
            running.wait()
            if isinstance(stopped, subprocess.TimeoutExpired):
                print(f"reports: {case.name}: not done after {case.minutes} minutes", file=sys.stderr)
                return 1
            raise


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/dev", help="build folder (build/dev)")
    parser.add_argument("--out", default="build/reports.json", help="the rows (build/reports.json)")
    parser.add_argument("--case", default="", help="only cases whose name contains this")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    cases = [case for path in sorted((HERE / "cases").glob("*.py")) for case in load(path) if args.case in case.name]
    if not cases:
        sys.exit(f"reports: no case has {args.case!r} in its name")
    known = numbers_of(args.build)
    wanted = {case.name: [name for name in known if re.search(case.tests, name)] for case in cases if case.tests}
    bad = run_tests(args.build, known, set().union(*wanted.values())) if any(wanted.values()) else set()
    rows = []
    for case in cases:
        if case.tests:
            found = len(bad & set(wanted[case.name])) if wanted[case.name] else 1
        else:
            print(f"--- {case.name}", flush=True)
            found = run_program(case, args.build)
        rows.append({"case": case.name, "unit": "violations", "sumac": found, "limit": 0})
    pathlib.Path(args.out).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    for row in rows:
        print(f"{row['sumac']:>3}  {row['case']}{'   VIOLATED' if row['sumac'] else ''}")
    violated = sum(row["sumac"] > 0 for row in rows)
    print(f"\n{len(rows)} cases, {violated} violated; {args.out}")
    return 1 if violated else 0


if __name__ == "__main__":
    sys.exit(main())
