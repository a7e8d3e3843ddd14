#!/usr/bin/env python3
"""The MPIs that Debian 12 lacks, from the package index: Open MPI 5, MPICH 5 and its library of the standard ABI. `sumac run` gives a program
of each the interposed library; barrier and allreduce on MPI_COMM_WORLD, a duplicate and split communicators go by shared memory, with
--tree all of them by the tree, and the program ends. So does one with AddressSanitizer, on hosts that mpirun is told. Status 1 if one does not."""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SUMAC_BUILD", "build/dev")).resolve()
sys.path += [str(ROOT / "bench"), str(ROOT / "tests")]
from harness import case  # noqa: E402  pylint: disable=wrong-import-position
from mpi import mpis, plan  # noqa: E402  pylint: disable=wrong-import-position

PEERS = ROOT / "build" / "host-peers"  # As bench-host and bench-mpi.
RANKS = 4
COUNTS = r" 14 \(barrier 7, allreduce 7\); MPI 4 \(barrier 2, allreduce 2: 4 without a team\)\n"
WAYS = (([], "sumac: collectives: shared memory" + COUNTS), (["--tree"], r"sumac: job \d+: tree" + COUNTS))


# Only Open MPI needs to be told which variables go to other hosts.
HOSTS = ["-H", f"localhost:{RANKS}", "-x", "ASAN_OPTIONS=detect_leaks=0"]


def failures(name):
    """Returns a text for each run of this MPI's program that is wrong."""
    found = mpis.find(name, PEERS)
    wrong = []

    def check(suffix, words, more, line, *flags):
        program = PEERS / "programs" / f"once-{name}{suffix}"
        program.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([found.mpi.compiler, "-O1", *flags, "-o", program, ROOT / "tests/mpi/once.c"], check=True)
        start, environment = found.start(RANKS, {"yield": True}, {})
        done = case.start([BUILD / "bin" / "sumac", "run", *words, *start, *more, program], {**environment, "SUMAC_TUNING_FILE": "none", "SUMAC_TEAM_AFTER": "0"}, 180)
        if done.code != 0 or f"once: right on {RANKS} ranks\n" not in done.out or not re.search(line, done.err):
            wrong.append(f"{plan.LABELS[name]}: sumac run {' '.join([*words, '...', *more])}: {done.text}")

    for words, line in WAYS:
        check("", words, [], line)
    if name == plan.OPENMPI5:
        check("-address", [], HOSTS, WAYS[0][1], "-fsanitize=address")
    return wrong


def main():
    wrong = [each for name in (plan.OPENMPI5, plan.MPICH5, plan.ABI) for each in failures(name)]
    print("\n".join(wrong) or f"any_mpi: right with {plan.LABELS[plan.OPENMPI5]}, {plan.LABELS[plan.MPICH5]} and {plan.LABELS[plan.ABI]}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
