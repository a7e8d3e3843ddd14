#!/usr/bin/env python3
"""Runs ctest and ends with one line that a person and a CI can read: `N passed, N failed[, N skipped]`. The counts come from ctest's own
JUnit report instead of its output on the screen, which changes from version to version. A few tests that fail run a second time, alone:
real daemons and programs share this machine with its other work. A test that passes then is named as `unsteady` with its first output
above, so that it is mended and not forgotten; --strict counts it as failed. A line says how long processors worked for the tests, and
for the whole machine: the daemons and ranks of a lab are nobody's children, and count there alone. In a sanitizer's build (make
asan, make tsan) the reports of every process count as well, also of daemons whose end no test checks (sanitized.py).
"""
import argparse
import os
import pathlib
import resource
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

import sanitized


def passed(report: pathlib.Path) -> set[str]:
    """Returns the names of the tests that passed."""
    return {case.get("name", "?") for case in ElementTree.parse(report).getroot().iter("testcase") if case.get("status") == "run"}


def count(report: pathlib.Path) -> tuple[int, list[str], list[str]]:
    """Returns how many passed, and the names of the failed and the skipped. A test whose program is missing failed: it is no skip."""
    failed: list[str] = []
    skipped: list[str] = []
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        status = case.get("status")
        skip = case.find("skipped")
        if status == "run":
            continue
        if status == "disabled" or (skip is not None and "SKIP_" in skip.get("message", "")):
            skipped.append(case.get("name", "?"))
        else:
            failed.append(case.get("name", "?"))
    return len(passed(report)), failed, skipped


# More failures than this are no accident of a busy machine.
UNSTEADY_MAX = 3
SLOWEST = 10
# The slots of ctest for a processor. A test that starts ranks takes two (cmake/Sumac.cmake).
SLOTS = 3


def slowest(report: pathlib.Path) -> list[tuple[float, str]]:
    """Returns the tests that took longest, the longest first: (seconds, name)."""
    took = [(float(case.get("time", 0)), case.get("name", "?")) for case in ElementTree.parse(report).getroot().iter("testcase")]
    return sorted(took, reverse=True)[:SLOWEST]


def machine_worked() -> float:
    """Returns the seconds that the machine's processors have worked since it started (proc(5), stat)."""
    user, nice, system, _, _, irq, softirq = map(int, pathlib.Path("/proc/stat").read_text(encoding="ascii").split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def ctest(build: str, jobs: int, extra: list[str], name: str = "ctest.xml") -> tuple[int, pathlib.Path]:
    report = pathlib.Path(build).resolve() / name
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", build, "-j", str(jobs), "--timeout", "600", "--output-on-failure",
               "--no-tests=error", "--output-junit", str(report)]
    return subprocess.run(command + extra, stdin=subprocess.DEVNULL).returncode, report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, help="build folder, configured and built")
    parser.add_argument("--jobs", type=int, default=2, help="processors to fill")
    parser.add_argument("--only", default="", help="regular expression of test names")
    parser.add_argument("--strict", action="store_true", help="a test that fails at first has failed")
    args = parser.parse_args()

    sanitizers = sanitized.sanitizers(pathlib.Path(args.build))
    folder = pathlib.Path(args.build).resolve() / "reports"
    if sanitizers:
        os.environ.update(sanitized.environment(folder))
    began, before = time.monotonic(), machine_worked()
    code, report = ctest(args.build, SLOTS * args.jobs, ["-R", args.only] if args.only else [])
    if not report.exists():
        print(f"tests/run.py: ctest ended with {code} and wrote no report: is {args.build} configured?", file=sys.stderr)
        return code or 1
    right, failed, skipped = count(report)
    longest = slowest(report)
    unsteady: list[str] = []
    if 0 < len(failed) <= UNSTEADY_MAX and not args.strict:
        print(f"again, alone: {', '.join(failed)}", flush=True)
        code, report = ctest(args.build, 1, ["--rerun-failed"], "ctest-again.xml")
        _, still, _ = count(report) if report.exists() else (0, failed, [])
        unsteady = [name for name in failed if name not in still]
        right += len(unsteady)
        failed = still
    if right + len(failed) > SLOWEST:
        print(f"the {SLOWEST} slowest tests, of {right + len(failed)}:")
        for seconds, name in longest:
            print(f"{seconds:7.1f} s  {name}")
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{time.monotonic() - began:.0f} s, in which processors worked for {used.ru_utime + used.ru_stime:.0f} s "
              f"(the whole machine's for {machine_worked() - before:.0f} s)")
    for word, names in (("skipped", skipped), ("unsteady", unsteady), ("failed", failed)):
        for name in names:
            print(f"{word}: {name}")
    found = sanitized.tell(folder) if sanitizers else 0
    print(f"{right} passed, {len(failed)} failed" + (f", {len(skipped)} skipped" if skipped else "")
          + (f", {found} reports of {sanitizers}" if sanitizers else ""), flush=True)
    return 1 if failed or code or found else 0


if __name__ == "__main__":
    sys.exit(main())
