#!/usr/bin/env python3
"""Runs the differential test in several settings: some 1,750 cases as a test, 20,000 and more with --all (`make host-cases`). Each row is
one run of host-cases: ranks, cases in short and in full, settings. A failing case prints the seed that reruns it."""

import argparse
import os
import pathlib
import re
import sys
import time

import common
from common import case

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import reports  # noqa: E402  pylint: disable=wrong-import-position

REPORTS = case.BUILD / "reports"

SOCKETS = {"HWLOC_SYNTHETIC": "package:2 core:4 pu:1"}
NODES = {"HWLOC_SYNTHETIC": "package:2 numa:4 core:21 pu:1"}
SMALL_NODES = {"HWLOC_SYNTHETIC": "package:2 numa:4 core:2 pu:1"}
LARGE_MACHINE = {"HWLOC_SYNTHETIC": "package:2 [numa] group:4 [numa] core:16 pu:1"}
ONE_CORE = {"HWLOC_SYNTHETIC": "core:1 pu:1"}

# Under these settings some collectives are Open MPI's own: its mistakes are left out of these runs (host-cases --tame).
PASSING = {"HCOLL_ML_DISABLE_ALLREDUCE", "HCOLL_SBGP"}

# The component is off: the cases' own expectations are compared with Open MPI's collectives.
OFF = None

# Each row has: name, ranks, cases in short, cases in full, variables.
ROWS = [
    ("two ranks", 2, 300, 4000, {}),
    ("three", 3, 200, 3000, {}),
    ("four", 4, 200, 3000, {}),
    ("five", 5, 100, 2000, {}),
    ("eight", 8, 100, 2000, {}),
    ("sixteen", 16, 0, 1000, {}),
    ("two sockets, three levels", 6, 150, 1500, SOCKETS),
    ("two sockets, socket by socket whatever the size", 7, 0, 1000, {**SOCKETS, "SUMAC_TEAM_LEVELS": "always"}),
    ("eight small NUMA nodes, seventeen ranks", 17, 15, 300, SMALL_NODES),
    ("two NUMA nodes, node by node whatever the size", 32, 10, 200, {**NODES, "SUMAC_TEAM_LEVELS": "always"}),
    ("eight NUMA nodes, node by node", 168, 0, 20, {**NODES, "SUMAC_TEAM_LEVELS": "always"}),
    ("two sockets, a leader of each between hosts", 6, 100, 800, {**SOCKETS, "HCOLL_SBGP": "basesmsocket,p2p", "HCOLL_BCOL": "basesmuma,ucx_p2p"}),
    ("hosts only", 4, 50, 500, {**SOCKETS, "HCOLL_SBGP": "basesmuma,p2p", "HCOLL_BCOL": "basesmuma,mlx_p2p"}),
    ("no level inside the host", 3, 50, 300, {"HCOLL_SBGP": "p2p", "HCOLL_BCOL": "ucx_p2p"}),
    ("a machine of 128 cores", 12, 0, 500, LARGE_MACHINE),
    ("a machine of one core", 3, 0, 500, ONE_CORE),
    ("a file in /dev/shm instead of a memfd", 3, 100, 800, {"SUMAC_SHM_BACKING": "devshm"}),
    ("two ranks that copy once", 2, 100, 1000, common.SINGLE_COPY),
    ("three that copy once", 3, 50, 500, common.SINGLE_COPY),
    ("with a progress thread", 3, 100, 1000, {"SUMAC_PROGRESS_THREAD": "1"}),
    ("by Open MPI alone", 3, 100, 1000, OFF),
    ("some collectives left to MPI", 3, 50, 300, {"HCOLL_ML_DISABLE_ALLREDUCE": "1", "HCOLL_ML_DISABLE_ALLTOALLV": "1"}),
]


def run_row(name, ranks, cases, seed, settings):
    is_on, settings = settings is not OFF, settings or {}
    tame = ["--tame"] if not is_on or PASSING & settings.keys() else []
    done = common.run(ranks, "host-cases", *tame, "--seed", str(seed), "--cases", str(cases), env=settings, component={"enable": int(is_on)}, seconds=900)
    served = done.tally and (done.tally["shared"] + done.tally["leaders"])
    ok = done.code == 0 and f"{cases} cases on {ranks} ranks right" in done.out and (done.tally is not None) == is_on
    if not is_on:
        served = ok
    passes_through = settings.get("HCOLL_SBGP") == "p2p"
    if ok and not served and not passes_through:
        print(f"{name}: no collective went through shared memory:\n{done.text}")
        return False
    if not ok:
        set_by = " ".join(f"{key}='{value}'" for key, value in settings.items())
        print(f"{name}: failed on {ranks} ranks{', with ' + set_by if set_by else ''}\n{done.text}")
    return ok


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="the full number of cases")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="regular expression of the rows' names")
    parser.add_argument("--sanitized", action="store_true", help="of a sanitizer's build (make asan-component)")
    args = parser.parse_args()
    if args.sanitized:
        os.environ.update(reports.environment(REPORTS, whole_stacks=True))
    else:
        common.skip_if_sanitized()
    begin, total, failed = time.monotonic(), 0, 0
    for name, ranks, short, full, settings in ROWS:
        cases = full if args.all else short
        if cases == 0 or not re.search(args.only, name):
            continue
        row_begin = time.monotonic()
        ok = run_row(name, ranks, cases, args.seed, settings)
        total, failed = total + cases, failed + (not ok)
        print(f"{'ok' if ok else 'FAILED'}: {name}: {cases} cases on {ranks} ranks, {time.monotonic() - row_begin:.1f} s", flush=True)
    if total == 0:
        sys.exit(f"host-cases: no row is called {args.only}")
    found = reports.tell(REPORTS) if args.sanitized else 0
    print(f"host-cases: {total} cases, {failed} runs failed, seed {args.seed}, {time.monotonic() - begin:.0f} s"
          + (f", {found} reports of {reports.sanitizers(case.BUILD)}" if args.sanitized else ""))
    sys.exit(1 if failed or found else 0)


if __name__ == "__main__":
    assert case.BUILD.exists(), f"{case.BUILD}: no such build folder"
    main()
