#!/usr/bin/env python3
"""Runs ctest and ends with one line that a person and a CI can read: `N passed, N failed[, N skipped]`.

The counts come from ctest's own JUnit report, not from its words on the screen, which change from version to version.
"""
import argparse
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ElementTree


def count(report: pathlib.Path) -> tuple[int, list[str], list[str]]:
    """How many passed, and the names of the failed and the skipped. A test whose program is missing failed: it is no skip."""
    passed = 0
    failed: list[str] = []
    skipped: list[str] = []
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        status = case.get("status")
        skip = case.find("skipped")
        if status == "run":
            passed += 1
        elif status == "disabled" or (skip is not None and "SKIP_" in skip.get("message", "")):
            skipped.append(case.get("name", "?"))
        else:
            failed.append(case.get("name", "?"))
    return passed, failed, skipped


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, help="build folder, configured and built")
    parser.add_argument("--jobs", default="2", help="tests at once")
    parser.add_argument("--only", default="", help="regular expression of test names")
    args = parser.parse_args()

    report = pathlib.Path(args.build).resolve() / "ctest.xml"
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", args.build, "-j", args.jobs, "--timeout", "600", "--output-on-failure",
               "--no-tests=error", "--output-junit", str(report)]
    if args.only:
        command += ["-R", args.only]
    code = subprocess.run(command, stdin=subprocess.DEVNULL).returncode
    if not report.exists():
        print(f"tests/run.py: ctest ended with {code} and wrote no report: is {args.build} configured?", file=sys.stderr)
        return code or 1
    passed, failed, skipped = count(report)
    for word, names in (("skipped", skipped), ("failed", failed)):
        for name in names:
            print(f"{word}: {name}")
    print(f"{passed} passed, {len(failed)} failed" + (f", {len(skipped)} skipped" if skipped else ""), flush=True)
    return 1 if failed or code else 0


if __name__ == "__main__":
    sys.exit(main())
