#!/usr/bin/env python3
"""`make systems` runs `make demo` and `make test` in a fresh root of each supported system, from a clean clone of the last commit, and writes a
row for each: how many tests failed. A demo that fails counts as one, and so does a run of the tests that does not come to its end. The row
also has what was skipped there and why. Root is needed, and the servers of Debian and PyPI. The compiler's cache and pip's stay in
build/systems; SUMAC_TORCH=no leaves PyTorch out."""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "toolkit")]
import roots  # noqa: E402  pylint: disable=wrong-import-position
from harness import processes, rows as results  # noqa: E402  pylint: disable=wrong-import-position

# A case of `make systems` and what its system never runs.
SYSTEMS = {
    "bookworm": ("debian12", []),
    "trixie": ("debian13", ["fuzzers, clang-tidy and clang-format: Debian 13 has no clang 14, whose results are the ones that count"]),
}
COMPONENT = "the component of Open MPI: libopenmpi-dev lacks its internal headers, so the interposed library serves that MPI"


def commit():
    return subprocess.run(["git", "-C", TOP, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()


def counted(lines):
    """Returns what tests/run.py said last: (passed, failed), or nothing."""
    for line in reversed(lines):
        if said := re.match(r"(\d+) passed, (\d+) failed", line):
            return int(said[1]), int(said[2])
    return None


def reasons(report):
    """Returns {name: the last line that it printed} of the skipped tests in ctest's report."""
    found = {}
    for case in ElementTree.parse(report).getroot().iter("testcase") if report.exists() else []:
        if case.find("skipped") is not None or case.get("status") == "disabled":
            said = (case.findtext("system-out") or "").strip().splitlines()
            found[case.get("name")] = said[-1] if said else "it printed no reason"
    return found


def follow(command, env, log):
    """Runs a command of a root, shows what it prints, and returns (status, its lines). Nothing of it runs any more when this returns or raises."""
    with processes.start(command, env=env, stdout=processes.PIPE, stderr=processes.STDOUT, text=True, errors="replace") as running, log.open("a", encoding="utf-8") as out:
        lines = []
        try:
            for line in running.stdout:
                lines.append(line)
                out.write(line)
                print(line, end="", flush=True)
        except BaseException:
            # The first process of the namespaces dies with unshare, all others with it; the pipe ends when the last one is gone.
            running.kill()
            running.stdout.read()
            raise
        return running.wait(), lines


def fresh(folder, name):
    """Returns (the folder that the root of this name will see as its own, a clone of the last commit in it, an empty log beside it)."""
    given, log = folder / name, folder / f"{name}.log"
    given.mkdir(parents=True, exist_ok=True)
    log.write_text("", encoding="utf-8")
    clone = given / "sumac"
    shutil.rmtree(clone, ignore_errors=True)
    subprocess.run(["git", "clone", "--quiet", TOP, clone], check=True)
    return given, clone, log


def measure(suite, folder, rows):
    name, left_out = SYSTEMS[suite]
    given, clone, log = fresh(folder, suite)
    env = roots.variables_of_installing(given) | {key: os.environ[key] for key in ("SUMAC_TORCH",) if key in os.environ}
    began, failed, done = time.monotonic(), 0, None
    with roots.Root(roots.base(folder, suite, ()), given) as root:
        for what in ("demo", "test"):
            print(f"--- {name}: make {what} of {commit()[:8]}", flush=True)
            status, lines = follow(root.command(f"{roots.BEGIN} make {what}", network=True), env, log)
            if what == "test" and (done := counted(lines)):
                failed += max(done[1], int(status != 0))
            else:
                failed += int(status != 0 or what == "test")
    if (clone / "build/dev/bin/sumac").exists() and not (clone / "build/dev/lib/openmpi/mca_coll_hcoll.so").exists():
        left_out = [*left_out, COMPONENT]
    skipped = reasons(clone / "build/dev/ctest.xml")
    for each, why in skipped.items():
        print(f"{name}: skipped: {each}: {why}")
    for each in left_out:
        print(f"{name}: left out: {each}")
    rows.add(name, "failed", failed, 0, passed=done[0] if done else 0, skipped=skipped, left_out=left_out, commit=commit(),
             minutes=round((time.monotonic() - began) / 60))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="build/systems.json", help="the rows (build/systems.json)")
    parser.add_argument("--system", default="", choices=["", *SYSTEMS], help="one system")
    args = parser.parse_args()
    results.end_in_order()
    roots.check_machine()
    suites = [args.system] if args.system else list(SYSTEMS)
    rows, out = results.Rows(), pathlib.Path(args.out)
    # The other system's row stays: it has its own commit.
    names = [SYSTEMS[suite][0] for suite in suites]
    rows.rows = [row for row in (json.loads(out.read_text(encoding="utf-8")) if out.exists() else []) if row["case"] not in names]
    for suite in suites:
        measure(suite, TOP / "build/systems", rows)
        rows.write(out)
    results.report(rows, out)


if __name__ == "__main__":
    try:
        main()
    except roots.Unavailable as missing:
        sys.exit(f"systems: {missing}")
    except KeyboardInterrupt:
        sys.exit("systems: stopped; nothing of it runs any more")
