"""The case `c10d-suite`: of PyTorch's own c10d tests that gloo passes here, how many pass with Sumac in gloo's place.

suite_tests.py runs them, each in a process of its own with a limit. Nothing of the tests is in this repository: they come with the
installed PyTorch, and, where SUMAC_TORCH_SRC names a copy of its source, from test_c10d_gloo.py in there."""

import json
import os
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

from core import table as T
from core import verdict as V

import plan as P

AT_ONCE = 3
SHARE_MIN = 0.95
# PyTorch's own runs with gloo have 3 processes. A test that asks for more of them is run with 4, or with 8.
SIZES = (3, 4, 8)
# Tests that gloo passes and Sumac does not, and why.
REASONS = {
    "test_barrier_timeout_*": "it asks for gloo's words (Timed out, closed or timeout); ours name the ranks that have not come",
    "ProcessGroupGlooTest.test_allgather_checks": "outputs of different sizes are no error with Sumac, as with NCCL",
    "ProcessGroupGlooTest.test_sparse_allreduce_basics": "it gives several sparse tensors a rank, once one for each GPU of a process",
    "ProcessGroupGlooTest.test_set_gloo_pg_timeout": "it calls a method of gloo's own Python class",
    "*.test_init_process_group_for_all_backends": "PyTorch calls every backend from outside `custom`, and the test asks for the name gloo",
    "test_ddp_logging_data_cpu": "DDP's log calls every backend from outside PyTorch `custom`, and the test asks for the name gloo",
}


def _run(backend, size, names, *more):
    """The lines of suite_tests.py. Raises RuntimeError with its last words if it fails."""
    done = subprocess.run([sys.executable, "-W", "ignore", Path(__file__).with_name("suite_tests.py"), backend, "--size", str(size), *more],
                          input="\n".join(names), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["suite_tests.py failed"])[-1])
    return done.stdout.splitlines()


def _compared(names, size, *more):
    """Gloo's outcomes, and {(test, size): (gloo's, Sumac's or None)} of those that gloo did not skip."""
    more = ("--at-once", str(AT_ONCE), *more)
    theirs = [json.loads(line) for line in _run(P.GLOO, size, names, *more)]
    passed = [one["test"] for one in theirs if one["outcome"] == "passed"]
    ours = {one["test"]: one for one in map(json.loads, _run(P.SUMAC, size, passed, *more))}
    return theirs, {(one["test"], size): (one, ours.get(one["test"])) for one in theirs if one["outcome"] != "skipped"}


def outcomes():
    """{(test, size): (gloo's outcome, Sumac's or None)}: Sumac's where gloo passed."""
    found = {}
    if source := os.environ.get("SUMAC_TORCH_SRC"):
        found.update(_compared(_run(P.GLOO, SIZES[0], [], "--list", "--source", source), SIZES[0], "--source", source)[1])
    names = _run(P.GLOO, SIZES[0], [], "--list")
    for size in SIZES:
        theirs, new = _compared(names, size)
        names = [one["test"] for one in theirs if one["outcome"] == "skipped" and "world size" in one["why"].lower()]
        found.update(new)
    return found


def judged(found):
    """The entry of build/torch.json: at least 95 % pass, and each other one has its reason."""
    both = {name: pair for name, pair in found.items() if pair[0]["outcome"] == "passed"}
    missing = {f"{test} ({size} processes)": next((why for pattern, why in REASONS.items() if fnmatch(test, pattern)), None)
               for (test, size), (_, ours) in both.items() if ours["outcome"] != "passed"}
    share = 1 - len(missing) / len(both) if both else None
    unknown = sorted(name for name, why in missing.items() if why is None)
    why = f"{len(both) - len(missing)} of {len(both)}"
    if unknown:
        why += f"; without a reason: {', '.join(unknown)}"
    word = V.PASS if share is not None and share >= SHARE_MIN and not unknown else V.FAIL
    return T.entry("c10d-suite", "ratio", share, {P.LABELS[P.GLOO]: len(both)}, SHARE_MIN, None, best_peer=None, ratio=None, ratio_interval=None,
                   cacheline_ns=None, **V.keys(word, why, f">= {SHARE_MIN:g} of those that gloo passes, a reason for each other"),
                   failures={}, exceptions=missing)


def measure():
    """The case: runs all, prints the exceptions, and returns the entry."""
    try:
        found = outcomes()
    except RuntimeError as failure:
        why = f"{failure}: make setup-python installs PyTorch with its tests, and what they import"
        return T.entry("c10d-suite", "ratio", None, {}, SHARE_MIN, None, best_peer=None, ratio=None, ratio_interval=None, cacheline_ns=None,
                       **V.keys(V.FAIL, why, ""), failures={"sumac": [str(failure)]})
    for (test, size), (theirs, ours) in sorted(found.items()):
        if theirs["outcome"] != "passed":
            print(f"c10d-suite: {test} ({size} processes): gloo does not pass it here ({theirs['outcome']})", flush=True)
        elif ours["outcome"] != "passed":
            words = next((line for line in reversed(ours["why"].splitlines()) if "Error" in line), ours["outcome"])
            print(f"c10d-suite: {test} ({size} processes): {words}", flush=True)
    entry = judged(found)
    for name, why in entry["exceptions"].items():
        print(f"c10d-suite: exception: {name}: {why or 'no reason is known'}", flush=True)
    return entry
