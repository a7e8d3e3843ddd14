"""Helpers of this folder's tests: start MPI programs with the component on, and find the files that they leave behind."""

import json
import os
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import case, folders  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import  # for those who import common

PROGRAMS = case.BUILD / "tests" / "host"
ROOT = ["--allow-run-as-root"] if os.geteuid() == 0 else []
# Two ranks with dear cache lines use single copy for large messages (ADR 0081); here every machine uses it for every
# size.
SINGLE_COPIED = ("allreduce", "bcast", "allgather", "allgatherv", "alltoall", "alltoallv")
SINGLE_COPY = {f"SUMAC_SHM_{coll.upper()}": "single" for coll in SINGLE_COPIED}
# A program that is built without the sanitizer (mpirun's children load our component) cannot load a library that is
# built with it.
SANITIZED = not re.search(r"^SUMAC_SANITIZE:\w+=$", (case.BUILD / "CMakeCache.txt").read_text(encoding="utf-8"), re.MULTILINE)


def skip_if_sanitized():
    if SANITIZED:
        print("skipped: a program without the sanitizer cannot load a component that has it")
        sys.exit(77)


def command(ranks, program, *args, env=None, mpirun=(), component=None):
    """Returns the mpirun command with the component, whose settings the ranks get; ranks may outnumber processors. `component` is passed to
    case.component_flags()."""
    exported = [word for name in env or {} for word in ("-x", name)]
    yields = int(ranks > (os.cpu_count() or 1))  # It is said in both cases, so that both ways of waiting are tried.
    return ["mpirun", *ROOT, "--oversubscribe", "--mca", "mpi_yield_when_idle", str(yields), *case.component_flags(**(component or {})), *mpirun, *exported, "-n", str(ranks),
            PROGRAMS / program, *args]


def run(ranks, program, *args, env=None, mpirun=(), component=None, seconds=120):
    # The settings of a person must not steer a test.
    clean = {name: "" for name in os.environ if name.startswith(("HCOLL_", "SUMAC_SHM_", "SUMAC_TEAM_", "HWLOC_"))}
    clean["SUMAC_TUNING_FILE"] = "none"
    clean["SUMAC_TEAM_AFTER"] = "0"  # The first collective makes the team: what the MPI does before it is not what is tested.
    return case.start(command(ranks, program, *args, env=env, mpirun=mpirun, component=component), {**clean, **(env or {})}, seconds)


def tuning_text(machine):
    """Returns a file as `sumac tune` writes it, complete and with the right checksum."""
    choice = {"algorithm": "flat", "collective": "allreduce", "from_bytes": 0, "ranks": 2}
    content = {"choices": [{**choice, "oversubscribed": crowded} for crowded in (False, True)], "machine": machine}
    number = 0xCBF29CE484222325
    for byte in json.dumps(content, sort_keys=True, separators=(",", ":")).encode():
        number = (number ^ byte) * 0x100000001B3 % 2**64
    return json.dumps({"sumac_tuning": 1, "content": content, "checksum": f"{number:016x}"})
